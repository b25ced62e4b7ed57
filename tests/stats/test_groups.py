"""Tests of the comparison of two independent samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from equipoise.stats.groups import cohens_d, student_interval, student_t, welch_interval, welch_t
from equipoise.stats.quantities import Interval, PValue

Test = Callable[[Sequence[float], Sequence[float]], PValue | None]
Bounds = Callable[[Sequence[float], Sequence[float]], Interval | None]

TESTS: list[tuple[Test, bool]] = [(student_t, True), (welch_t, False)]
INTERVALS: list[tuple[Bounds, bool]] = [(student_interval, True), (welch_interval, False)]
SAMPLE = st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=2, max_size=12)


def test_student_t_by_hand() -> None:
    """Samples 1, 3 and 0, 2 differ by 1, with pooled variance 2, on two degrees of freedom."""
    # t = 1 / sqrt(2 (1/2 + 1/2)) = 1 / sqrt(2); the two-sided tail is 1 - t / sqrt(2 + t^2), t^2 = 1/2
    p = student_t([1, 3], [0, 2])

    assert p is not None
    assert 1 - math.sqrt(0.5 / 2.5) == pytest.approx(p.value)
    assert -math.log10(1 - math.sqrt(0.2)) == pytest.approx(p.neg_log10)


def test_student_interval_by_hand() -> None:
    """Samples 1, 3 and 0, 2 have the interval 1 plus or minus t(0.975, 2) sqrt(2)."""
    # with 2 degrees of freedom the quantile is u sqrt(2 / (1 - u^2)) at u = 0.95
    reach = 0.95 * math.sqrt(2 / (1 - 0.95**2)) * math.sqrt(2)
    interval = student_interval([1, 3], [0, 2])

    assert interval is not None
    assert (1 - reach, 1 + reach) == pytest.approx((interval.low, interval.high))


def test_welch_is_a_one_sample_test_where_the_other_is_constant() -> None:
    """With samples 1, 2, 3 and 0, 0 the variance and degrees of freedom are those of the first."""
    # t = 2 sqrt(3) on 2 degrees of freedom: 1 - sqrt(12 / 14), as in the paired test of 1, 2, 3
    p = welch_t([1, 2, 3], [0, 0])

    assert p is not None
    assert 1 - math.sqrt(12 / 14) == pytest.approx(p.value)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # variances 1 and 1
        ([1, 2, 3], [0, 1, 2], 1.0),
        # variances 2 and 0 over 2 and 3 values: pooled 2 * 1 / 3
        ([2, 4], [1, 1, 1], 2 / math.sqrt(2 / 3)),
        # paired arms of 2, 4 and 1, 1: the pooled variance is the mean of 2 and 0
        ([2, 4], [1, 1], 2.0),
    ],
)
def test_cohens_d_by_hand(first: list[float], second: list[float], expected: float) -> None:
    """The difference of the means is measured by the pooled standard deviation."""
    assert expected == pytest.approx(cohens_d(first, second))


@pytest.mark.parametrize(
    ("first", "second"),
    [([], []), ([1.0], [2.0, 3.0]), ([1.0, 2.0], [3.0]), ([1.0, 1.0], [2.0, 2.0]), ([0.1 + 0.2, 0.3], [0.3, 0.3])],
)
def test_samples_without_spread_are_undefined(first: list[float], second: list[float]) -> None:
    """Fewer than two values in a sample, or two constant ones (but for rounding), have no test, interval or d."""
    results = [function(first, second) for function in (student_t, welch_t, student_interval, welch_interval, cohens_d)]

    assert results == [None] * 5


@pytest.mark.parametrize(("test", "equal"), TESTS)
def test_huge_difference_has_a_finite_logarithm(test: Test, equal: bool) -> None:  # noqa: FBT001
    """Samples far apart underflow p to 0 and leave the -log10 of the tail."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(5, 0.1, 300), rng.normal(0, 0.1, 300)
    p = test(first.tolist(), second.tolist())
    oracle = stats.ttest_ind(first, second, equal_var=equal)
    t, df = oracle.statistic, oracle.df
    # the leading term of both tails is 2 df^(df/2) / (df B(df/2, 1/2) t^df); left out is a factor of about exp(-1/2)
    log_beta = math.lgamma(df / 2) + math.lgamma(0.5) - math.lgamma((df + 1) / 2)
    expected = -(math.log(2 / df) + df / 2 * math.log(df) - df * math.log(t) - log_beta) / math.log(10)

    assert p is not None
    assert p.value == 0
    assert expected == pytest.approx(p.neg_log10, rel=1e-3)


