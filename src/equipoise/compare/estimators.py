"""Estimators of a change from one revision to another over the items that both have: HEAD less BASE, paired by item.

Every one takes what each shared item gave under either revision, in one order, and returns a `Moved`; undefined is
None. What is paired is the item: the spread between items, which both revisions share, is no part of the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.compare.swaps import swap_test
from equipoise.metrics.pairs import SHIFT_DECIMALS
from equipoise.stats import groups, paired, proportions
from equipoise.stats.bootstrap import cluster_bootstrap
from equipoise.stats.clusters import cluster_means
from equipoise.stats.quantities import Interval, PairedCells, PValue, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from equipoise.compare.figures import Kind

    Array = NDArray[np.float64]

NOISE = 1e-12
"""Differences below this are rounding: the figure is the same in every resample."""


class Moved(NamedTuple):
    """A figure under both revisions, over the items they share, and its change with interval and two-sided test."""

    base: float | None
    head: float | None
    change: float | None
    interval: Interval | None = None
    p: PValue | None = None


def mean_change(base: Sequence[float], head: Sequence[float], alpha: float) -> Moved:
    """Change of a mean over items: t interval and paired t test.

    Where every item moved alike, t is undefined; the test is then Wilcoxon's, so that a change that is the same for all
    is not one without a test. Where nothing moved, there is none.
    """
    # Rounded beyond the six places of the data files, so that rounding noise is no change.
    moves = [round(after - before, SHIFT_DECIMALS) for before, after in zip(base, head, strict=True)]
    interval, p = paired.mean_interval(moves, alpha), paired.paired_t(moves) or paired.wilcoxon(moves)
    return Moved(_mean(base), _mean(head), _mean(moves), interval, p)


def share_change(base: Sequence[bool], head: Sequence[bool], alpha: float) -> Moved:
    """Change of a share of items: Newcombe's paired interval and the exact McNemar test."""
    cells = PairedCells.count(zip(head, base, strict=True))
    interval, p = proportions.paired_difference(cells, alpha), paired.mcnemar_exact(cells)
    return Moved(ratio(sum(base), cells.n), ratio(sum(head), cells.n), cells.difference, interval, p)


def ratio_change(
    base: Sequence[tuple[float, float]],
    head: Sequence[tuple[float, float]],
    *,
    rng: np.random.Generator,
    n_resamples: int,
    alpha: float,
) -> Moved:
    """Change of a ratio of two totals, whose denominator may change too; an item gives (above, below).

    The interval is a bootstrap over items, both revisions of an item drawn together; it is left out where no resample
    could show another change. The test is `swap_test`, which is defined there as well. The two are no inverse of each
    other: with few items below the line the bootstrap's interval is too narrow, and the test is the one to go by.
    """
    before, after = (np.asarray(rows, dtype=float).reshape(-1, 2) for rows in (base, head))
    strata = [np.hstack([before, after])]
    one, other = (ratio(rows[:, 0].sum(), rows[:, 1].sum()) for rows in (before, after))
    if one is None or other is None:
        return Moved(one, other, None)
    p = swap_test(before, after, rng=rng, n_resamples=n_resamples)
    # What each item adds to the change, linearised: where that is the same for all, resamples show no spread.
    shares = (after[:, 0] - other * after[:, 1]) / after[:, 1].sum()
    shares -= (before[:, 0] - one * before[:, 1]) / before[:, 1].sum()
    interval = None
    if np.ptp(shares) > NOISE:
        interval = cluster_bootstrap(strata, _difference_of_ratios, rng=rng, n_resamples=n_resamples, alpha=alpha)
    return Moved(float(one), float(other), float(other - one), interval, p)


def contrast_change(
    base: Sequence[float],
    head: Sequence[float],
    clusters: Sequence[tuple[bool, str]],
    alpha: float,
) -> Moved:
    """Change of the difference between two sets of clusters, each cluster counting once.

    `clusters` says of each item whether it is of the first set, and names its cluster. A cluster's change is the mean
    of its items' changes, paired within it; the two sets' changes are independent samples: Student's t of the
    difference, as of the figure itself.
    """
    moves = [round(after - before, SHIFT_DECIMALS) for before, after in zip(base, head, strict=True)]
    (before, _), (after, _) = _contrast(base, clusters), _contrast(head, clusters)
    change, (first, second) = _contrast(moves, clusters)
    interval, p = groups.student_interval(first, second, alpha), groups.student_t(first, second)
    return Moved(before, after, change, interval, p)


def level(kind: Kind, values: Sequence[Any]) -> float | None:
    """Give a figure over all items of one revision, from what each gives (`figures.Value`)."""
    match kind:
        case "mean" | "share":
            return _mean(values)
        case "ratio":
            return ratio(sum(row[0] for row in values), sum(row[1] for row in values))
        case "contrast":
            return _contrast([row[0] for row in values], [(first, name) for _, first, name in values])[0]


def _contrast(
    values: Sequence[float], clusters: Sequence[tuple[bool, str]]
) -> tuple[float | None, tuple[list[float], list[float]]]:
    """Give the mean of the first set's clusters less that of the second's, and both sets' means by cluster."""
    sets = []
    for wanted in (True, False):
        chosen = [(value, name) for value, (first, name) in zip(values, clusters, strict=True) if first == wanted]
        sets.append(cluster_means([value for value, _ in chosen], [name for _, name in chosen]))
    one, other = _mean(sets[0]), _mean(sets[1])
    return None if one is None or other is None else one - other, (sets[0], sets[1])


def _quotient(means: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Array = means[:, 0] / means[:, 1]
    # Something over nothing is undefined too, not infinite.
    return np.where(means[:, 1] == 0, np.nan, quotient)


def _difference_of_ratios(means: Sequence[Array]) -> Array:
    return _quotient(means[0][:, 2:]) - _quotient(means[0][:, :2])


def _mean(values: Sequence[float]) -> float | None:
    return ratio(sum(values), len(values))
