"""Calibrate the reader on passages that were held out, and export it to ONNX with int8 weights."""

import sys
import tempfile
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from workshop.calibration import calibrate
from workshop.export import ExportSettings, ship
from workshop.lessons import FitSettings, choose_passages, lessons
from workshop.settings import section


def main(params: Path, checkpoint: Path, passages: Path, features: Path, weights: Path) -> None:
    """Write the shipped files and their manifest to WEIGHTS, refused unless the int8 file keeps the answers."""
    held = section(params, "fit", FitSettings).held
    pairs = lessons(choose_passages(passages, held), load_lexicon(features))
    with tempfile.TemporaryDirectory() as name:
        calibrate(checkpoint, pairs, Path(name))
        texts_of_pairs = [(pair.premise, pair.hypothesis) for pair in pairs]
        ship(Path(name), texts_of_pairs, weights, section(params, "export", ExportSettings))


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
