"""Tests of the table of pairs and of p-values."""

from __future__ import annotations

import math

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.stats.quantities import PairedCells, PValue, ratio


def test_outcomes_are_counted_into_four_cells() -> None:
    """Each pair of outcomes lands in the cell that its two arms name."""
    outcomes = [(True, True), (True, False), (True, False), (False, True), (False, False), (False, False)]

    assert PairedCells(both=1, only_first=2, only_second=1, neither=2) == PairedCells.count(iter(outcomes))


def test_difference_is_the_discordant_balance() -> None:
    """The difference of the arms' proportions is (only first - only second) / n."""
    # first arm 7/10, second arm 5/10
    assert pytest.approx(PairedCells(both=4, only_first=3, only_second=1, neither=2).difference) == 0.2


def test_no_pairs_have_no_difference() -> None:
    """A difference without pairs is undefined, not 0."""
    assert PairedCells(0, 0, 0, 0).difference is None


def test_negative_count_is_refused() -> None:
    """A negative cell is an error that shows the table."""
    with pytest.raises(EquipoiseError, match=r"only_second=-1.*negative"):
        PairedCells(1, 2, -1, 0)


def test_ratio_with_zero_denominator_is_undefined() -> None:
    """Nothing over nothing is None."""
    assert ratio(0, 0) is None


def test_p_value_above_one_is_one() -> None:
    """Twice a tail may pass 1 by rounding; the p-value does not, and its -log10 is plain 0."""
    p = PValue.of(1.0000000000000002, lambda: math.nan)

    assert (p.value, p.neg_log10, math.copysign(1.0, p.neg_log10)) == (1.0, 0.0, 1.0)


def test_underflowing_p_value_keeps_its_logarithm() -> None:
    """A p-value of 0 takes its -log10 from the logarithm that it is given."""
    # ln p = -1000 ln 10, so p = 1e-1000
    assert pytest.approx(PValue.of(0.0, lambda: -1000 * math.log(10)).neg_log10) == 1000
