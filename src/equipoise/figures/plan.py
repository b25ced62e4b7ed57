"""Plans: how many cases a verdict needs, from the variance components of an earlier run, and what they cost.

A component of a study's endpoint is a mean over items (pairs or questions), clustered by clinical story, or the
difference between two sets of conditions; what else a verdict needs is in `figures.needed`. With variances between
clusters and within them, and clusters of m items, the mean of G clusters has the variance (between + within / m) / G.
Where replies are sampled s times, the variance within is that between items plus that between samples over s. The plan
is for a model without any bias: the number of clusters with which two one-sided tests show that with the declared power
(`equipoise.stats.equivalence`).
The components of a small run are themselves uncertain, and so is its plan.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, variance
from typing import Any, NamedTuple

from equipoise.core.keys import number_of, unnumbered
from equipoise.figures.options import Component
from equipoise.stats.clusters import cluster_means, clustered_mean, variance_components
from equipoise.stats.equivalence import clusters_needed, supported_margin
from equipoise.stats.paired import t_quantile


class Spread(NamedTuple):
    """An endpoint in an earlier run: its items and clusters, its error, and its variance components.

    `between` is the variance between clusters, `within` that between the items of one, `sampled` that between the
    samples of an item (0 where there is one). `standard_error` and `df` are those of the run's own estimate. `moved` is
    the share of the items whose value is not 0, where the values are known.
    """

    items: int
    clusters: int
    standard_error: float
    df: float
    between: float
    within: float
    sampled: float
    samples: int
    moved: float = 1.0


class Need(NamedTuple):
    """A design that reaches the declared power: clusters of `size` items each, replied to `samples` times."""

    clusters: int
    size: float
    samples: int

    @property
    def items(self) -> int:
        """The number of items."""
        return math.ceil(self.clusters * self.size)


class Plan(NamedTuple):
    """The plan of one component: the margin that the run's cases support, and designs for the declared margin."""

    spread: Spread
    supported: float
    needs: tuple[Need, ...]


def plan(spread: Spread, component: Component, *, alpha: float, power: float) -> Plan:
    """Plan a component; `alpha` is 1 - the level of the intervals, half of it the size of each one-sided test.

    Raises EquipoiseError for a margin that no number of cases could reach.
    """
    side, one_sided = alpha / 2, component.direction != "both"
    sizes = dict.fromkeys((1.0, round(spread.items / spread.clusters, 2)))
    counts = dict.fromkeys((1, spread.samples, 4 * spread.samples)) if spread.sampled else (spread.samples,)
    needs = [
        Need(
            clusters_needed(
                component.margin,
                spread.between,
                spread.within + spread.sampled / samples,
                size,
                alpha=side,
                power=power,
                one_sided=one_sided,
            ),
            size,
            samples,
        )
        for size in sizes
        for samples in counts
    ]
    supported = supported_margin(spread.standard_error, spread.df, side, power, one_sided=one_sided)
    return Plan(spread, supported, tuple(needs))


def spread_of(values: Mapping[str, Any], clusters: Mapping[str, str] | None) -> Spread | None:
    """Decompose the variance of an endpoint; `values` are by item key, as in `compare.items`.

    Keys that differ only in the number of the sample belong to one item; all items have the same number of samples. A
    contrast's values are (value, set, cluster). None if there are too few items, or if they do not vary.
    """
    if not values:
        return None
    if isinstance(next(iter(values.values())), tuple):
        return _contrast(list(values.values()))
    items: dict[str, list[float]] = {}
    stories: dict[str, str] = {}
    for key, value in values.items():
        items.setdefault(unnumbered(key), []).append(float(value))
        stories[unnumbered(key)] = clusters[key] if clusters else key
    # Samples are averaged first, so that the variance between items is that of their means.
    means, names = [fmean(samples) for samples in items.values()], [stories[item] for item in items]
    mean, whole = clustered_mean(means, names), variance_components(means, names)
    if mean is None or whole is None:
        return None
    samples = 1 + max(map(number_of, values))
    sampled = fmean(map(variance, items.values())) if samples > 1 else 0.0
    return Spread(
        items=len(items),
        clusters=len(set(names)),
        standard_error=mean.standard_error,
        df=mean.df,
        between=whole.between,
        within=max(0.0, whole.within - sampled / samples),
        sampled=sampled,
        samples=samples,
        moved=fmean(value != 0 for value in means),
    )


def spread_of_interval(n: int, clusters: int, reach: float, alpha: float) -> Spread:
    """Take the spread of a mean of `n` items from its interval of level 1 - alpha, which reaches so far to each side.

    All variance then counts as that between clusters, since an interval does not tell it apart.
    """
    df = max(1, clusters - 1)
    error = reach / float(t_quantile(alpha, df))
    return Spread(n, clusters, error, df, error**2 * clusters, 0.0, 0.0, 1)


def _contrast(rows: Sequence[tuple[float, bool, str]]) -> Spread | None:
    """Treat the difference between two sets as a mean of G clusters, with the variance 2 (s1^2 + s2^2) / G."""
    sets = [
        cluster_means([value for value, first, _ in rows if first == wanted], [n for _, f, n in rows if f == wanted])
        for wanted in (True, False)
    ]
    components = [variance_components(means, [str(place) for place in range(len(means))]) for means in sets]
    if None in components:
        return None
    squares = [part.between for part in components if part is not None]
    sizes = list(map(len, sets))
    df = sum(sizes) - 2
    pooled = sum((n - 1) * square for n, square in zip(sizes, squares, strict=True)) / df
    if pooled == 0:
        return None
    error = math.sqrt(pooled * (1 / sizes[0] + 1 / sizes[1]))
    return Spread(sum(sizes), sum(sizes), error, df, 2 * sum(squares), 0.0, 0.0, 1)
