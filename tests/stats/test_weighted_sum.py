"""Tests of the interval of a weighted sum of independent proportions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from equipoise.stats.proportions import Limited, weighted_shares, wilson
from equipoise.stats.quantities import Interval

samples = st.integers(1, 60).flatmap(lambda n: st.tuples(st.floats(0.01, 1), st.integers(0, n), st.just(n)))


def limits(interval: Interval | Limited | None) -> tuple[float, float]:
    """Give the limits of an interval that must be there."""
    assert interval is not None
    return interval.low, interval.high


def test_one_part_has_wilsons_interval() -> None:
    """A single part of weight 1 is a proportion."""
    assert limits(wilson(3, 40)) == pytest.approx(limits(weighted_shares([(1.0, 3, 40)])))


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        # Newcombe (1998), Stat Med 17:873-890, table II, method 10.
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
    ],
)
def test_a_difference_equals_published_examples(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    """Weights 1 and -1 give Newcombe's interval for independent proportions, to its last printed digit."""
    assert (low, high) == pytest.approx(limits(weighted_shares([(1.0, *first), (-1.0, *second)])), abs=5e-5)


@pytest.mark.parametrize("parts", [[], [(0.5, 1, 2), (0.5, 0, 0)]])
def test_without_answers_the_sum_is_undefined(parts: list[tuple[float, int, int]]) -> None:
    """No parts, or a part of no answers, has no interval."""
    assert weighted_shares(parts) is None


@settings(deadline=None, max_examples=50)
@given(st.lists(samples, min_size=1, max_size=4))
def test_limits_hold_the_sum_and_stay_within_the_parts_own(parts: list[tuple[float, int, int]]) -> None:
    """The interval holds the estimate, and never reaches past the sum of the Wilson limits."""
    low, high = limits(weighted_shares(parts))
    wilsons = [limits(wilson(count, n)) for _, count, n in parts]
    furthest = [sum(weight * limit[end] for (weight, *_), limit in zip(parts, wilsons, strict=True)) for end in (0, 1)]
    estimate = sum(weight * count / n for weight, count, n in parts)

    assert furthest[0] - 1e-9 <= low <= estimate + 1e-12
    assert estimate - 1e-12 <= high <= furthest[1] + 1e-9


def test_it_covers_the_truth() -> None:
    """12, 9 and 7 answers weighted as London's diseases cover the truth in 95 % on average and never in under 90 %."""
    weights, sizes = (0.534, 0.220, 0.246), (12, 9, 7)
    outcomes = list(product(*(range(n + 1) for n in sizes)))
    intervals = [limits(weighted_shares(list(zip(weights, counts, sizes, strict=True)))) for counts in outcomes]
    low, high = np.array(intervals).T
    # Not a simulation: the probability of each of the 13 * 10 * 8 outcomes is known.
    coverage = []
    for truths in product((0.1, 0.25, 0.5, 0.7, 0.9), repeat=3):
        masses = [binom.pmf(range(n + 1), n, truth) for n, truth in zip(sizes, truths, strict=True)]
        probability = np.einsum("i,j,k->ijk", *masses).ravel()
        truth = sum(weight * share for weight, share in zip(weights, truths, strict=True))
        coverage.append(probability[(low <= truth) & (truth <= high)].sum())

    assert min(coverage) > 0.9
    assert pytest.approx(np.mean(coverage), abs=0.01) == 0.95
