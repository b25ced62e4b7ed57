"""Odds against a feature that no word of a passage names, which a reader may ship beside its weights.

A reader's probabilities are right where features are considered as often as in the passages that it was calibrated on.
Among passages in which the lexicon finds no word for the feature that share differs most between sources: authors
paraphrase on purpose, and most explanations of exam answers merely leave the patient out. There a reader may be
corrected for another share: the odds that the feature is considered are divided by a constant, as in Saerens, Latinne &
Decaestecker (2002), Neural Computation 14:21-41, and where a word is found nothing changes. The constant is
`unnamed_odds` in the reader's config.json, in nats; without it, or with 0, the probabilities stay what they are.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.judge.passages import CONSIDERED, TREATMENTS
from equipoise.judge.reading import remove_marks

KEY = "unnamed_odds"
"""The field of config.json."""
MOST = 20
"""Odds of e^20, half a billion to one: more than any share calls for, and less than rounding would make of a 0."""
AS_CONSIDERED = np.array([CONSIDERED[name] != "none" for name in TREATMENTS])
"""Which columns are those of a feature that is considered."""


def unnamed_odds(config: Path) -> float:
    """The odds against consideration, in nats, of a reader with this config.json; 0 where it has none.

    Raises:
        EquipoiseError: the value is not a number from 0 to `MOST`.
    """
    odds = json.loads(config.read_text("utf-8")).get(KEY, 0)
    if isinstance(odds, bool) or not isinstance(odds, int | float) or not 0 <= odds <= MOST:
        message = f"{config}, {KEY}: {odds!r} is not a number from 0 to {MOST}: correct it, or delete the field"
        raise EquipoiseError(message)
    return float(odds)


def is_unnamed(passage: str) -> bool:
    """Whether a passage, as `ask_about` shows it, has no word that the lexicon knows for the feature asked about.

    Of a feature that no lexicon lists, its own words count.
    """
    return remove_marks(passage) == passage


def discount_unnamed(p: NDArray[np.float64], passages: Sequence[str], odds: float) -> NDArray[np.float64]:
    """Probabilities of the treatments (passages, treatments) with `odds` against consideration, in nats, where unnamed.

    Weighed and dismissed keep their ratio, and so do restated and unmentioned. With odds of 0 it is the identity.
    """
    if not odds:
        return p
    unnamed = np.array([is_unnamed(one) for one in passages], dtype=bool)
    weighted = np.where(unnamed[:, None] & AS_CONSIDERED, p * math.exp(-odds), p)
    # Rows that do not change keep every bit.
    return np.where(unnamed[:, None], weighted / weighted.sum(axis=1, keepdims=True), p)
