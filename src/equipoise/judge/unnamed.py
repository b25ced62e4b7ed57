"""Odds against a feature that no word of a passage names, which a reader may ship with its weights.

A reader's probabilities are calibrated if features are considered as often as in its calibration passages. Among
passages in which the lexicon finds no word for the feature, this share differs most between sources: authors paraphrase
on purpose, and most explanations of exam answers simply omit the patient. For these passages a reader may be corrected
for another share: the odds that the feature is considered are divided by a constant, as in Saerens, Latinne &
Decaestecker (2002), Neural Computation 14:21-41; passages with a word for the feature do not change. The constant is
`unnamed_odds` in the reader's config.json, in nats; without it, or with 0, the probabilities do not change.
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
MOST = 20
"""Odds of e^20, half a billion to one: more than any share requires, and still distinguishable from a rounded 0."""
AS_CONSIDERED = np.array([CONSIDERED[name] != "none" for name in TREATMENTS])
"""Columns of treatments that count as considering the feature."""


def unnamed_odds(config: Path) -> float:
    """Return a reader's odds against consideration, in nats, from its config.json; 0 if it has none.

    Raises:
        EquipoiseError: The value is not a number from 0 to `MOST`.
    """
    odds = json.loads(config.read_text("utf-8")).get(KEY, 0)
    if isinstance(odds, bool) or not isinstance(odds, int | float) or not 0 <= odds <= MOST:
        message = f"{config}, {KEY}: {odds!r} is not a number from 0 to {MOST}: correct it, or delete the field"
        raise EquipoiseError(message)
    return float(odds)


def is_unnamed(passage: str) -> bool:
    """Whether a passage, as shown by `ask_about`, has none of the lexicon's words for the feature in question.

    For a feature that no lexicon lists, its own words count.
    """
    return remove_marks(passage) == passage


def discount_unnamed(p: NDArray[np.float64], passages: Sequence[str], odds: float) -> NDArray[np.float64]:
    """Apply `odds` against consideration, in nats, to `p` (passages, treatments) where the feature is unnamed.

    Weighed and dismissed keep their ratio, and so do restated and unmentioned.
    """
    if not odds:
        return p
    unnamed = np.array([is_unnamed(passage) for passage in passages], dtype=bool)
    weighted = np.where(unnamed[:, None] & AS_CONSIDERED, p * math.exp(-odds), p)
    # Unchanged rows keep every bit.
    return np.where(unnamed[:, None], weighted / weighted.sum(axis=1, keepdims=True), p)
