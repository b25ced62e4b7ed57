"""Tests of paired differences, first arm − second arm; each gives None where it is undefined, and no warnings."""

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.quantities import Interval, PairedCells, PValue

MIN_PAIRS = 2
"""Fewest differences that have a standard deviation."""

MOST_LISTED = 1000
"""Number of differences up to which all pairwise means (half a million) are listed."""

SPREAD_FLOOR = 1e-12
"""A range below this fraction of the largest difference is rounding error: the differences count as constant."""

Degrees = TypeVar("Degrees", float, NDArray[np.float64])
"""Degrees of freedom, one or many."""


def mcnemar_exact(cells: PairedCells) -> PValue | None:
    """Exact McNemar test: the two-sided binomial test that a discordant pair falls either way with probability 1/2.

    None without pairs. With pairs but no discordant ones p is 1, the only possible outcome.
    Source: McNemar (1947), Psychometrika 12:153-157; exact form as in statsmodels.
    """
    from scipy.special import logsumexp
    from scipy.stats import binom
    from statsmodels.stats.contingency_tables import mcnemar

    if cells.n == 0:
        return None
    fewer, discordant = min(cells.only_first, cells.only_second), cells.discordant

    def log_p() -> float:
        # scipy computes binom.logcdf from cdf, which has underflowed here; the sum of point masses has not.
        return math.log(2) + float(logsumexp(binom.logpmf(np.arange(fewer + 1), discordant, 0.5)))

    return PValue.of(float(mcnemar(_table(cells), exact=True).pvalue), log_p)


def mcnemar_mid_p(cells: PairedCells) -> PValue | None:
    """McNemar's mid-p test: the exact test with half of the observed table's probability on either side.

    The primary test of a paired difference. The exact test keeps its size below alpha whatever the truth and is
    therefore conservative (below 0.02 with few discordant pairs); the mid-p test has more power, and in the simulations
    of the source its size stays at or below alpha. Only where every pair is discordant, as in a sign test, can it be
    above (0.064 with 66 pairs). With b <= c discordant pairs either way, p = 2 P(X < b) + P(X = b) for X
    binomial(b + c, 1/2): the exact p less P(X = b), and 1 where b = c.
    None without pairs; with pairs but no discordant ones p is 1, the only possible outcome.
    Source: Fagerland, Lydersen & Laake (2013), BMC Medical Research Methodology 13:91.
    """
    from scipy.special import logsumexp
    from scipy.stats import binom

    if cells.n == 0:
        return None
    fewer, discordant = min(cells.only_first, cells.only_second), cells.discordant
    p = 2 * float(binom.cdf(fewer, discordant, 0.5)) - float(binom.pmf(fewer, discordant, 0.5))

    def log_p() -> float:
        weights = np.where(np.arange(fewer + 1) < fewer, 2.0, 1.0)
        return float(logsumexp(binom.logpmf(np.arange(fewer + 1), discordant, 0.5), b=weights))

    return PValue.of(1.0 if cells.only_first == cells.only_second else p, log_p)


def mcnemar_chi2(cells: PairedCells) -> PValue | None:
    """McNemar's chi-square test with continuity correction; None without a discordant pair.

    For comparison with published figures; the primary test is the mid-p one. statsmodels returns p = 0 without a
    discordant pair.
    """
    from scipy.stats import norm
    from statsmodels.stats.contingency_tables import mcnemar

    if cells.discordant == 0:
        return None
    result = mcnemar(_table(cells), exact=False, correction=True)
    root = math.sqrt(float(result.statistic))
    return PValue.of(float(result.pvalue), lambda: math.log(2) + float(norm.logsf(root)))


def paired_t(differences: Sequence[float]) -> PValue | None:
    """Paired t test that the mean difference is 0; None for fewer than two differences or where they do not vary."""
    values = _varying_values(differences)
    if values is None:
        return None
    return t_two_sided(float(values.mean() / np.sqrt(values.var(ddof=1) / len(values))), len(values) - 1)


def wilcoxon(differences: Sequence[float]) -> PValue | None:
    """Wilcoxon signed-rank test that differences are symmetric about 0, with zeros dropped (Wilcoxon's method).

    Exact up to 50 differences without ties and up to 13 with ties, otherwise the normal approximation (scipy's
    "auto"). None for fewer than two differences or where all are 0.
    """
    from scipy import stats

    values = np.asarray(differences, dtype=float)
    if len(values) < MIN_PAIRS or not values.any():
        return None

    def log_p() -> float:
        # The type stubs have only this method's former name.
        result = stats.wilcoxon(values, method="asymptotic")  # type: ignore[call-overload]
        return math.log(2) + float(stats.norm.logsf(abs(float(result.zstatistic))))

    return PValue.of(float(stats.wilcoxon(values).pvalue), log_p)


