"""Ask the vignettes, then each arm's answer again after other reasoning."""

from equipoise.pipeline.infer import answer
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.followed import followed


def infer(run: Run) -> None:
    """Write a response for each prompt, and for each rereading that follows from the replies."""
    answer(run, follow=followed)
