"""Measure the shipped judge on test pairs."""

import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_one, write_json
from equipoise.judge.model import CrossEncoder
from workshop.evaluation import evaluate
from workshop.export import Shipped
from workshop.snli import read_snli


def main(weights: Path, metrics: Path, *sets: str) -> None:
    """Write accuracy and confusion on each of SETS (`name=file of pairs`), fidelity and size to `metrics`."""
    manifest = read_one(weights / "manifest.json", Shipped)
    judge = CrossEncoder(weights, max_tokens=manifest.max_tokens)
    measured = {}
    for name, _, file in (argument.partition("=") for argument in sets):
        rows = read_snli(Path(file))
        probabilities = judge.probabilities([(row.premise, row.hypothesis) for row in rows])
        measured[name] = evaluate([row.label for row in rows], probabilities)
    size = {"model_bytes": manifest.files["model.onnx"].size}
    write_json(metrics, {**measured, "fidelity": manifest.fidelity.model_dump(), **size})


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