def signed_ranks(differences: Sequence[float]) -> list[float]:
    """Ranks of the absolute differences with the signs of the differences, zeros left out of the ranking as 0."""
    from scipy.stats import rankdata

    values = np.asarray(differences, dtype=float)
    ranks = np.zeros(len(values))
    ranks[values != 0] = rankdata(np.abs(values[values != 0]))
    signed: list[float] = (np.sign(values) * ranks).tolist()
    return signed


def mean_interval(differences: Sequence[float], alpha: float = 0.05) -> Interval | None:
    """Student's t interval of the mean difference; None for fewer than two differences or where they do not vary."""
    values = _varying_values(differences)
    if values is None:
        return None
    mean, error = float(values.mean()), float(np.sqrt(values.var(ddof=1) / len(values)))
    reach = float(t_quantile(alpha, len(values) - 1)) * error
    return Interval(mean - reach, mean + reach)


def standard_deviation(differences: Sequence[float]) -> float | None:
    """Sample standard deviation of the differences (n - 1); None for fewer than two or where they do not vary."""
    values = _varying_values(differences)
    return None if values is None else float(np.std(values, ddof=1))


def d_z(differences: Sequence[float]) -> float | None:
    """Cohen's d for paired data, d_z: the mean difference over the standard deviation of the differences.

    None for fewer than two differences or where they do not vary. It equals t / sqrt(n), and grows with the
    correlation of the two arms; `groups.cohens_d` is the d relative to the standard deviation of the arms themselves.
    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, section 2.3.5.
    """
    spread = standard_deviation(differences)
    return None if spread is None else float(np.mean(differences)) / spread


def pseudomedian(differences: Sequence[float]) -> float | None:
    """Hodges-Lehmann estimate, the median of all pairwise means: the location parameter of the Wilcoxon test.

    None without differences. Above `MOST_LISTED` differences the means are counted, not listed (`_walsh_average`).
    Source: Hodges & Lehmann (1963), Ann Math Stat 34:598-611.
    """
    values = np.sort(np.asarray(differences, dtype=float))
    if len(values) == 0:
        return None
    if len(values) <= MOST_LISTED:
        rows, columns = np.triu_indices(len(values))
        return float(np.median((values[rows] + values[columns]) / 2))
    pairs = len(values) * (len(values) + 1) // 2
    return (_walsh_average(values, (pairs + 1) // 2) + _walsh_average(values, pairs // 2 + 1)) / 2


def _walsh_average(values: np.ndarray, place: int) -> float:
    """The `place`-th smallest Walsh average (mean of two sorted values, or of one with itself), up to rounding.

    Found by bisection until no float lies between the ends; each step counts the averages up to the midpoint in
    n log n, by binary search for each value's last partner.
    """
    low, high = float(values[0]), float(values[-1])
    own = np.arange(len(values))
    while low < (middle := low + (high - low) / 2) < high:
        partners = np.searchsorted(values, 2 * middle - values, side="right") - own
        if int(np.maximum(partners, 0).sum()) >= place:
            high = middle
        else:
            low = middle
    return high


def t_quantile(alpha: float, df: Degrees) -> Degrees:
    """The value that |t| exceeds with probability `alpha`, elementwise over degrees of freedom.

    It uses special functions, as below, because `scipy.stats.t` takes a hundred times as long for a single value.
    """
    from scipy.special import stdtrit

    return -stdtrit(df, alpha / 2)  # type: ignore[return-value]  # a scalar of a scalar


def t_two_sided(t: float, df: float) -> PValue:
    """Two-sided p-value of a t statistic."""
    from scipy.special import stdtr

    return PValue.of(2 * float(stdtr(df, -abs(t))), lambda: log_t_two_sided(t, df))


def log_t_two_sided(t: float, df: float) -> float:
    """Natural logarithm of the two-sided tail of Student's t, which is I_x(df/2, 1/2) at x = df / (df + t^2).

    The regularised incomplete beta function as a power times a hypergeometric series (DLMF 8.17.8) does not underflow.
    """
    from scipy.special import betaln, hyp2f1

    a, b, x = df / 2, 0.5, df / (df + t * t)
    return float(a * math.log(x) + b * math.log1p(-x) - math.log(a) - betaln(a, b) + np.log(hyp2f1(a + b, 1, a + 1, x)))


def _table(cells: PairedCells) -> list[list[int]]:
    """Arrange the cells as statsmodels expects: first arm in rows, second in columns."""
    return [[cells.both, cells.only_first], [cells.only_second, cells.neither]]


def _varying_values(differences: Sequence[float]) -> np.ndarray | None:
    """Return the differences as an array, or None where their standard deviation is undefined or rounding error."""
    values = np.asarray(differences, dtype=float)
    if len(values) < MIN_PAIRS or np.ptp(values) <= SPREAD_FLOOR * np.abs(values).max():
        return None
    return values
