"""Clustered values: means, proportions and paired differences whose observations depend on each other within clusters.

Pairs of vignettes with the same clinical story share what the model knows about it; sentences about one diagnosis share
what the model associates with that diagnosis. If they are treated as independent, intervals are too narrow and tests
reject too often. With one observation per cluster, every function here reduces to the usual method: Student's t,
Wilson, Newcombe, the exact McNemar test.

**Means** (`clustered_mean`). The mean of all observations with the cluster-robust standard error CR2 and
Satterthwaite's degrees of freedom, under a working model of independent observations. For an intercept alone these have
a closed form. With n observations, f_g the share of cluster g in them, and S_g the sum of its residuals,

    variance = sum_g S_g^2 / (1 - f_g) / n^2
    1 / df   = sum_g f_g^2 + (sum_g w_g)^2 - sum_g w_g^2,   w_g = f_g^2 / (1 - f_g)

since B_g = I - 11'/n has the eigenvalue 1 - f_g in the direction of 1, so that A_g 1 = 1 / sqrt(1 - f_g); and
df = tr(P)^2 / tr(P^2) with P_gh = (n_g [g = h] - n_g n_h / n) / (n^2 sqrt((1 - f_g) (1 - f_h))).
Source: Bell & McCaffrey (2002), Survey Methodology 28:169-181; Pustejovsky & Tipton (2018), J Business & Economic
Statistics 36:672-683, eqs. 5, 11. Values agree with R's clubSandwich (tests/stats/oracle).

**Proportions** (`effective_size`). Wilson's and Newcombe's intervals at the effective number of observations: the
number of independent observations that would estimate the mean as precisely (Kish's design effect), times
(t_(n-1) / t_df)^2, and at most n. If the outcomes do not vary between clusters, there is no design effect to estimate,
and observations are assumed identical within each cluster: 1 / sum_g f_g^2 observations. Source: Korn & Graubard
(1998), Survey Methodology 24:193-201; for Wilson's interval, Dean & Pagano (2015), J Survey Statistics & Methodology
3:484-503.

**Paired outcomes** (`sign_flip`). The exact test by changes of sign of whole clusters: if the arms are exchangeable,
each cluster could equally have given its differences with the opposite sign.
Source: Canay, Romano & Shaikh (2017), Econometrica 85:1013-1030.

**Means of cluster means** (`cluster_means`). Each cluster counts once, and the tests and intervals of `paired` and
`groups` are applied to these means: "the average diagnosis", not "the average sentence". Source: Donner & Klar (2000),
Design and Analysis of Cluster Randomization Trials, chapter 7.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core.keys import grouped
from equipoise.stats.paired import MIN_PAIRS, SPREAD_FLOOR, t_quantile, t_two_sided
from equipoise.stats.quantities import Interval, PValue

Array = NDArray[np.float64]
Name = str | tuple[str, ...]

MOST_STEPS = 2**26
"""Most steps (largest sum x clusters) in which the exact distribution of a sum is computed: a tenth of a second."""


RESAMPLES = 2_000
"""Simulated samples for the coverage of an interval: its standard error is 0.5 %."""
MOST_RESAMPLED = 1_000
"""Number of clusters up to which the coverage is simulated; with more, the mean is as good as normal."""


class Mean(NamedTuple):
    """A mean of clustered values, with the standard error and the degrees of freedom of its t statistic.

    `skewness` is the estimated skewness of the mean: its third cumulant over the cube of its standard error.
    """

    value: float
    standard_error: float
    df: float
    skewness: float = 0.0

    def interval(self, alpha: float = 0.05) -> Interval:
        """The t interval."""
        reach = float(t_quantile(alpha, self.df)) * self.standard_error
        return Interval(self.value - reach, self.value + reach)

    def skewed_interval(self, alpha: float = 0.05) -> Interval:
        """The interval of Hall's transformed t statistic, whose skewness is that of a normal variable to second order.

        With the mean's skewness k, that is t + k t^2 / 3 + k^2 t^3 / 27 + k / 6, a cubic that grows with t, and whose
        inverse has a closed form. Student's t interval of skewed values misses the truth too often on the side of their
        tail.
        Source: Hall (1992), JRSS B 54:221-228; the quantile is Student's.
        """
        k, reach = self.skewness, float(t_quantile(alpha, self.df))

        def inverse(z: float) -> float:
            return z if abs(k) < SPREAD_FLOOR else 3 * (float(np.cbrt(1 + k * (z - k / 6))) - 1) / k

        return Interval(*(self.value - inverse(z) * self.standard_error for z in (reach, -reach)))

    def test(self) -> PValue:
        """The t test that the mean is 0."""
        return t_two_sided(self.value / self.standard_error, self.df)


def clustered_mean(values: Sequence[float], clusters: Sequence[Name], unseen: float = 0.0) -> Mean | None:
    """Mean of the values, with the standard error CR2 and Satterthwaite's degrees of freedom.

    `clusters` names the cluster of each value; `unseen` is a variance of the mean that the values do not show. None
    with fewer than two clusters, and where neither the values nor their sums over clusters vary beyond rounding, and
    nothing is unseen.
    """
    sample, place, sizes = _grouped_values(values, clusters)
    if len(sizes) < MIN_PAIRS or (not unseen and np.ptp(sample) <= SPREAD_FLOOR * np.abs(sample).max()):
        return None
    mean = float(sample.mean())
    shares = sizes / len(sample)
    sums = np.bincount(place, sample - mean)
    error = math.hypot(math.sqrt(float((sums**2 / (1 - shares)).sum())) / len(sample), math.sqrt(unseen))
    if error <= SPREAD_FLOOR * np.abs(sample).max():
        return None
    skewness = float((sums**3).sum()) / (error * len(sample)) ** 3
    return Mean(mean, error, float(degrees_of_freedom(shares)), skewness)


class Change(NamedTuple):
    """An estimated change with its interval and two-sided test; None where the values do not vary."""

    value: float
    interval: Interval | None = None
    p: PValue | None = None


def magnitude_change(
    before: Sequence[float], after: Sequence[float], clusters: Sequence[Name], alpha: float = 0.05
) -> Change:
    """Change in the magnitude of a mean, |mean of after| - |mean of before|, of the same clustered observations.

    With u = after - before and v = after + before, the change of means is sign(u v) min(|u|, |v|): the magnitude falls
    if u and v have opposite signs, and rises if they have the same. Both must differ from 0 for either claim, so p is
    the larger of their two p-values (`clustered_mean`), an intersection-union test whose size is at most that of each.
    The interval spans the changes of all (u, v) within their two intervals: it excludes 0 where p is below alpha, and
    covers at least 1 - alpha in large samples, also where a mean is 0 and its estimated magnitude is not.
    Source: Berger (1982), Technometrics 24:295-300, for the test.
    """
    pairs = list(zip(before, after, strict=True))
    value = abs(float(np.mean(after))) - abs(float(np.mean(before)))
    u, v = (clustered_mean([b + sign * a for a, b in pairs], clusters) for sign in (-1, 1))
    if u is None or v is None:
        return Change(value)
    ends = [
        (abs(difference + total) - abs(difference - total)) / 2
        for difference in _ends(u, alpha)
        for total in _ends(v, alpha)
    ]
    p = min(u.test(), v.test(), key=lambda test: test.neg_log10)
    return Change(value, Interval(min(ends), max(ends)), p)


def _ends(mean: Mean, alpha: float) -> tuple[float, float]:
    interval = mean.interval(alpha)
    return interval.low, interval.high


def probit_contrast(
    outcomes: Sequence[Sequence[bool]], clusters: Sequence[Name], weights: Sequence[float]
) -> Mean | None:
    """Weighted sum of the normal quantiles z of shares of the same clustered observations, with its standard error.

    `outcomes` has a row for each observation and a column for each share; `weights` has one weight per share. A share
    is estimated as (k + 1/2) / (n + 1) (Hautus 1995), as if one more observation, a cluster of its own, had half a yes.
    By the delta method an observation moves the sum by its residuals times the weights over the normal density at z;
    the error is CR2 of the clusters' sums of these, as in `clustered_mean`. The answers of the added observation are
    unknown, so it contributes the variance of independent answers with probability 1/2. The error is therefore never 0,
    unlike the jackknife's when all answers are alike. None with fewer than two clusters.
    Source: Gourevitch & Galanter (1967), Psychometrika 32:25-33, for the variance of z.
    """
    from scipy.special import ndtri

    yes = np.asarray(outcomes, dtype=float)
    _, place, sizes = _grouped_values(yes[:, 0].tolist(), clusters)
    if len(sizes) < MIN_PAIRS:
        return None
    total = len(yes) + 1
    p = (yes.sum(axis=0) + 0.5) / total
    z = ndtri(p)
    slopes = np.array(weights) * math.sqrt(2 * math.pi) * np.exp(z**2 / 2)
    squares = np.append(np.bincount(place, (yes - p) @ slopes) ** 2, (slopes**2).sum() / 4)
    shares = np.append(sizes, 1) / total
    error = math.sqrt(float((squares / (1 - shares)).sum())) / total
    return Mean(float(z @ weights), error, float(degrees_of_freedom(shares)))


class Ratio(NamedTuple):
    """A ratio of two means, with its interval; None where all values have the same ratio."""

    value: float
    interval: Interval | None


def ratio_of_means(
    numerators: Sequence[float], denominators: Sequence[float], clusters: Sequence[Name], alpha: float = 0.05
) -> Ratio | None:
    """Divide the mean of the numerators by the mean of the denominators, with Fieller's interval.

    The interval contains every ratio r at which the t test of `clustered_mean` does not reject that the mean of
    numerator - r denominator is 0. The CR2 variance of that mean is a quadratic in r, and its degrees of freedom depend
    only on the clusters, so the ends are the roots of a quadratic. The interval is bounded only if the denominator's
    mean differs significantly from 0; otherwise the result is None. Source: Fieller (1954), JRSS B 16:175-185.
    """
    from scipy.stats import t

    bottom = clustered_mean(denominators, clusters)
    if bottom is None or not bottom.test().value < alpha:
        return None

    def variance(top: float, below: float) -> float:
        mixed = [
            top * numerator + below * denominator
            for numerator, denominator in zip(numerators, denominators, strict=True)
        ]
        mean = clustered_mean(mixed, clusters)
        return mean.standard_error**2 if mean else 0.0

    reach = float(t.isf(alpha / 2, bottom.df)) ** 2
    top, over, under = float(np.mean(numerators)), variance(1, 0), bottom.standard_error**2
    covariance = (variance(1, 1) - over - under) / 2
    value = top / bottom.value
    residuals = [
        numerator - value * denominator for numerator, denominator in zip(numerators, denominators, strict=True)
    ]
    if np.abs(residuals).max() <= SPREAD_FLOOR * np.abs(denominators).max():
        return Ratio(value, None)
    a, b, c = bottom.value**2 - reach * under, top * bottom.value - reach * covariance, top**2 - reach * over
    spread = math.sqrt(max(0.0, b**2 - a * c))
    return Ratio(value, Interval((b - spread) / a, (b + spread) / a))


class Components(NamedTuple):
    """Variances between clusters and within them, and the mean size of a cluster."""

    between: float
    within: float
    size: float


def variance_components(values: Sequence[float], clusters: Sequence[Name]) -> Components | None:
    """Split the variance of clustered values into components between and within clusters, by analysis of variance.

    A negative estimate of the component between clusters is set to 0; if each value is a cluster of its own, all
    variance is between clusters. None with fewer than two clusters.
    Source: Searle, Casella & McCulloch (1992), Variance Components, section 3.6, for clusters of unequal sizes.
    """
    sample, place, sizes = _grouped_values(values, clusters)
    n, groups = len(sample), len(sizes)
    if groups < MIN_PAIRS:
        return None
    if groups == n:
        return Components(float(sample.var(ddof=1)), 0.0, 1.0)
    means = np.bincount(place, sample) / sizes
    within = float(((sample - means[place]) ** 2).sum()) / (n - groups)
    across = float((sizes * (means - sample.mean()) ** 2).sum()) / (groups - 1)
    usual = (n - float((sizes**2).sum()) / n) / (groups - 1)
    return Components(max(0.0, (across - within) / usual), within, n / groups)


class Misses(NamedTuple):
    """Shares of simulated samples whose interval lies above the mean (`low`) or below it (`high`), or is missing."""

    low: float
    high: float
    undefined: float


def simulated_misses(values: Sequence[float], clusters: Sequence[Name], alpha: float = 0.05) -> Misses | None:
    """Simulate how often the limits of `clustered_mean` miss in samples of as many clusters as were observed.

    The observed clusters are used as the population: an interval misses if it does not contain the observed mean. With
    few values that differ from the rest, samples without an interval are those that leave these out. The random numbers
    are fixed. None with fewer than two clusters or more than `MOST_RESAMPLED`, if no sample has an interval, and if the
    values do not vary.
    Source: Loh (1987), JASA 82:155-162; Davison & Hinkley (1997), Bootstrap Methods and their Application, section 5.6.
    """
    sample, place, sizes = _grouped_values(values, clusters)
    if not MIN_PAIRS <= len(sizes) <= MOST_RESAMPLED:
        return None
    drawn, quantiles = _draw_resamples(tuple(sizes.tolist()), alpha)
    n, sums = sizes[drawn], np.bincount(place, sample)[drawn]
    count = n.sum(axis=1, keepdims=True)
    means = sums.sum(axis=1, keepdims=True) / count
    errors = np.sqrt(((sums - n * means) ** 2 / (1 - n / count)).sum(axis=1)) / count[:, 0]
    defined = errors > SPREAD_FLOOR * np.abs(sample).max()
    if not defined.any():
        return None
    off, reach = means[:, 0] - sample.mean(), quantiles * errors
    return Misses(
        float((defined & (off > reach)).mean()), float((defined & (off < -reach)).mean()), float((~defined).mean())
    )


def simulated_coverage(values: Sequence[float], clusters: Sequence[Name], alpha: float = 0.05) -> float | None:
    """Coverage of the interval of `clustered_mean` in simulated samples (`simulated_misses`); None where that is.

    A sample without an interval misses the mean: to drop it would hide the failure. Coverage falls if values are skewed
    or few clusters dominate, and is itself uncertain with few clusters.
    """
    misses = simulated_misses(values, clusters, alpha)
    return None if misses is None else 1 - sum(misses)


@lru_cache(maxsize=64)
def _draw_resamples(sizes: tuple[int, ...], alpha: float) -> tuple[NDArray[np.int16], Array]:
    """Draw the clusters of each resample, (resamples, clusters), and return the quantiles of its t, (resamples,).

    They do not depend on the values, and the figures of a run concern the same few groups, so the result is cached.
    """
    drawn = np.random.default_rng(0).integers(len(sizes), size=(RESAMPLES, len(sizes)))
    n = np.array(sizes)[drawn]
    shares = n / n.sum(axis=1, keepdims=True)
    return drawn.astype(np.int16), t_quantile(alpha, degrees_of_freedom(shares))


def two_way_mean(values: Sequence[float], clusters: Sequence[str], others: Sequence[str]) -> Mean | None:
    """Mean of values that are clustered in two ways at once, such as by story and by patient.

    The variance is the sum of the CR2 variances of both clusterings minus that of their intersection, and at least the
    larger of the two; the degrees of freedom are the smaller of the two. None if either clustering has no mean.
    Source: Cameron, Gelbach & Miller (2011), J Business & Economic Statistics 29:238-249, eq. 2.2.
    """
    first, second = clustered_mean(values, clusters), clustered_mean(values, others)
    if first is None or second is None:
        return None
    both = clustered_mean(values, list(zip(clusters, others, strict=True)))
    variances = first.standard_error**2, second.standard_error**2
    variance = max(*variances, sum(variances) - (both.standard_error**2 if both else 0.0))
    return Mean(first.value, math.sqrt(variance), min(first.df, second.df))


def effective_size(values: Sequence[float], clusters: Sequence[Name], alpha: float = 0.05) -> float:
    """Number of independent values that would estimate the mean as precisely; 0 without values.

    It is at most the number of values, and equal to it if each value is a cluster of its own.
    """
    sample, _, sizes = _grouped_values(values, clusters)
    n = len(sample)
    if n == 0 or len(sizes) == n:
        return float(n)
    mean = clustered_mean(values, clusters)
    if mean is None:
        return n**2 / float((sizes**2).sum())
    independent = float(sample.var(ddof=1)) / n
    quantiles = float(t_quantile(alpha, n - 1)) / float(t_quantile(alpha, mean.df))
    return min(float(n), n * independent / mean.standard_error**2 * quantiles**2)


def sign_flip(scores: Sequence[float], clusters: Sequence[Name], *, mid_p: bool = False) -> PValue | None:
    """Two-sided test that scores are symmetric about 0, by all changes of sign of whole clusters' sums.

    Scores are multiples of 1/2: differences of paired outcomes (-1, 0, 1) or signed ranks. With one score per cluster
    this is the exact McNemar test of the former (with `mid_p`, McNemar's mid-p test) and Wilcoxon's exact test of the
    latter. The normal approximation is used if the exact distribution needs more than `MOST_STEPS` steps. None without
    scores; 1 if every sum is 0.
    """
    from scipy.stats import norm

    if not len(scores):
        return None
    sample, place, _ = _grouped_values(scores, clusters)
    sums = np.rint(2 * np.bincount(place, sample)).astype(int)
    seen = abs(int(sums.sum()))
    if seen == 0:
        return PValue(1.0, 0.0)
    sizes = np.abs(sums[sums != 0])
    unit = int(np.gcd.reduce(sizes))
    sizes, seen = sizes // unit, seen // unit
    z = seen / math.sqrt(float((sizes.astype(float) ** 2).sum()))

    def log_p() -> float:
        return math.log(2) + float(norm.logsf(z))

    total = int(sizes.sum())
    if total * len(sizes) > MOST_STEPS:
        return PValue.of(2 * float(norm.sf(z)), log_p)
    # The probability of each possible sum of the clusters whose sign is positive.
    probability = np.zeros(total + 1)
    probability[0] = 1.0
    for size in sizes.tolist():
        probability[size:] = (probability[size:] + probability[:-size]) / 2
        probability[:size] /= 2
    first = (total + seen) // 2
    return PValue.of(2 * float(probability[first:].sum()) - mid_p * float(probability[first]), log_p)


def cluster_means(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """Mean of each cluster's values, sorted by cluster name; `clusters` names the cluster of each value."""
    members = grouped(zip(clusters, values, strict=True))
    return [sum(own) / len(own) for _, own in sorted(members.items())]


def degrees_of_freedom(shares: Array) -> Array:
    """Satterthwaite's degrees of freedom of a mean, given the clusters' shares of the observations (the last axis)."""
    w = shares**2 / (1 - shares)
    df: Array = 1 / ((shares**2).sum(axis=-1) + w.sum(axis=-1) ** 2 - (w**2).sum(axis=-1))
    return df


def _grouped_values(
    values: Sequence[float], clusters: Sequence[Name]
) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """Return the values, the index of each value's cluster, and the clusters' sizes."""
    numbers: dict[Name, int] = {}
    place = [numbers.setdefault(name, len(numbers)) for _, name in zip(values, clusters, strict=True)]
    places = np.array(place, dtype=np.intp)
    return np.asarray(values, dtype=float), places, np.bincount(places, minlength=len(numbers))
