"""Tests of the paired tests and of the interval of a mean difference."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial

from equipoise.stats import paired
from equipoise.stats.multiplicity import adjust
from equipoise.stats.paired import (
    d_z,
    mcnemar_chi2,
    mcnemar_exact,
    mcnemar_mid_p,
    mean_interval,
    paired_t,
    pseudomedian,
    standard_deviation,
    wilcoxon,
)
from equipoise.stats.quantities import PairedCells, PValue

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHA = 0.05


def value(p: PValue | None) -> float:
    """Give the p-value of a test that must be defined."""
    assert p is not None
    return p.value


def test_exact_mcnemar_is_the_binomial_test() -> None:
    """Ten pairs one way and two the other give twice the lower binomial tail."""
    # 2 (C(12,0) + C(12,1) + C(12,2)) / 2^12 = 2 * 79 / 4096
    assert pytest.approx(value(mcnemar_exact(PairedCells(5, 10, 2, 7)))) == 158 / 4096


def test_mid_p_mcnemar_takes_half_of_the_observed_table() -> None:
    """Ten pairs one way and two the other give twice the lower tail less the probability of the table itself."""
    # (2 (C(12,0) + C(12,1)) + C(12,2)) / 2^12 = 92 / 4096
    assert pytest.approx(value(mcnemar_mid_p(PairedCells(5, 10, 2, 7)))) == 92 / 4096


@pytest.mark.parametrize(
    ("first", "second", "exact", "mid_p"),
    [
        # Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91: airway hyper-responsiveness before and after
        # stem cell transplantation (Bentur et al., 2009), 1 and 7 discordant pairs of 21.
        (1, 7, 0.0703, 0.0391),
        # Fagerland, Lydersen & Laake (2017), Statistical Analysis of Contingency Tables, chapter 8: complete response
        # before and after consolidation therapy (Cavo et al., 2012), 6 and 16 of 161.
        (6, 16, 0.0525, 0.0347),
    ],
)
def test_mcnemar_tests_equal_published_examples(first: int, second: int, exact: float, mid_p: float) -> None:
    """The exact and the mid-p test give the published p-values, to their last printed digit."""
    cells = PairedCells(0, first, second, 0)

    assert (value(mcnemar_exact(cells)), value(mcnemar_mid_p(cells))) == pytest.approx((exact, mid_p), abs=5e-5)


@pytest.mark.parametrize("cells", [PairedCells(20, 0, 0, 20), PairedCells(3, 4, 4, 0)])
def test_mid_p_mcnemar_of_equal_directions_is_one(cells: PairedCells) -> None:
    """As many pairs one way as the other, none included, are no evidence at all."""
    assert PValue(1.0, 0.0) == mcnemar_mid_p(cells)


def test_mid_p_mcnemar_survives_underflow() -> None:
    """2,000 pairs all one way give p = 2^-2000, which only its logarithm can hold; without pairs there is no test."""
    p = mcnemar_mid_p(PairedCells(0, 2000, 0, 0))

    assert p is not None
    assert 2000 * math.log10(2) == pytest.approx(p.neg_log10)
    assert mcnemar_mid_p(PairedCells(0, 0, 0, 0)) is None


def test_exact_mcnemar_ignores_concordant_pairs() -> None:
    """Pairs whose arms agree change nothing."""
    assert mcnemar_exact(PairedCells(0, 10, 2, 0)) == mcnemar_exact(PairedCells(500, 10, 2, 300))


def test_exact_mcnemar_without_discordance_is_one() -> None:
    """Forty pairs that never differ are no evidence at all."""
    assert PValue(1.0, 0.0) == mcnemar_exact(PairedCells(20, 0, 0, 20))


def test_exact_mcnemar_without_pairs_is_undefined() -> None:
    """No pairs, no test."""
    assert mcnemar_exact(PairedCells(0, 0, 0, 0)) is None


def test_exact_mcnemar_survives_underflow() -> None:
    """2,000 pairs all one way give p = 2^-1999, which only its logarithm can hold."""
    p = mcnemar_exact(PairedCells(0, 2000, 0, 0))

    assert p is not None
    assert 1999 * math.log10(2) == pytest.approx(p.neg_log10)


def test_chi_square_mcnemar_has_its_continuity_correction() -> None:
    """Ten against two give (|10 - 2| - 1)^2 / 12 on one degree of freedom."""
    # the tail of chi-square with one degree of freedom at x is erfc(sqrt(x / 2)); x = 49 / 12
    assert math.erfc(math.sqrt(49 / 24)) == pytest.approx(value(mcnemar_chi2(PairedCells(0, 10, 2, 0))))


def test_chi_square_mcnemar_without_discordance_is_undefined() -> None:
    """0 / 0 is undefined, where statsmodels says p = 0."""
    assert mcnemar_chi2(PairedCells(20, 0, 0, 20)) is None


def test_chi_square_mcnemar_survives_underflow() -> None:
    """A p-value below the smallest number keeps a finite -log10."""
    p = mcnemar_chi2(PairedCells(0, 2000, 0, 0))

    assert p is not None
    # ln erfc(y) is -y^2 - ln(y sqrt(pi)) but for 1 / (2 y^2); y^2 = 1999^2 / 4000
    y2 = 1999**2 / 4000
    assert (y2 + math.log(math.sqrt(y2 * math.pi))) / math.log(10) == pytest.approx(p.neg_log10, abs=1e-3)


def test_paired_t_by_hand() -> None:
    """Differences 1, 2, 3 have t = 2 sqrt(3) on two degrees of freedom."""
    # with 2 degrees of freedom the two-sided tail is 1 - t / sqrt(2 + t^2), t^2 = 12
    assert 1 - math.sqrt(12 / 14) == pytest.approx(value(paired_t([1, 2, 3])))


def test_t_interval_by_hand() -> None:
    """Differences 1, 2, 3 have the interval 2 plus or minus t(0.975, 2) / sqrt(3)."""
    # with 2 degrees of freedom the quantile is u sqrt(2 / (1 - u^2)) at u = 0.95
    reach = 0.95 * math.sqrt(2 / (1 - 0.95**2)) / math.sqrt(3)
    interval = mean_interval([1, 2, 3])

    assert interval is not None
    assert (2 - reach, 2 + reach) == pytest.approx((interval.low, interval.high))


def test_paired_t_survives_underflow() -> None:
    """With t = 1e12 on 30 degrees of freedom the -log10 of p is finite and right."""
    # mean 1, range 1e-9 or so around it; the leading term of the tail, df^(df/2) / (B(df/2, 1/2) t^df) * 2 / df,
    # is exact here to 1e-20
    spread = np.array([-1, 1] * 15 + [0]) * 1e-9
    t = 1 / (spread.std(ddof=1) / math.sqrt(31))
    log_beta = math.lgamma(15) + math.lgamma(0.5) - math.lgamma(15.5)
    expected = -(15 * math.log(30) - 30 * math.log(t) + math.log(2 / 30) - log_beta) / math.log(10)
    p = paired_t((1 + spread).tolist())

    assert p is not None
    assert p.value < 1e-200
    assert expected == pytest.approx(p.neg_log10, rel=1e-6)


def test_huge_paired_t_has_a_finite_logarithm() -> None:
    """400 differences far from 0 underflow p to 0 and leave a -log10 of some hundreds."""
    p = paired_t(np.random.default_rng(0).normal(5, 0.1, 400).tolist())

    assert p is not None
    assert p.value == 0
    # mean 5, standard deviation 0.1: ln p is near -(399 / 2) ln(1 + 400 * 2500 / 399), that is -680 in base 10
    assert pytest.approx(p.neg_log10, abs=10) == 680


def test_wilcoxon_by_hand() -> None:
    """Three positive differences are one of the 2^3 sign patterns, twice counted."""
    assert pytest.approx(value(wilcoxon([1, 2, 3]))) == 2 / 8


def test_huge_wilcoxon_has_a_finite_logarithm() -> None:
    """4,000 positive differences underflow p to 0 and leave a finite -log10."""
    p = wilcoxon(np.arange(1, 4001).tolist())

    assert p is not None
    # z = n (n + 1) / 4 / sqrt(n (n + 1) (2 n + 1) / 24) = 54.7757; ln p is near -z^2 / 2 - ln(z sqrt(pi / 2))
    z = math.sqrt(4000 * 4001 * 1.5 / 8001)
    assert (z * z / 2 + math.log(z * math.sqrt(math.pi / 2))) / math.log(10) == pytest.approx(p.neg_log10, abs=1e-2)


def test_pseudomedian_is_the_median_of_pairwise_means() -> None:
    """Differences 0, 2, 10 have the pairwise means 0, 1, 2, 5, 6, 10."""
    assert pseudomedian([0, 2, 10]) == 3.5


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-50, 50) | st.floats(-1e3, 1e3), min_size=1, max_size=40))
def test_pseudomedian_is_the_same_listed_or_counted(differences: list[float]) -> None:
    """Counting finds the median that listing finds, for odd and even numbers of means and with ties."""
    listed = pseudomedian(differences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paired, "MOST_LISTED", 0)
        counted = pseudomedian(differences)

    assert counted == pytest.approx(listed, rel=1e-12, abs=1e-9)


def test_d_z_is_the_mean_in_standard_deviations() -> None:
    """Differences 1, 2, 3 have mean 2 and standard deviation 1."""
    assert d_z([1, 2, 3]) == 2.0


@pytest.mark.parametrize("differences", [[], [1.5], [0.0, 0.0, 0.0], [0.3, 0.3, 0.3], [0.1 + 0.2, 0.3]])
def test_differences_without_spread_have_no_t(differences: list[float]) -> None:
    """Fewer than two differences, or equal ones (but for rounding), have no t test, interval, deviation or d."""
    assert paired_t(differences) is None
    assert d_z(differences) is None
    assert mean_interval(differences) is None
    assert standard_deviation(differences) is None


@pytest.mark.parametrize("differences", [[], [1.5], [0.0, 0.0]])
def test_wilcoxon_without_ranks_is_undefined(differences: list[float]) -> None:
    """Fewer than two differences, or none but zeros, have no signed ranks."""
    assert wilcoxon(differences) is None


def test_pseudomedian_of_nothing_is_undefined() -> None:
    """No differences, no location."""
    assert pseudomedian([]) is None


def test_t_interval_covers_the_truth() -> None:
    """Over 3,000 samples of eight normal differences the interval covers the mean in about 95 %."""
    samples = np.random.default_rng(20).normal(0.3, 1.0, size=(3000, 8))
    intervals = [mean_interval(sample.tolist()) for sample in samples]
    covered = [interval is not None and interval.low <= 0.3 <= interval.high for interval in intervals]

    # the standard error of a share of 3,000 is sqrt(0.95 * 0.05 / 3000) = 0.004
    assert pytest.approx(np.mean(covered), abs=0.012) == 0.95


@pytest.mark.parametrize(("test", "least", "most"), [(mcnemar_exact, 0.0, ALPHA), (mcnemar_mid_p, 0.02, 0.065)])
@pytest.mark.parametrize("n", [25, 66])
def test_mcnemar_keeps_its_size(
    test: Callable[[PairedCells], PValue | None], least: float, most: float, n: int
) -> None:
    """Pairs without a true gap are rejected by the exact test in at most 5 %, whatever the share of discordant ones.

    By the mid-p test in at most 5 % too where up to 80 % are discordant, and in at most 6.5 % where all are.
    """
    discordant = [(first, second) for first, second in product(range(n + 1), repeat=2) if first + second <= n]
    rejected = np.array([value(test(PairedCells(n - b - c, b, c, 0))) <= ALPHA for b, c in discordant])
    outcomes = [(first, second, n - first - second) for first, second in discordant]
    # Not a simulation: the probability of each table is known.
    sizes = [
        multinomial.pmf(outcomes, n, (share / 2, share / 2, 1 - share))[rejected].sum()
        for share in (0.05, 0.1, 0.3, 0.6, 0.8, 1)
    ]

    assert least < max(sizes[:-1]) <= ALPHA
    assert sizes[-1] <= most


def test_holm_keeps_the_family_wise_error_of_mcnemar() -> None:
    """Seven dimensions of 15 pairs without a true gap give any false finding in at most 5 % of 800 studies."""
    rng = np.random.default_rng(7)
    tables = rng.multinomial(15, (0.2, 0.2, 0.6), size=(800, 7))
    p = {
        (b, c): value(mcnemar_exact(PairedCells(15 - b - c, b, c, 0)))
        for b, c in product(range(16), repeat=2)
        if b + c <= 15
    }
    rejections = [
        any(adjusted is not None and adjusted <= ALPHA for adjusted in adjust([p[b, c] for b, c, _ in study], "holm"))
        for study in tables.tolist()
        if min(p[b, c] for b, c, _ in study) <= ALPHA
    ]

    assert sum(rejections) / len(tables) <= ALPHA
