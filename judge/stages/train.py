"""Train the three-way cross-encoder."""

import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from workshop.settings import section
from workshop.snli import read_snli
from workshop.training import TrainSettings, train


def main(params: Path, base: Path, pairs: Path, checkpoint: Path) -> None:
    """Fine-tune the encoder in `base` on `pairs`, saying every 100 steps how far it is."""

    def progress(step: int, steps: int, loss: float) -> None:
        if step % 100 == 0 or step == steps:
            sys.stderr.write(f"step {step} of {steps}, loss {loss:.3f}\n")

    rows = read_snli(pairs)
    train(base, lambda _epoch: rows, section(params, "train", TrainSettings), checkpoint, progress)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
