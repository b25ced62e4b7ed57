"""Export the reader to ONNX with int8 weights, if it stays true to the checkpoint."""

import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import passage_files, read_passages
from workshop.export import ExportSettings, ship
from workshop.lessons import lessons
from workshop.settings import section


def main(params: Path, checkpoint: Path, passages: Path, features: Path, weights: Path) -> None:
    """Write the shipped files and their manifest to WEIGHTS; compared are the answers to the questions of PASSAGES."""
    told = lessons(read_passages(passage_files(passages)), load_lexicon(features))
    ship(
        checkpoint, [(one.premise, one.hypothesis) for one in told], weights, section(params, "export", ExportSettings)
    )


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
