"""Measure the shipped judge on the SNLI test set."""

import sys
from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.judge.evaluation import evaluate
from equipoise.judge.export import Shipped
from equipoise.judge.model import NliJudge
from equipoise.judge.snli import read_snli
from equipoise.records import read_one, write_json


def main(pairs: Path, weights: Path, metrics: Path) -> None:
    """Write accuracy, confusion, fidelity and size to `metrics`."""
    rows = read_snli(pairs)
    manifest = read_one(weights / "manifest.json", Shipped)
    judge = NliJudge(weights, max_tokens=manifest.max_tokens)
    found = judge.probabilities([(row.premise, row.hypothesis) for row in rows])
    measured = evaluate([row.label for row in rows], found)
    size = {"model_bytes": manifest.files["model.onnx"].size}
    write_json(metrics, {"snli": measured, "fidelity": manifest.fidelity.model_dump(), **size})


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
