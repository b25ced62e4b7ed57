"""Tests of Wilson's and Newcombe's intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial

from equipoise.core.errors import EquipoiseError
from equipoise.stats.proportions import paired_difference, wilson
from equipoise.stats.quantities import Interval, PairedCells

counts = st.integers(0, 60)
tables = st.builds(PairedCells, counts, counts, counts, counts).filter(lambda cells: cells.n > 0)


def test_wilson_of_zero_is_not_empty() -> None:
    """0 of 40 leaves rates up to z^2 / (n + z^2) possible."""
    interval = wilson(0, 40)

    assert interval is not None
    # z = 1.959964: 3.841459 / 43.841459 = 0.087622
    assert pytest.approx((interval.low, interval.high), abs=1e-6) == (0.0, 0.087622)


def test_wilson_without_answers_is_undefined() -> None:
    """0 of 0 has no interval."""
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("count", "n"), [(3, 2), (-1, 2)])
def test_impossible_proportion_is_refused(count: int, n: int) -> None:
    """A count above n or below 0 is an error."""
    with pytest.raises(EquipoiseError, match=f"{count} of {n} is not a proportion"):
        wilson(count, n)


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        # Newcombe (1998), method 10 in the worked examples.
        (PairedCells(36, 12, 2, 0), 0.0569, 0.3404),
        # Fagerland, Lydersen & Laake (2014), airway hyper-responsiveness before and after transplantation.
        (PairedCells(1, 1, 7, 12), -0.507, -0.026),
    ],
)
def test_paired_interval_equals_published_examples(cells: PairedCells, low: float, high: float) -> None:
    """Newcombe's method 10 gives the intervals printed in the literature, to their last digit."""
    interval = paired_difference(cells)

    assert interval is not None
    assert (low, high) == pytest.approx((interval.low, interval.high), abs=5e-4)


def test_paired_interval_without_discordance_has_width() -> None:
    """Forty pairs that never differ do not prove a difference of exactly 0."""
    # Empty margin, so phi = 0; both Wilson reaches are 0.087622 on one side: sqrt(0 + 0.087622^2) on each.
    interval = paired_difference(PairedCells(0, 0, 0, 40))

    assert interval is not None
    assert pytest.approx((interval.low, interval.high), abs=1e-6) == (-0.087622, 0.087622)


def test_paired_interval_without_pairs_is_undefined() -> None:
    """No pairs, no interval."""
    assert paired_difference(PairedCells(0, 0, 0, 0)) is None


@settings(deadline=None, max_examples=50)
@given(tables)
def test_paired_interval_holds_its_estimate(cells: PairedCells) -> None:
    """The interval lies in [-1, 1] and holds the observed difference."""
    interval, difference = paired_difference(cells), cells.difference

    assert interval is not None
    assert difference is not None
    assert -1 <= interval.low <= difference + 1e-12
    assert difference - 1e-12 <= interval.high <= 1


@settings(deadline=None, max_examples=50)
@given(tables)
def test_swapping_arms_mirrors_the_paired_interval(cells: PairedCells) -> None:
    """Naming the second arm first turns (low, high) into (-high, -low)."""
    swapped = paired_difference(PairedCells(cells.both, cells.only_second, cells.only_first, cells.neither))
    interval = paired_difference(cells)

    assert interval is not None
    assert swapped is not None
    assert (-interval.high, -interval.low) == pytest.approx((swapped.low, swapped.high))


def test_paired_interval_covers_the_truth() -> None:
    """Over all tables of 15 pairs the interval covers the true difference in about 95 %, never in under 93 %."""
    n = 15
    tables_of_n = [
        (both, first, second, n - both - first - second)
        for both, first, second in product(range(n + 1), repeat=3)
        if both + first + second <= n
    ]
    intervals = [paired_difference(PairedCells(*cells)) or Interval(1, -1) for cells in tables_of_n]
    low = np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals])
    # Not a simulation: the probability of each of the 816 tables is known.
    coverage = [
        multinomial.pmf(tables_of_n, n, truth)[(low <= truth[1] - truth[2]) & (truth[1] - truth[2] <= high)].sum()
        for truth in (
            (0.7, 0.1, 0.1, 0.1),
            (0.5, 0.25, 0.05, 0.2),
            (0.3, 0.2, 0.2, 0.3),
            (0.4, 0.4, 0.1, 0.1),
            (0.85, 0.1, 0.0, 0.05),
            (0.25, 0.25, 0.25, 0.25),
        )
    ]

    assert min(coverage) > 0.93
    assert pytest.approx(np.mean(coverage), abs=0.02) == 0.95


def test_a_share_of_one_of_any_effective_number_is_a_proportion() -> None:
    """A count of all n pairs, n x size / n, may exceed the effective number `size` in its last digit: no error."""
    sizes = [(n, n * n / squares) for n in range(2, 60) for squares in range(n, n * n, 3)]
    over = [(n, size) for n, size in sizes if n * size / n > size]

    assert over
    for n, size in over:
        interval = paired_difference(PairedCells(both=n, only_first=0, only_second=0, neither=0), size=size)
        assert interval is not None
        assert interval.low < 0 < interval.high
