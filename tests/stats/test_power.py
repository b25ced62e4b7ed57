"""Tests of the minimum detectable effects."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import multinomial
from statsmodels.stats.power import TTestPower

from equipoise.core.errors import EquipoiseError
from equipoise.stats.paired import mcnemar_mid_p
from equipoise.stats.power import mcnemar_power, minimum_detectable_gap, minimum_detectable_shift
from equipoise.stats.quantities import PairedCells


def test_power_is_that_of_the_test_itself() -> None:
    """The power equals the probability of all tables that McNemar's mid-p test rejects."""
    n, first, second = 20, 0.35, 0.05
    tables = [(b, c) for b, c in product(range(n + 1), repeat=2) if b + c <= n]
    p_values = [mcnemar_mid_p(PairedCells(n - b - c, b, c, 0)) for b, c in tables]
    rejected = np.array([p is not None and p.value <= 0.05 for p in p_values])
    weights = multinomial.pmf([(b, c, n - b - c) for b, c in tables], n, (first, second, 1 - first - second))

    assert weights[rejected].sum() == pytest.approx(mcnemar_power(n, first - second, first + second))


def test_power_of_one_sided_discordance_by_hand() -> None:
    """Five pairs reject only when all five differ the same way."""
    # mid-p = 1 / 2^5 = 0.03 for five of five, 1 / 2^4 = 0.06 for four of four
    assert pytest.approx(mcnemar_power(5, gap=0.9, discordance=0.9)) == 0.9**5


def test_no_discordance_has_no_power() -> None:
    """Pairs that never differ are never rejected."""
    assert mcnemar_power(50, gap=0.0, discordance=0.0) == 0.0


def test_gap_beyond_discordance_is_refused() -> None:
    """A gap cannot exceed the share of pairs that differ."""
    with pytest.raises(EquipoiseError, match=r"a gap of 0\.4 requires"):
        mcnemar_power(10, gap=0.4, discordance=0.3)


def test_smallest_gap_of_five_pairs_by_hand() -> None:
    """Five pairs detect, with power 0.8, a gap of 0.8^(1/5)."""
    assert pytest.approx(minimum_detectable_gap(5), abs=1e-6) == 0.8 ** (1 / 5)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_fewer_than_five_pairs_detect_nothing(n: int) -> None:
    """Even if every pair differed the same way, four pairs could not reach p <= 0.05."""
    assert minimum_detectable_gap(n) is None


@pytest.mark.parametrize("discordance", [0.0, 0.1, 0.6])
def test_smallest_gap_has_the_power_asked_for(discordance: float) -> None:
    """At the minimum detectable gap the test has power 0.8 exactly."""
    gap = minimum_detectable_gap(40, discordance)

    assert gap is not None
    assert pytest.approx(mcnemar_power(40, gap, max(gap, discordance)), abs=1e-6) == 0.8


def test_discordance_hides_gaps() -> None:
    """The more pairs differ at random, the larger the gap must be."""
    quiet, noisy = minimum_detectable_gap(60, 0.1), minimum_detectable_gap(60, 0.8)

    assert quiet is not None
    assert noisy is not None
    assert quiet < noisy


def test_smallest_shift_matches_the_textbook() -> None:
    """34 pairs detect half a standard deviation with power 0.8."""
    # Cohen (1988): n = 34 for d = 0.5 in a two-sided one-sample t test at 0.05 with power 0.8
    shift = minimum_detectable_shift(2.0, 34)

    assert shift is not None
    assert pytest.approx(shift, abs=0.01) == 1.0


@pytest.mark.parametrize("n", [2, 3, 72, 1008, 19_302, 500_000])
def test_smallest_shift_has_the_power_asked_for(n: int) -> None:
    """At the minimum detectable shift the paired t test has power 0.8, for few pairs and for very many."""
    shift = minimum_detectable_shift(1.0, n)

    assert shift is not None
    assert pytest.approx(TTestPower().power(shift, n, 0.05), abs=1e-9) == 0.8


def test_smallest_gap_of_many_pairs_is_that_of_the_normal_limit() -> None:
    """Only the counts that matter are summed over 200,000 pairs, and the test has the power of its normal limit."""
    gap = minimum_detectable_gap(200_000, 0.2)

    # (1.96 + 0.8416) * sqrt(0.2 / 200,000) = 0.0028016
    assert pytest.approx(gap, rel=0.005) == 0.0028016


@pytest.mark.parametrize(("deviation", "n"), [(None, 10), (0.0, 10), (float("nan"), 10), (1.0, 1), (1.0, 0)])
def test_smallest_shift_without_spread_is_undefined(deviation: float | None, n: int) -> None:
    """Without a standard deviation, or with fewer than two pairs, no shift can be called detectable."""
    assert minimum_detectable_shift(deviation, n) is None
