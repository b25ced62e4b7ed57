"""Changes in the size of a bias that may have another direction in each group.

A mean over all observations hides biases of opposite signs. With the mean a_k of group k and its share w_k of the
observations, the size of a bias by group is sum_k w_k |a_k|, which is the largest of sum_k w_k s_k a_k over all signs
s, and at least |sum_k w_k a_k|. Hence the size of `after` is smaller than that of `before` if, for every s,

    sum_k w_k s_k after_k < t sum_k w_k before_k,    t the sign of the mean of before.

Each is a clustered mean (CR2, Satterthwaite, as in `clusters`), and all must be shown: an intersection-union test,
whose size is at most that of each test of one s. It cannot show a fall where the means of `before` cancel, nor a rise
where those of `after` do. With one group the two signs give `clusters.magnitude_change`.
Source: Berger (1982), Technometrics 24:295-300, for the test.
"""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from equipoise.stats.clusters import Array, Change, degrees_of_freedom
from equipoise.stats.paired import MIN_PAIRS, SPREAD_FLOOR, t_quantile, t_two_sided
from equipoise.stats.quantities import Interval, PValue

MOST = 14
"""Most groups: their signs are tried in 2^14 ways. The smallest ones beyond that count as one."""
OTHERS = "others"


class _Fall(NamedTuple):
    """How far a size falls: the upper limit of its change, and the p-value of a fall; 1 if there is none."""

    most: float
    p: PValue


def size_change(
    before: Sequence[float],
    after: Sequence[float],
    groups: Sequence[str],
    clusters: Sequence[str],
    alpha: float = 0.05,
    null: float = 0.0,
) -> Change:
    """Change in the size of a bias by group, sum_k w_k (|after_k| - |before_k|), of the same clustered observations.

    The upper limit of the interval is the largest of the t intervals over all signs; the lower one is that of the
    reverse change. p is that of a change by `null`, which the interval excludes where p is below alpha. Without two
    clusters, and where one of the means does not vary, there is neither interval nor p.
    """
    (numbers, n_groups), (places, n_clusters) = _numbered(_largest(groups)), _numbered(clusters)
    shares = np.bincount(places, minlength=n_clusters) / len(places)
    first, second = (np.zeros((n_clusters, n_groups)) for _ in range(2))
    for part, values in ((first, before), (second, after)):
        np.add.at(part, (places, numbers), np.asarray(values) / len(places))
    value = float(np.abs(second.sum(axis=0)).sum() - np.abs(first.sum(axis=0)).sum())
    if n_clusters < MIN_PAIRS:
        return Change(value)
    falls, rises = _fall(first, second, shares, alpha, null), _fall(second, first, shares, alpha, -null)
    if falls is None or rises is None:
        return Change(value)
    return Change(value, Interval(-rises.most, falls.most), falls.p if value < null else rises.p)


def _fall(before: Array, after: Array, shares: Array, alpha: float, null: float) -> _Fall | None:
    """Test whether the size of `after` is below that of `before` plus `null`, from what clusters and groups add."""
    signs = np.array([*product((1.0, -1.0), repeat=after.shape[1])])
    towards = math.copysign(1.0, float(before.sum()))
    sums = signs @ after.T - towards * before.sum(axis=1)
    means = sums.sum(axis=1)
    errors = np.sqrt(((sums - np.outer(means, shares)) ** 2 / (1 - shares)).sum(axis=1))
    if (errors <= SPREAD_FLOOR * (np.abs(before).max() + np.abs(after).max())).any():
        return None
    df = float(degrees_of_freedom(shares))
    worst = float(((means - null) / errors).max())
    most = float((means + float(t_quantile(alpha, df)) * errors).max())
    return _Fall(most, t_two_sided(worst, df) if worst < 0 else PValue(1.0, 0.0))


def _largest(groups: Sequence[str]) -> list[str]:
    """Name the group of each observation, the smallest ones together where there are more than `MOST`."""
    sizes = Counter(groups)
    kept = {name for name, _ in sizes.most_common(MOST if len(sizes) <= MOST else MOST - 1)}
    return [name if name in kept else OTHERS for name in groups]


def _numbered(names: Sequence[str]) -> tuple[np.ndarray, int]:
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names]), len(known)
