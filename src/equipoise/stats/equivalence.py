"""Planning a test that a mean lies within a margin: power, the margin that data support, and the clusters needed.

Two one-sided t tests, each of size `alpha`, both reject if the interval of level 1 - 2 alpha lies within the margin
on both sides (Schuirmann 1987, J Pharmacokinet Biopharm 15:657-680). With a normal estimate of standard error e, whose
estimate has df degrees of freedom, the probability of this is the mean of

    Phi((margin - t e s - truth) / e) - Phi((-margin + t e s - truth) / e),    where it is positive,

over s, the square root of a chi-squared variable of df degrees of freedom over df; t is the quantile of Student's t.
This is the exact power, as by Owen's Q functions. Source: Owen (1965), Biometrika 52:437-446; Phillips (1990), J
Pharmacokinet Biopharm 18:137-144. Values agree with PowerTOST's documentation (tests/stats/oracle).
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError

MOST_CLUSTERS = 10_000_000
"""Number of clusters beyond which no plan is made."""
NODES = 200
"""Nodes of the integral over s: its error is below 1e-9."""


def equivalence_power(
    margin: float, standard_error: float, df: float, alpha: float, *, truth: float = 0.0, one_sided: bool = False
) -> float:
    """Probability that the interval of level 1 - 2 alpha lies within the margin, at a true difference of `truth`.

    With `one_sided` (non-inferiority), only its upper limit must lie within the margin. `df` are the degrees of freedom
    of the standard error's estimate.
    """
    from scipy.stats import chi2, norm, t

    # Gauss-Legendre nodes between extreme quantiles of s; the probability outside them is negligible.
    ends = np.sqrt(chi2.ppf([1e-14, 1 - 1e-14], df) / df)
    nodes, weights = _nodes()
    s = ends[0] + (nodes + 1) / 2 * (ends[1] - ends[0])
    density = chi2.pdf(s**2 * df, df) * 2 * s * df
    reach = t.isf(alpha, df) * s
    upper = norm.cdf((margin - truth) / standard_error - reach)
    lower = 0.0 if one_sided else norm.cdf((-margin - truth) / standard_error + reach)
    return float(np.clip((weights * (ends[1] - ends[0]) / 2 * density * np.clip(upper - lower, 0, None)).sum(), 0, 1))


@cache
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the nodes and weights of the integral once, which takes longer than the integral."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


def supported_margin(standard_error: float, df: float, alpha: float, power: float, *, one_sided: bool = False) -> float:
    """Smallest margin within which an estimate without a true difference is shown to lie, with the given power."""
    from scipy.optimize import brentq

    def shortfall(ratio: float) -> float:
        return equivalence_power(ratio, 1.0, df, alpha, one_sided=one_sided) - power

    most = 1.0
    while shortfall(most) < 0:
        most *= 2
    return standard_error * float(brentq(shortfall, 0.0, most, xtol=1e-9))


def clusters_needed(
    margin: float, between: float, within: float, size: float, *, alpha: float, power: float, one_sided: bool = False
) -> int:
    """Smallest number of clusters of `size` values each whose mean is shown to lie within the margin with the power.

    `between` and `within` are the variances between and within clusters. Raises EquipoiseError if more than ten million
    clusters are needed.
    """
    variance = between + within / size

    def enough(count: int) -> bool:
        error = math.sqrt(variance / count)
        return equivalence_power(margin, error, count - 1, alpha, one_sided=one_sided) >= power

    fewest = fewest_clusters(enough) if variance else 2
    if fewest is None:
        raise EquipoiseError(f"a margin of {margin:g} needs more than {MOST_CLUSTERS:,} clusters: declare a wider one")
    return fewest


def fewest_clusters(enough: Callable[[int], bool]) -> int | None:
    """Find the smallest number of clusters that is enough, where a larger one is too; None above ten million."""
    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_CLUSTERS:
            return None
    low = high // 2 + 1
    return low + bisect_left(range(low, high), x=True, key=enough)
