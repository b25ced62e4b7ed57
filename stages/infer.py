"""Ask the chosen model every prompt of a study; every answer is kept at once, so that nothing is asked twice."""

from pathlib import Path

from equipoise.core import stage
from equipoise.core.records import Study
from equipoise.studies.infer import infer
from equipoise.studies.run import Run


def main(study: Study, data: Path) -> None:
    """Read the prompts of the STUDY in DATA; write the responses."""
    with stage.progress("infer") as progress:
        infer(Run.load(study, data, progress))


if __name__ == "__main__":
    stage.run(main)
