"""Ask for a letter about every case."""

from equipoise.pipeline.infer import answer
from equipoise.pipeline.run import Run


def infer(run: Run) -> None:
    """Write a response for each prompt."""
    answer(run)
