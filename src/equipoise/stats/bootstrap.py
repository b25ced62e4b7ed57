"""Cluster bootstrap: resampling whole clusters, so that dependent observations stay together."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.stats.quantities import Interval

Array = NDArray[np.float64]
Statistic = Callable[[Sequence[Array]], Array]


MANY = 128
"""Number of clusters above which identical ones are drawn together."""
DRAWN_TOGETHER = 2**22
"""Number of draw counts held in memory at once (32 MiB)."""


def generator(seed: int, name: str) -> np.random.Generator:
    """Create the random generator of one named figure, so that adding a figure does not change the others."""
    return np.random.default_rng([seed, *name.encode()])


def observed_value(strata: Sequence[Array], statistic: Statistic) -> float | None:
    """Statistic of the sample, shaped as in `cluster_bootstrap`; None if not finite or a stratum is empty."""
    if any(len(stratum) == 0 for stratum in strata):
        return None
    value = float(statistic([stratum.mean(axis=0, keepdims=True) for stratum in strata])[0])
    return value if np.isfinite(value) else None


def cluster_bootstrap(
    strata: Sequence[Array], statistic: Statistic, *, rng: np.random.Generator, n_resamples: int, alpha: float = 0.05
) -> Interval | None:
    """Percentile interval of a function of means, resampling clusters with replacement within each stratum.

    A stratum is an array (clusters, k): a row holds the k totals of one cluster (for a rate: successes and trials).
    The statistic receives, for each stratum, an array (resamples, k) of means over the resampled clusters, and
    returns an array (resamples,). Infinite values are kept; NaN means undefined and counts as minus infinity for the
    lower limit and as plus infinity for the upper one, so that resamples in which the statistic is undefined can only
    widen the interval. `high` may therefore be infinite; the result is None where `low` would be, or where a stratum
    is empty.
    Source: Davison & Hinkley (1997), Bootstrap Methods and their Application, sections 3.8 and 5.3.
    """
    if n_resamples < 1 / alpha:
        message = f"{n_resamples} resamples are too few for alpha {alpha:.3g}: use at least {math.ceil(1 / alpha)}"
        raise EquipoiseError(message)
    if any(len(stratum) == 0 for stratum in strata):
        return None
    replicates = statistic([_resampled_means(stratum, rng, n_resamples) for stratum in strata])
    missing = np.isnan(replicates)
    # Without interpolation: there is no midpoint between two infinities.
    low = float(np.quantile(np.where(missing, -np.inf, replicates), alpha / 2, method="inverted_cdf"))
    high = float(np.quantile(np.where(missing, np.inf, replicates), 1 - alpha / 2, method="inverted_cdf"))
    return Interval(low, high) if np.isfinite(low) else None


def _resampled_means(stratum: Array, rng: np.random.Generator, n_resamples: int) -> Array:
    """Means (resamples, k) of clusters drawn with replacement: the number of draws of each is multinomial.

    Above `MANY` clusters, identical ones are merged into one with proportionally higher probability, which has the
    same distribution: a million questions scored right or wrong are two kinds of cluster. Fewer clusters are drawn
    individually, which preserves the random number stream behind published intervals.
    """
    n = len(stratum)
    kinds, counts = np.unique(stratum, axis=0, return_counts=True) if n > MANY else (stratum, np.ones(n))
    size = max(1, DRAWN_TOGETHER // len(kinds))
    means = np.empty((n_resamples, stratum.shape[1]))
    for first in range(0, n_resamples, size):
        drawn = means[first : first + size]
        drawn[:] = rng.multinomial(n, counts / n, size=len(drawn)) @ kinds / n
    return means
