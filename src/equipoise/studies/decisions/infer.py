"""Ask for the reasoning about every case, then for each decision after it."""

from equipoise.pipeline.infer import answer
from equipoise.pipeline.run import Run
from equipoise.studies.decisions.prompts import follow_ups


def infer(run: Run) -> None:
    """Write a response for each prompt, and for each decision that follows from the replies."""
    answer(run, follow=follow_ups)
