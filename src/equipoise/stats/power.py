"""Power and minimum detectable effects of paired samples: how informative a non-significant result is."""

import math
from functools import lru_cache

import numpy as np

from equipoise.core.errors import EquipoiseError
from equipoise.stats.paired import t_quantile

NEGLIGIBLE = 1e-16
"""Probability of each tail omitted from a sum."""


def mcnemar_power(n: int, gap: float, discordance: float, alpha: float = 0.05) -> float:
    """Power of McNemar's mid-p test with n pairs, the true gap and the proportion of discordant pairs.

    Unconditional and without approximation: summed over the possible numbers of discordant pairs. `gap` must not exceed
    `discordance`, the proportion of pairs whose arms differ, in absolute value.
    Source: Connor (1987), Biometrics 43:207-211, for the problem; the sum itself is elementary.
    """
    from scipy.stats import binom

    if not abs(gap) <= discordance <= 1:
        raise EquipoiseError(f"a gap of {gap} requires a discordance between {abs(gap)} and 1, not {discordance}")
    if discordance == 0:
        return 0.0
    # Counts outside this range have a total probability below 1e-15: for a million pairs a few thousand are summed.
    counts = np.arange(binom.ppf(NEGLIGIBLE, n, discordance), binom.isf(NEGLIGIBLE, n, discordance) + 1)
    first = (1 + gap / discordance) / 2
    # The largest count in the rarer direction that is significant: the mid-p of one more exceeds alpha.
    critical = binom.ppf(alpha / 2, counts, 0.5)
    middle = binom.cdf(critical, counts, 0.5) - binom.pmf(critical, counts, 0.5) / 2
    critical = np.where(middle <= alpha / 2, critical, critical - 1)
    rejects = binom.cdf(critical, counts, first) + binom.sf(counts - critical - 1, counts, first)
    return float(np.sum(binom.pmf(counts, n, discordance) * rejects))


@lru_cache(maxsize=1024)
def minimum_detectable_gap(
    n: int, discordance: float = 0.0, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest true gap that McNemar's mid-p test detects with the given power in n pairs.

    `discordance` is the proportion of discordant pairs, observed or assumed. For gaps above it, all discordant pairs
    are assumed to favour one side; with 0 the result is the smallest gap detectable under any discordance. None
    where even a gap of 1 is not detectable (at alpha 0.05: fewer than 5 pairs).
    """
    from scipy.optimize import brentq

    def shortfall(gap: float) -> float:
        return mcnemar_power(n, gap, max(discordance, gap), alpha) - power

    return None if shortfall(1.0) < 0 else float(brentq(shortfall, 0.0, 1.0, xtol=1e-9))


def minimum_detectable_shift(
    standard_deviation: float | None, n: float, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest true mean difference, in units of the differences, that the paired t test detects with the given power.

    With a standard error e and its degrees of freedom df from elsewhere, give e sqrt(df + 1) and df + 1. None for fewer
    than two pairs, or where the differences' standard deviation is unknown or 0.
    """
    if n <= 1 or standard_deviation is None or not standard_deviation > 0 or not math.isfinite(standard_deviation):
        return None
    return standard_deviation * _standardised_shift(n, alpha, power)


@lru_cache(maxsize=1024)
def _standardised_shift(n: float, alpha: float, power: float) -> float:
    """Smallest true mean difference in standard deviations of the differences."""
    from scipy.optimize import brentq
    from scipy.stats import nct

    critical = float(t_quantile(alpha, n - 1))

    def shortfall(effect: float) -> float:
        # scipy returns NaN where a tail of the noncentral t has underflowed: only the other tail remains.
        upper, lower = nct.sf(critical, n - 1, effect * math.sqrt(n)), nct.cdf(-critical, n - 1, effect * math.sqrt(n))
        return float(np.nan_to_num(upper, nan=1.0) + np.nan_to_num(lower, nan=0.0)) - power

    # statsmodels' solve_power fails from its starting value for a thousand pairs.
    most = 1 / math.sqrt(n)
    while shortfall(most) < 0:
        most *= 2
    return float(brentq(shortfall, 0.0, most, xtol=1e-15))
