"""Aggregates: figures computed from the values of their items."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.figures.comparison import RunRows
from equipoise.figures.effects import Effect, Estimate, Group, clustered_mean, effect, rate
from equipoise.figures.figure import Figure, Kind, Value
from equipoise.stats import clusters, groups
from equipoise.stats.quantities import ratio


def level(kind: Kind | None, values: Sequence[Any]) -> float | None:
    """Compute a figure from the values of all items of one run; None where it is undefined."""
    match kind:
        case "mean" | "share":
            return mean(values)
        case "ratio":
            return ratio(sum(row[0] for row in values), sum(row[1] for row in values))
        case "contrast":
            return contrast([row[0] for row in values], [(first, name) for _, first, name in values])[0]
        case None:
            return None


def contrast(
    values: Sequence[float], named: Sequence[tuple[bool, str]]
) -> tuple[float | None, tuple[list[float], list[float]]]:
    """Subtract the mean of the second set's clusters from that of the first; also give both sets' means by cluster.

    `named` has, for each value, whether it belongs to the first set, and its cluster.
    """
    sets = []
    for wanted in (True, False):
        chosen = [(value, name) for value, (first, name) in zip(values, named, strict=True) if first == wanted]
        sets.append(clusters.cluster_means([value for value, _ in chosen], [name for _, name in chosen]))
    means = [mean(values) for values in sets]
    return None if means[0] is None or means[1] is None else means[0] - means[1], (sets[0], sets[1])


def mean(values: Sequence[float]) -> float | None:
    """Average values; None without any."""
    return ratio(sum(values), len(values))


def item_values(figures: Iterable[Figure], rows: RunRows[Any] | None) -> dict[str, dict[str, Value]]:
    """Compute the value of each item for each figure, by the figure's name; figures without items are left out."""
    if rows is None:
        return {}
    values = {each.name: each.values(rows.items) for figure in figures for each in figure.expanded(rows)}
    return {name: by_item for name, by_item in values.items() if by_item}


def by_cluster(tables: Sequence[Mapping[str, Value]], clusters: Mapping[str, str]) -> NDArray[np.float64]:
    """Average the values of several figures by cluster: (clusters, figures), NaN where a figure has none.

    An item without a cluster is one. Values are numbers, as those of means and shares are.
    """
    sums: dict[str, list[list[float]]] = {}
    for place, table in enumerate(tables):
        for key, value in table.items():
            rows = sums.setdefault(clusters.get(key, key), [[] for _ in tables])
            rows[place].append(float(value))  # type: ignore[arg-type]  # not the tuples of ratios and contrasts
    means = [[sum(row) / len(row) if row else np.nan for row in rows] for rows in sums.values()]
    return np.array(means).reshape(len(sums), len(tables))


def remaining(figures: Iterable[Figure], effects: Sequence[Effect]) -> list[Figure]:
    """List the figures with items that a study has not estimated."""
    return [figure for figure in figures if figure.change and not any(map(figure.covers, effects))]


def item_effects(figures: Iterable[Figure], rows: RunRows[Any], alpha: float) -> Iterator[Effect]:
    """Estimate figures from the values of their items; figures without items are left out."""
    for figure in (each for declared in figures for each in declared.expanded(rows)):
        if values := figure.values(rows.items):
            yield _estimated(figure, values, [rows.clusters.get(key, key) for key in values], alpha)


def _estimated(figure: Figure, by_item: Mapping[str, Any], names: Sequence[str], alpha: float) -> Effect:
    """Estimate a figure with the interval of its kind; `names` are the items' clusters."""
    group, values = Group(figure.family, figure.group, figure.study), list(by_item.values())
    estimate = Estimate(level(figure.change, values))
    if figure.change == "share":
        return rate(group, figure.measure, values, alpha, names)
    if figure.change == "mean":
        estimate = clustered_mean(values, clusters.clustered_mean(values, names), alpha)
    elif figure.change == "ratio":
        robust = clusters.ratio_of_means([row[0] for row in values], [row[1] for row in values], names, alpha)
        estimate = Estimate(estimate.value, None if robust is None else robust.interval)
    else:
        first, second = contrast([row[0] for row in values], [row[1:] for row in values])[1]
        interval = groups.student_interval(first, second, alpha)
        estimate = Estimate(estimate.value, interval, groups.student_t(first, second))
    return effect(group, figure.measure, len(values), estimate)
