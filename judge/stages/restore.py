"""Restore a checkpoint from the ONNX file of the judge trained on SNLI: where training goes on from."""

import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from workshop.restore import restore


def main(weights: Path, base: Path, checkpoint: Path) -> None:
    """Write the judge in WEIGHTS, whose architecture and tokenizer are those of BASE, to CHECKPOINT."""
    restore(weights / "model.onnx", base, checkpoint)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
