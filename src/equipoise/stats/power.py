"""Smallest effects that a sample of pairs would show: what "no difference found" is worth."""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.errors import EquipoiseError

NEGLIGIBLE = 1e-16
"""Probability of either tail that a sum leaves out."""


def mcnemar_power(n: int, gap: float, discordance: float, alpha: float = 0.05) -> float:
    """Probability that the exact McNemar test rejects, given n pairs, the true gap and the share of discordant pairs.

    Unconditional and exact: summed over how many of the n pairs may turn out discordant. `gap` lies within plus or
    minus `discordance`, the share of pairs whose arms differ.
    Source: Connor (1987), Biometrics 43:207-211, for the problem; the sum itself is elementary.
    """
    from scipy.stats import binom

    if not abs(gap) <= discordance <= 1:
        msg = f"a gap of {gap} needs between {abs(gap)} and 1 of the pairs to differ, and {discordance} was given."
        raise EquipoiseError(msg)
    if discordance == 0:
        return 0.0
    # Beyond these the probabilities add up to less than 1e-15: of a million pairs, a few thousand counts are summed.
    counts = np.arange(binom.ppf(NEGLIGIBLE, n, discordance), binom.isf(NEGLIGIBLE, n, discordance) + 1)
    first = (1 + gap / discordance) / 2
    critical = binom.ppf(alpha / 2, counts, 0.5)
    critical = np.where(binom.cdf(critical, counts, 0.5) <= alpha / 2, critical, critical - 1)
    rejects = binom.cdf(critical, counts, first) + binom.sf(counts - critical - 1, counts, first)
    return float(np.sum(binom.pmf(counts, n, discordance) * rejects))


def minimum_detectable_gap(
    n: int, discordance: float = 0.0, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest true gap that the exact McNemar test finds with the given power among n pairs.

    `discordance` is the share of discordant pairs, observed or assumed. A gap larger than that needs more of them,
    and then all of them on one side; with 0 the result is the smallest gap detectable under any discordance. None
    where even a gap of 1 would be missed (at alpha 0.05: fewer than 6 pairs).
    """
    from scipy.optimize import brentq

    def shortfall(gap: float) -> float:
        return mcnemar_power(n, gap, max(discordance, gap), alpha) - power

    return None if shortfall(1.0) < 0 else float(brentq(shortfall, 0.0, 1.0, xtol=1e-9))


def minimum_detectable_shift(
    standard_deviation: float | None, n: int, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest true mean difference, in the differences' unit, that the paired t test finds with the given power.

    None for fewer than two pairs, or where the differences' standard deviation is unknown or 0.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    if n <= 1 or standard_deviation is None or not standard_deviation > 0 or not math.isfinite(standard_deviation):
        return None
    critical = float(t.isf(alpha / 2, n - 1))

    def shortfall(effect: float) -> float:
        # scipy gives NaN where a tail of the noncentral t has underflowed: what is left is the other one.
        upper, lower = nct.sf(critical, n - 1, effect * math.sqrt(n)), nct.cdf(-critical, n - 1, effect * math.sqrt(n))
        return float(np.nan_to_num(upper, nan=1.0) + np.nan_to_num(lower, nan=0.0)) - power

    # statsmodels' solve_power begins from a value that fails it for a thousand pairs.
    most = 1 / math.sqrt(n)
    while shortfall(most) < 0:
        most *= 2
    return standard_deviation * float(brentq(shortfall, 0.0, most, xtol=1e-15))


def underpowered(n: int, minimum: int) -> bool:
    """Whether n falls short of the minimum that the study was designed for."""
    return n < minimum
