"""Tests of the intervals of sums and ratios of estimates, and of a mean that does not vary."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from equipoise.stats.proportions import (
    Limited,
    limited_difference,
    limited_share,
    mover_ratio,
    mover_sum,
    unvaried_mean,
    weighted_shares,
    wilson,
)
from equipoise.stats.quantities import Interval, PairedCells

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def share(count: int, n: int) -> Limited:
    """Give a proportion that must be defined."""
    proportion = limited_share(count, n)
    assert proportion is not None
    return proportion


def test_ratio_of_two_proportions_equals_the_published_example() -> None:
    """7 of 34 over 1 of 34 has the MOVER-R Wilson interval in the literature, to its last printed digit."""
    # Perondi et al. (2004), in Fagerland, Lydersen & Laake (2017), Statistical Analysis of Contingency Tables, ch. 4.
    interval = mover_ratio(share(7, 34), share(1, 34))

    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((1.1537, 41.9763), abs=5e-5)


def test_ratio_over_nothing_is_undefined() -> None:
    """Nothing can be divided by a rate of 0."""
    assert mover_ratio(share(3, 10), share(0, 10)) is None


def test_ratio_of_nothing_begins_at_zero() -> None:
    """0 of 10 over 5 of 10 is 0, and its interval reaches up from there."""
    interval = mover_ratio(share(0, 10), share(5, 10))

    assert interval is not None
    assert interval.low == pytest.approx(0.0, abs=1e-9)
    assert 0 < interval.high < math.inf


def test_ratio_over_an_estimate_that_may_be_zero_is_unbounded() -> None:
    """Where the denominator's interval reaches 0 the ratio has no upper limit."""
    interval = mover_ratio(Limited(0.2, 0.1, 0.3), Limited(0.5, 0.0, 0.9))

    assert interval is not None
    assert interval.high == math.inf


@settings(deadline=None, max_examples=100)
@given(counts, counts.filter(lambda count: count[0] > 0), st.floats(-0.99, 0.99))
def test_ratio_lies_within_its_limits_and_mirrors(
    numerator: tuple[int, int], denominator: tuple[int, int], correlation: float
) -> None:
    """The interval holds the ratio; that of the negative numerator is its mirror image."""
    above, below = share(*numerator), share(*denominator)
    interval = mover_ratio(above, below, correlation)
    mirrored = mover_ratio(Limited(-above.value, -above.high, -above.low), below, -correlation)
    ratio = above.value / below.value

    assert interval is not None
    assert mirrored is not None
    assert interval.low <= ratio + 1e-9
    assert ratio - 1e-9 <= interval.high
    assert (mirrored.low, mirrored.high) == (-interval.high, -interval.low)


def test_ratio_covers_the_truth_at_low_rates() -> None:
    """Few biased pairs of 24 over few of 29, as in the default design: at least 93 % coverage where it is defined."""
    n, m = 24, 29
    outcomes = list(product(range(n + 1), range(1, m + 1)))
    intervals = [mover_ratio(share(above, n), share(below, m)) or Interval(1, -1) for above, below in outcomes]
    low, high = np.array([(interval.low, interval.high) for interval in intervals]).T
    # Not a simulation: the probability of each outcome is known.
    for rate, factor in product((0.05, 0.1, 0.3), (0.5, 1.0, 2.0, 3.0)):
        masses = np.outer(binom.pmf(range(n + 1), n, rate * factor), binom.pmf(range(1, m + 1), m, rate)).ravel()
        coverage = masses[(low <= factor) & (factor <= high)].sum() / masses.sum()
        assert coverage > 0.93, (rate, factor)


def test_sum_of_uncorrelated_estimates_is_that_of_shares() -> None:
    """Without correlation, a weighted sum of proportions is the one of independent samples."""
    parts = [(0.7, 3, 10), (0.3, 5, 8)]

    assert mover_sum([(weight, share(count, n)) for weight, count, n in parts]) == weighted_shares(parts)


def test_fully_correlated_estimates_add_their_reaches() -> None:
    """Half of an estimate and half of the same estimate have its own interval."""
    estimate = share(3, 10)

    assert mover_sum([(0.5, estimate), (0.5, estimate)], 1.0) == pytest.approx(estimate)


def test_opposite_weights_of_the_same_estimate_cancel() -> None:
    """An estimate minus itself, fully correlated, is 0 up to the asymmetry of its limits."""
    estimate = Limited(0.5, 0.4, 0.6)

    assert mover_sum([(1.0, estimate), (-1.0, estimate)], 1.0) == pytest.approx((0.0, 0.0, 0.0))


def test_unvaried_mean_by_hand() -> None:
    """66 questions that none moved leave 1 - 0.025^(1/66), 5.4 % of others, all of which may lie on either side."""
    # 0.025^(1/66) = exp(-3.688879 / 66) = 0.945642
    interval = unvaried_mean(0.0, 66, (-1.0, 1.0))

    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((-0.054358, 0.054358), abs=1e-6)
    assert unvaried_mean(0.0, 0, (-1.0, 1.0)) is None


@settings(deadline=None, max_examples=50)
@given(st.floats(-2, 2), st.integers(1, 200))
def test_unvaried_mean_stays_within_its_bounds(value: float, n: int) -> None:
    """The interval holds the value and stays within the bounds."""
    interval = unvaried_mean(value, n, (-2.0, 2.0))

    assert interval is not None
    assert -2 - 1e-12 <= interval.low <= value <= interval.high <= 2 + 1e-12


def test_limited_estimates_are_those_with_their_intervals() -> None:
    """A proportion has Wilson's limits; without observations there is no estimate."""
    assert share(3, 10).interval == wilson(3, 10)
    assert limited_share(0, 0) is None
    assert limited_difference(PairedCells(0, 0, 0, 0)) is None
