"""Compose what a study asks: its cases, questions, sentences or messages, and the prompts."""

from pathlib import Path

from equipoise.core import stage
from equipoise.pipeline import steps
from equipoise.pipeline.run import Run


def main(study: str, data: Path) -> None:
    """Read what we wrote in DATA; write the rows and prompts of the STUDY."""
    with stage.progress("build") as progress:
        steps.step(study, "build")(Run.load(study, data, progress))


if __name__ == "__main__":
    stage.run(main)
