"""Read every response of a study: a diagnosis, a letter, an agreement, and what the reasoning does with the feature."""

from pathlib import Path

from equipoise.core import stage
from equipoise.pipeline import steps
from equipoise.pipeline.run import Run


def main(study: str, data: Path) -> None:
    """Read the responses of the STUDY in DATA; write the judgements."""
    with stage.progress("score") as progress:
        steps.step(study, "score")(Run.load(study, data, progress))


if __name__ == "__main__":
    stage.run(main)
