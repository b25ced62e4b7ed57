"""Compose training and test pairs from the sentence banks, and set SNLI pairs beside those for training."""

import random
import sys
from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from workshop.corpus import CorpusSettings, compose, load_banks
from workshop.settings import section
from workshop.snli import read_snli, write_snli


def main(params: Path, banks: Path, features: Path, snli: Path, training: Path, test: Path) -> None:
    """Write the pairs of BANKS, with those of SNLI, to TRAINING, and the pairs of kept sentences to TEST."""
    settings = section(params, "corpus", CorpusSettings)
    composed, held_out = compose(*load_banks(banks), load_lexicon(features).subjects, settings)
    beside = random.Random(settings.seed).sample(read_snli(snli), settings.snli)  # noqa: S311  (a choice, not a secret)
    write_snli(training, [*composed, *beside])
    write_snli(test, held_out)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except EquipoiseError as error:
        sys.exit(f"error: {error}")
