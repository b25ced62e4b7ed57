"""Tests of the label-skew alarm."""

from __future__ import annotations

import math

import pytest
from scipy.stats import chisquare

from equipoise.metrics.skew import LabelSkew, _log_tail, label_skew


def test_figures_are_those_of_scipy() -> None:
    """Distance by hand and the p-value of Pearson's test as scipy gives it."""
    skew = label_skew(["A"] * 6 + ["B"] * 2 + [None], ["A"] * 5 + ["B"] * 5)

    assert skew.p is not None
    # Shares 6/8 and 2/8 against 1/2 each: (1/4 + 1/4) / 2
    assert (skew.n, skew.distance, skew.alarm) == (8, 0.25, False)
    assert skew.p.value == pytest.approx(chisquare([6, 2], [4, 4]).pvalue)


@pytest.mark.parametrize(
    ("answers", "gold", "alarm"),
    [
        (["A"] * 90 + ["B"] * 10, ["A", "B"] * 50, True),
        (["A"] * 55 + ["B"] * 45, ["A", "B"] * 50, False),  # neither far nor significant
        (["A"] * 5400 + ["B"] * 4600, ["A", "B"] * 5000, False),  # significant, and only 4 % off
        (["A"] * 4, ["A", "B"] * 2, False),  # far off, by chance
        (["C"] * 50 + ["A"] * 50, ["A"] * 100, True),  # a letter that is never right
        (["A"] * 50, ["A"] * 50, False),
    ],
)
def test_alarm_needs_size_and_significance(answers: list[str | None], gold: list[str], *, alarm: bool) -> None:
    """The alarm fires only where the letters lie far from gold and chance cannot explain it."""
    assert alarm == label_skew(answers, gold).alarm


def test_no_answer_is_undefined() -> None:
    """Without a parsed answer nothing is defined, and nothing fires."""
    assert label_skew([None], ["A"]) == LabelSkew(0, None, None, alarm=False)


def test_far_tail_does_not_underflow() -> None:
    """Far out the logarithm of the tail follows its asymptotic series, and near 1e-300 the series is exact enough."""
    from scipy.stats import chi2

    skew = label_skew(["A"] * 9000 + ["B"] * 1000, ["A", "B"] * 5000)

    assert skew.p is not None
    assert skew.p.value == 0.0
    assert math.isfinite(skew.p.neg_log10)
    assert _log_tail(1380.0, 3) == pytest.approx(float(chi2.logsf(1380.0, 3)), rel=1e-5)