# scipy warns of any constant sample, even where its other one carries the spread.
@pytest.mark.filterwarnings("ignore:Precision loss occurred:RuntimeWarning")
@settings(deadline=None, max_examples=40)
@given(first=SAMPLE, second=SAMPLE)
def test_scipy_agrees(first: list[float], second: list[float]) -> None:
    """Where defined, p-values and intervals are scipy's, and d is t over the root of 1/n + 1/m."""
    for (test, equal), (interval, _) in zip(TESTS, INTERVALS, strict=True):
        p, bounds = test(first, second), interval(first, second)
        if p is None:
            assert np.ptp(first) == np.ptp(second) == 0
            assert bounds is None
            continue
        oracle = stats.ttest_ind(first, second, equal_var=equal)
        wanted = oracle.confidence_interval()
        assert bounds is not None
        assert oracle.pvalue == pytest.approx(p.value)
        assert (wanted.low, wanted.high) == pytest.approx((bounds.low, bounds.high), abs=1e-12)
        if equal:
            scale = math.sqrt(1 / len(first) + 1 / len(second))
            assert oracle.statistic * scale == pytest.approx(cohens_d(first, second), abs=1e-9)


@settings(deadline=None, max_examples=20)
@given(first=SAMPLE, second=SAMPLE)
def test_changing_places_changes_the_sign(first: list[float], second: list[float]) -> None:
    """Exchanging the samples keeps p, mirrors the interval and negates d."""
    interval, mirrored = student_interval(first, second), student_interval(second, first)
    d, reverse = cohens_d(first, second), cohens_d(second, first)

    assert (interval is None) == (mirrored is None) == (d is None) == (reverse is None)
    if interval and mirrored and d is not None and reverse is not None:
        assert (interval.low, interval.high) == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-12)
        assert d == pytest.approx(-reverse, abs=1e-12)


@pytest.mark.parametrize("interval", [student_interval, welch_interval])
def test_intervals_cover_the_truth(interval: Bounds) -> None:
    """Over 1,500 pairs of samples the interval of a difference of 0.5 covers it in about 95 %."""
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(1500):
        bounds = interval(rng.normal(0.5, 1, 8).tolist(), rng.normal(0, 1, 12).tolist())
        covered += bounds is not None and bounds.low <= 0.5 <= bounds.high

    # the standard error of a share of 1,500 is 0.0056
    assert covered / 1500 == pytest.approx(0.95, abs=0.02)


def test_unequal_variances_break_student_and_not_welch() -> None:
    """With a noisier smaller sample, Student's test rejects far too often and Welch's at about its nominal size."""
    rng = np.random.default_rng(9)
    rejected = {"student": 0, "welch": 0}
    for _ in range(1000):
        first, second = rng.normal(0, 3, 8).tolist(), rng.normal(0, 1, 30).tolist()
        for name, test in (("student", student_t), ("welch", welch_t)):
            p = test(first, second)
            rejected[name] += p is not None and p.value <= 0.05

    # the standard error of a share of 1,000 is 0.007 at 0.05
    assert rejected["student"] / 1000 > 0.15
    assert rejected["welch"] / 1000 == pytest.approx(0.05, abs=0.025)
