"""Comparison of two independent samples: Student's and Welch's t, and Cohen's d.

Differences are first sample − second. Every function returns None where it is undefined, and issues no warnings.
At least two values in each sample, and one sample that is not constant, are required: Student's t would be defined with
a single value in one sample, but would then estimate the variance from the other alone.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from equipoise.stats.paired import MIN_PAIRS, SPREAD_FLOOR, log_t_two_sided
from equipoise.stats.quantities import Interval, PValue

Variance = Literal["pooled", "unequal"]


def student_t(first: Sequence[float], second: Sequence[float]) -> PValue | None:
    """Student's t test that two means are equal, assuming equal variances (scipy's `equal_var=True`)."""
    return _test(first, second, "pooled")


def student_interval(first: Sequence[float], second: Sequence[float], alpha: float = 0.05) -> Interval | None:
    """Student's t interval of the difference of two means, assuming equal variances."""
    return _interval(first, second, alpha, "pooled")


def welch_t(first: Sequence[float], second: Sequence[float]) -> PValue | None:
    """Welch's t test that two means are equal, whatever their variances. Source: Welch (1947), Biometrika 34:28-35."""
    return _test(first, second, "unequal")


def welch_interval(first: Sequence[float], second: Sequence[float], alpha: float = 0.05) -> Interval | None:
    """Welch's t interval of the difference of two means, allowing unequal variances."""
    return _interval(first, second, alpha, "unequal")


def cohens_d(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Cohen's d: the difference of two means in pooled standard deviations (n - 1).

    With samples of equal size, such as the two arms of pairs, the pooled variance is the mean of the two variances.
    Without Hedges' small-sample correction, as in the published figures.
    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, section 2.5.
    """
    samples = _comparable_samples(first, second)
    if samples is None:
        return None
    left, right = samples
    squares = np.var(left, ddof=1) * (len(left) - 1) + np.var(right, ddof=1) * (len(right) - 1)
    pooled = math.sqrt(squares / (len(left) + len(right) - 2))
    return float(left.mean() - right.mean()) / pooled


PERMUTATIONS = 9_999
"""Random permutations behind a p-value, which is therefore at least 0.0001."""


def stratified_permutation_p(first: Sequence[float], second: Sequence[float], strata: Sequence[int]) -> float:
    """Two-sided permutation test that two samples are alike, by the difference of their means.

    Both samples have one observation at each index; `strata` gives the stratum of each index. Within a stratum, any
    observation may belong to either sample. With one index per stratum this is the paired test, with a single stratum
    the unpaired one. The random numbers are fixed.
    Source: Phipson & Smyth (2010), Stat Appl Genet Mol Biol 9:39, eq. 2.
    """
    rng = np.random.default_rng(0)
    left, right, place = np.asarray(first, dtype=float), np.asarray(second, dtype=float), np.asarray(strata)
    drawn = np.zeros(PERMUTATIONS)
    for stratum in np.unique(place):
        both = np.concatenate([left[place == stratum], right[place == stratum]])
        shuffled = rng.permuted(np.tile(both, (PERMUTATIONS, 1)), axis=1)
        n = len(both) // 2
        drawn += shuffled[:, :n].sum(axis=1) - shuffled[:, n:].sum(axis=1)
    seen = abs(float(left.sum() - right.sum()))
    # Equal up to the rounding of sums in another order.
    beyond = np.abs(drawn) >= seen - SPREAD_FLOOR * float(np.abs(left).sum() + np.abs(right).sum())
    return float((1 + beyond.sum()) / (1 + PERMUTATIONS))


def least_p(strata: Sequence[int]) -> float:
    """Return the smallest p-value that `stratified_permutation_p` could have if it took every permutation."""
    return 2 / math.prod(math.comb(2 * n, n) for n in Counter(strata).values())


def _test(first: Sequence[float], second: Sequence[float], variance: Variance) -> PValue | None:
    from statsmodels.stats.weightstats import CompareMeans

    samples = _comparable_samples(first, second)
    if samples is None:
        return None
    t, p, df = CompareMeans.from_data(*samples).ttest_ind(usevar=variance)
    return PValue.of(float(p), lambda: log_t_two_sided(float(t), float(df)))


def _interval(first: Sequence[float], second: Sequence[float], alpha: float, variance: Variance) -> Interval | None:
    from statsmodels.stats.weightstats import CompareMeans

    samples = _comparable_samples(first, second)
    if samples is None:
        return None
    low, high = CompareMeans.from_data(*samples).tconfint_diff(alpha, usevar=variance)
    return Interval(float(low), float(high))


def _comparable_samples(first: Sequence[float], second: Sequence[float]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return both samples as arrays, or None where one is too small or neither varies beyond rounding error."""
    samples = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if min(map(len, samples)) < MIN_PAIRS:
        return None
    largest = max(np.abs(sample).max() for sample in samples)
    if all(np.ptp(sample) <= SPREAD_FLOOR * largest for sample in samples):
        return None
    return samples
