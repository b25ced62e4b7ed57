from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from workshop.evaluation import evaluate

if TYPE_CHECKING:
    from equipoise.judge.model import Label


def test_figures_by_hand() -> None:
    """Accuracy, interval, recall, precision and confusion are those that a hand count gives."""
    gold: list[Label] = ["entailment", "entailment", "neutral", "contradiction"]
    predicted = [0, 1, 1, 2]
    figures = evaluate(gold, np.eye(3)[predicted])

    # 3 of 4 are right. Wilson with z² = 3.8415: (0.75 + z²/8 ± sqrt(z²·(0.75·0.25/4 + z²/64))) / (1 + z²/4)
    # = (1.2302 ± 0.6408) / 1.9604.
    assert (figures["accuracy"], figures["n"]) == (0.75, 4)
    assert (figures["ci_low"], figures["ci_high"]) == pytest.approx((0.300642, 0.954413), abs=1e-6)
    # One of two entailments is found, and every prediction of it is right; one of two predicted neutrals is right.
    labels = figures["labels"]
    assert (labels["entailment"]["recall"], labels["entailment"]["precision"]) == (0.5, 1.0)
    assert (labels["neutral"]["recall"], labels["neutral"]["precision"]) == (1.0, 0.5)
    assert labels["entailment"]["predicted_neutral"] == 1


def test_undefined_ratio_is_left_out() -> None:
    """The precision of a label that is never predicted is left out, not zero."""
    figures = evaluate(["neutral", "entailment"], np.eye(3)[[0, 0]])

    assert "precision" not in figures["labels"]["neutral"]
    assert "recall" not in figures["labels"]["contradiction"]
    assert figures["labels"]["neutral"]["recall"] == 0.0
