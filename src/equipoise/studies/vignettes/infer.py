"""Ask about the vignettes, then ask for each arm's answer again after other reasoning."""

from equipoise.pipeline.infer import answer
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.reread import follow_ups


def infer(run: Run) -> None:
    """Write a response for each prompt, and for each rereading that follows from the replies."""
    answer(run, follow=follow_ups)
