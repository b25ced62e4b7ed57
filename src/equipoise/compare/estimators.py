"""Estimators of the change of a figure between two revisions, HEAD minus BASE, paired by the items they share.

Each estimator takes the values of the shared items in both revisions, in the same order, and returns a `Moved`; what is
undefined is None. Since items are paired, the spread between them is not part of the error. `clusters` names the
cluster of each item, such as the story that pairs of vignettes share; by default each item is its own.

The change of a ratio is tested by `swap_test`: if the revisions do not differ, each item's two rows are exchangeable.
The p-value is the share of all swaps whose change is at least as large as the observed one; where there are too many
swaps, it draws from them. For a share of items it is the exact McNemar test. Items of one cluster are swapped together.
The change is divided by its standard error (linearised), since a ratio may keep its value while its denominator grows
tenfold: then the swapped changes spread less than the real one, and without that division the test would reject too
often. Studentised, it is exact where items are exchangeable, and of the right size in large samples where only the two
ratios are equal.
Source: Janssen (1997), Statistics & Probability Letters 36:9-21, for studentised permutation; Konietschke & Pauly
(2014), Statistics and Computing 24:283-296, for matched pairs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.figures.aggregates import contrast, mean
from equipoise.materials.pairs import SHIFT_DECIMALS
from equipoise.stats import groups, paired, proportions
from equipoise.stats.bootstrap import cluster_bootstrap
from equipoise.stats.clusters import clustered_mean, effective_size, sign_flip
from equipoise.stats.quantities import Interval, PairedCells, PValue, ratio

Array = NDArray[np.float64]

NOISE = 1e-12
"""Differences, changes and variances below this are rounding."""
TIE = 1e-9
"""Statistics closer than this, relatively, are equal: sums of floats depend on their order."""


class Moved(NamedTuple):
    """A figure under both revisions, over the items they share, and its change with interval and two-sided test."""

    base: float | None
    head: float | None
    change: float | None
    interval: Interval | None = None
    p: PValue | None = None


def mean_change(
    base: Sequence[float], head: Sequence[float], alpha: float, clusters: Sequence[str] | None = None
) -> Moved:
    """Change of a mean over items: t interval and paired t test, with the cluster-robust error CR2.

    Where every item moved by the same amount, t is undefined, and Wilcoxon's test with the signs of clusters is used
    instead. Without any movement there is no test.
    """
    # Rounded beyond the six places of the data files, so that rounding noise does not count as a change.
    moves = [round(after - before, SHIFT_DECIMALS) for before, after in zip(base, head, strict=True)]
    names = _names(len(moves), clusters)
    robust = clustered_mean(moves, names)
    if robust is not None:
        return Moved(mean(base), mean(head), mean(moves), robust.interval(alpha), robust.test())
    p = sign_flip(paired.signed_ranks(moves), names) if paired.wilcoxon(moves) else None
    return Moved(mean(base), mean(head), mean(moves), p=p)


def share_change(
    base: Sequence[bool], head: Sequence[bool], alpha: float, clusters: Sequence[str] | None = None
) -> Moved:
    """Change of a share of items: Newcombe's paired interval and the exact McNemar test.

    For clustered items the interval uses their effective number, and the test the signs of clusters.
    """
    cells, names = PairedCells.count(zip(head, base, strict=True)), _names(len(base), clusters)
    moves = [int(after) - int(before) for before, after in zip(base, head, strict=True)]
    interval = proportions.paired_difference(cells, alpha, effective_size(moves, names, alpha))
    p = sign_flip(moves, names)
    return Moved(ratio(sum(base), cells.n), ratio(sum(head), cells.n), cells.difference, interval, p)


def ratio_change(
    base: Sequence[tuple[float, float]],
    head: Sequence[tuple[float, float]],
    *,
    rng: np.random.Generator,
    n_resamples: int,
    alpha: float,
    clusters: Sequence[str] | None = None,
) -> Moved:
    """Change of a ratio of two totals, from each item's (numerator, denominator).

    The interval is a bootstrap over clusters that draws both revisions of an item together; it is None where no
    resample could show another change, unlike `swap_test`. Interval and test may disagree: with few items in the
    denominator the interval is too narrow, and the test is to be preferred.
    """
    before, after = (_totals(rows, clusters) for rows in (base, head))
    strata = [np.hstack([before, after])]
    old, new = (ratio(rows[:, 0].sum(), rows[:, 1].sum()) for rows in (before, after))
    if old is None or new is None:
        return Moved(old, new, None)
    p = swap_test(before, after, rng=rng, n_resamples=n_resamples)
    # What each item adds to the change, linearised: where that is the same for all, resamples show no spread.
    shares = (after[:, 0] - new * after[:, 1]) / after[:, 1].sum()
    shares -= (before[:, 0] - old * before[:, 1]) / before[:, 1].sum()
    interval = None
    if np.ptp(shares) > NOISE:
        interval = cluster_bootstrap(strata, _difference_of_ratios, rng=rng, n_resamples=n_resamples, alpha=alpha)
    return Moved(float(old), float(new), float(new - old), interval, p)


def swap_test(base: Array, head: Array, *, rng: np.random.Generator, n_resamples: int) -> PValue | None:
    """Two-sided test that two ratios of totals are equal, from rows (items, 2) of numerators and denominators.

    Every swap counts where there are no more than `n_resamples`; otherwise that many are drawn, and the observed
    assignment is added to them, so that p is never 0. A swap that leaves a ratio undefined counts as one with a larger
    change. None where either ratio is undefined.
    """
    if base[:, 1].sum() == 0 or head[:, 1].sum() == 0:
        return None
    moved = np.flatnonzero((base != head).any(axis=1))
    sums = _products(base, head).sum(axis=0, keepdims=True)
    # The change of the sums when an item is swapped.
    steps = _products(head, base)[moved] - _products(base, head)[moved]
    seen = _statistic(sums)[0]
    exact = 2 ** len(moved) <= n_resamples
    if exact:
        swaps = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
    else:
        swaps = rng.integers(0, 2, size=(n_resamples, len(moved)), dtype=np.int8)
    statistics = _statistic(sums + swaps @ steps)
    count = int((np.isnan(statistics) | (statistics >= seen * (1 - TIE))).sum())
    p = count / len(swaps) if exact else (count + 1) / (len(swaps) + 1)
    return PValue.of(p, lambda: float(np.log(p)))


def contrast_change(
    base: Sequence[float], head: Sequence[float], clusters: Sequence[tuple[bool, str]], alpha: float
) -> Moved:
    """Change of the difference between two sets of clusters, each cluster counting once.

    `clusters` has, for each item, whether it belongs to the first set, and its cluster. A cluster's change is the mean
    of its items' changes. The changes of the two sets are independent samples, so that interval and test are Student's,
    as for the figure itself.
    """
    moves = [round(after - before, SHIFT_DECIMALS) for before, after in zip(base, head, strict=True)]
    (before, _), (after, _) = contrast(base, clusters), contrast(head, clusters)
    change, (first, second) = contrast(moves, clusters)
    interval, p = groups.student_interval(first, second, alpha), groups.student_t(first, second)
    return Moved(before, after, change, interval, p)


def _names(n: int, clusters: Sequence[str] | None) -> Sequence[str]:
    """Name the cluster of each of n items; without clusters, number the items."""
    return [str(number) for number in range(n)] if clusters is None else clusters


def _totals(rows: Sequence[tuple[float, float]], clusters: Sequence[str] | None) -> Array:
    """Add up numerators and denominators over clusters: an array (clusters, 2)."""
    values = np.asarray(rows, dtype=float).reshape(-1, 2)
    if clusters is None:
        return values
    _, place = np.unique(np.asarray(clusters), return_inverse=True)
    totals = np.zeros((int(place.max(initial=-1)) + 1, 2))
    np.add.at(totals, place, values)
    return totals


def _quotient(means: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Array = means[:, 0] / means[:, 1]
    # Something over nothing is undefined too, not infinite.
    return np.where(means[:, 1] == 0, np.nan, quotient)


def _difference_of_ratios(means: Sequence[Array]) -> Array:
    return _quotient(means[0][:, 2:]) - _quotient(means[0][:, :2])


def _products(base: Array, head: Array) -> Array:
    """List each item's values in both revisions and their products, (items, 14), on which the statistic depends."""
    (xb, yb), (xh, yh) = base.T, head.T
    columns = [xb, yb, xb * xb, xb * yb, yb * yb, xh, yh, xh * xh, xh * yh, yh * yh, xh * xb, xh * yb, yh * xb, yh * yb]
    return np.column_stack(columns)


def _statistic(sums: Array) -> Array:
    """Divide the absolute change by its standard error; NaN where a ratio is undefined."""
    xb, yb, xxb, xyb, yyb, xh, yh, xxh, xyh, yyh, xhxb, xhyb, yhxb, yhyb = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = np.where(yb == 0, np.nan, xb / yb), np.where(yh == 0, np.nan, xh / yh)
        # An item's share in the change is its residual in the numerator under head, divided by the total denominator,
        # minus that under base; the residuals add up to 0.
        spread_before = (xxb - 2 * before * xyb + before**2 * yyb) / yb**2
        spread_after = (xxh - 2 * after * xyh + after**2 * yyh) / yh**2
        together = (xhxb - before * xhyb - after * yhxb + before * after * yhyb) / (yh * yb)
        variance = spread_before + spread_after - 2 * together
        change = np.abs(after - before)
        statistic: Array = np.where(variance > NOISE, change / np.sqrt(variance), np.inf)
    statistic = np.where(change < NOISE, 0.0, statistic)
    return np.where(np.isnan(change), np.nan, statistic)
