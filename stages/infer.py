"""Ask the chosen model every prompt of a study; every answer is kept at once, so that nothing is asked twice."""

from pathlib import Path

from equipoise.core import stage
from equipoise.pipeline import steps
from equipoise.pipeline.run import Run


def main(study: str, data: Path) -> None:
    """Read the prompts of the STUDY in DATA; write the responses."""
    with stage.progress("infer") as progress:
        steps.step(study, "infer")(Run.load(study, data, progress))


if __name__ == "__main__":
    stage.run(main)
