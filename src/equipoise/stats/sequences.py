"""Confidence sequences: intervals of a mean that hold at every sample size at once, however often one looks.

A study that stops when its interval tells may not use the interval of a fixed sample: looked at after every batch, it
misses the truth ever more often. A confidence sequence of level 1 - alpha holds the truth at all sizes together with
that probability, so that one may stop at any of them, and go on later.

**Student's t mixture.** For normal values x_1, x_2, ... with unknown variance and mean m, the likelihood ratio of the t
statistic, with a N(0, g) mixture over the standardised mean against 0,

    B_n = (1 + n g)^(-1/2) [ (1 + t^2 / v) / (1 + t^2 / (v (1 + n g))) ]^(n / 2),    v = n - 1,

is a martingale that begins at 1 (of the maximal invariant under changes of scale), and by Ville's inequality exceeds
1 / alpha at any n with a probability of at most alpha. The means m for which it does not are the sequence. B_n depends
on n and t alone, and so does the sequence: it is the t interval with another quantile (`quantile`), infinite while n is
small. Source: Lai (1976), Annals of Statistics 4:265-280; Wang & Ramdas (2025), Sequential Analysis 44:56-110
(arXiv:2310.03722), for mixtures over proper distributions; Gonen, Johnson, Lu & Westfall (2005), American Statistician
59:252-257, for the closed form of B_n.

**Clusters.** Values within a cluster depend on each other, so that n counts clusters: with equal sizes the CR2 variance
is that of the means of clusters (`clusters.clustered_mean`), with unequal ones the sequence is approximate. Asymptotic
sequences (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024, Annals of Statistics 52:2613-2640) need more clusters
than a study has: theirs takes the estimated variance for the true one. docs/validity.md has the simulations.
"""

import math
from functools import lru_cache

from equipoise.stats.paired import t_quantile
from equipoise.stats.quantities import Interval

FEWEST, FIRST = 10, 1 / 3
"""Fewest clusters at which a sequence is given, and their least share of those planned: the t statistic of a few skewed
values misses the truth too often on one side."""


def quantile(n: int, alpha: float, scale: float) -> float:
    """Distance of the sequence's limits from the mean of n values, in standard errors; infinite where n is too small.

    `scale` is the variance g of the mixture.
    """
    grown = 1 + n * scale
    ratio = math.exp((math.log(grown) - 2 * math.log(alpha)) / n)
    return math.sqrt((n - 1) * (ratio - 1) / (1 - ratio / grown)) if ratio < grown else math.inf


@lru_cache(maxsize=256)
def tuned_scale(n: int, alpha: float) -> float:
    """Variance of the mixture with which the sequence is narrowest at n values."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(lambda log: -1 / quantile(n, alpha, math.exp(log)), bounds=(-12.0, 12.0), method="bounded")
    return math.exp(float(found.x))


def stretch(n: int, planned: int, alpha: float) -> float:
    """How many times as wide the sequence is as the t interval of n clusters; infinite before the first look at it.

    It is tuned to be narrowest at `planned` clusters.
    """
    if n < max(FEWEST, FIRST * planned):
        return math.inf
    return quantile(n, alpha, tuned_scale(planned, alpha)) / float(t_quantile(alpha, n - 1))


def widened(interval: Interval | None, value: float, factor: float) -> Interval | None:
    """Move the limits of an interval away from its estimate by a factor; None where that is infinite."""
    if interval is None or math.isinf(factor):
        return None
    low, high = (value + factor * (limit - value) for limit in (interval.low, interval.high))
    return Interval(low, high)
