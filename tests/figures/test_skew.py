"""Tests of the alarms for answers of one kind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from equipoise.figures.skew import LabelSkew, StereotypeSkew, _log_tail, label_skew, stereotype_skew


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


@pytest.mark.parametrize("count", [0, 4, 10, 15, 30])
def test_stereotype_skew_is_the_exact_binomial_test(count: int) -> None:
    """With one share for all cases the p-value is that of scipy's exact test."""
    skew = stereotype_skew([(number < count, 1 / 3) for number in range(30)])

    assert (skew.n, skew.share) == (30, count / 30)
    assert skew.expected == pytest.approx(1 / 3)
    assert skew.p is not None
    assert skew.p.value == pytest.approx(binomtest(count, 30, 1 / 3).pvalue)


def test_stereotype_skew_with_unequal_shares_is_that_of_the_sum() -> None:
    """Two wrong answers with shares 1/2 and 1/4, both stereotyped: by hand."""
    skew = stereotype_skew([(True, 0.5), (True, 0.25)])

    # P(0) = 1/2 * 3/4 = 3/8, P(1) = 1/2 * 3/4 + 1/2 * 1/4 = 1/2, P(2) = 1/8; only two is as unlikely as two.
    assert skew.p is not None
    assert skew.p.value == pytest.approx(1 / 8)
    assert skew.expected == pytest.approx(3 / 8)


@pytest.mark.parametrize(
    ("count", "n", "alarm"),
    [
        (40, 60, True),  # twice its due
        (0, 60, True),  # shunned
        (22, 60, False),  # by chance
        (3, 3, False),  # far off, on three answers
        (3700, 10000, False),  # significant, and 4 % off
    ],
)
def test_stereotype_alarm_needs_size_and_significance(count: int, n: int, *, alarm: bool) -> None:
    """The alarm fires where wrong answers favour or shun the stereotyped one, far and beyond chance."""
    assert alarm == stereotype_skew([(number < count, 1 / 3) for number in range(n)]).alarm


def test_no_wrong_answer_is_undefined() -> None:
    """Without a wrong answer nothing is defined, and nothing fires."""
    assert stereotype_skew([]) == StereotypeSkew(0, None, None, None, alarm=False)


def test_stereotype_alarm_is_rarely_false() -> None:
    """Wrong answers chosen evenly set the alarm off in no more than the size of the test, by simulation."""
    random = np.random.default_rng(7)
    counts = random.binomial(40, 1 / 3, 2000)

    alarms = sum(stereotype_skew([(number < count, 1 / 3) for number in range(40)]).alarm for count in counts)

    # 0.001 of 2,000 is 2; 8 or more has probability 0.001.
    assert alarms < 8
