"""Train the reader of passages, from the judge of entailment that has seen sentences of clinical reasoning."""

import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import passage_files, read_passages
from workshop.lessons import lessons
from workshop.settings import section
from workshop.training import TrainSettings, train


def main(params: Path, base: Path, passages: Path, features: Path, checkpoint: Path) -> None:
    """Train from the judge in BASE, and leave the reader in CHECKPOINT."""

    def progress(step: int, steps: int, loss: float) -> None:
        if step % 100 == 0 or step == steps:
            sys.stderr.write(f"step {step} of {steps}, loss {loss:.3f}\n")

    told = lessons(read_passages(passage_files(passages)), load_lexicon(features))
    train(base, told, section(params, "fit", TrainSettings), checkpoint, progress, task="reading")


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
