"""Export the trained judge to ONNX with int8 weights, if it stays true to the checkpoint."""

import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from workshop.export import ExportSettings, ship
from workshop.settings import section
from workshop.snli import read_snli


def main(params: Path, checkpoint: Path, pairs: Path, weights: Path) -> None:
    """Write the shipped files and their manifest to `weights`."""
    settings = section(params, "export", ExportSettings)
    ship(checkpoint, [(pair.premise, pair.hypothesis) for pair in read_snli(pairs)], weights, settings)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
