"""Judgement of the change of one figure: whether bias grew by more than a margin, in all items and in each group.

**Limits.** *Not worse* of a mean takes two intervals that agree, Student's and that corrected for skewness
(`stats.clusters.Mean.skewed_interval`); *worse* takes the second one only where Student's limit is missed by more than
the nominal alpha / 2 of simulated samples, since the correction is far too wide where all but a few items move alike.
Other figures have one interval. A limit that more than alpha of the simulated samples miss, twice as many as
should, does not count: nothing is concluded from it. A sample without an interval misses nothing, since nothing is
concluded from it either.

**What no spread shows.** Where most items kept their value, the others say nothing about them: *not worse* then takes
as many clusters as exclude that a share of the margin's size changes unseen (`stats.proportions.unvaried_size`: 72
for 0.05), each by at most 1. A figure in nats has no such bound. Nor is any mean *not worse* by fewer than `FEWEST`
clusters: a change in a tenth of all leaves no trace in more than one such sample of twenty.

**Groups.** A group got worse if it did by intervals that hold for all groups of its family and all components
(`figures.effects.simultaneous_means`); a component with `within_groups` is *not worse* only if no group
that a verdict covers (`verdicts.is_covered`) is compatible with a change of more than that many margins.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from equipoise.compare.changes import estimate, reflected
from equipoise.compare.estimators import NOISE
from equipoise.core.display import signed, with_limits
from equipoise.figures.comparison import RunRows
from equipoise.figures.effects import POOLED, SIMULTANEOUS, Effect, Group, simultaneous_means
from equipoise.figures.figure import Figure
from equipoise.figures.options import Component, Direction, Measure
from equipoise.figures.result import UNDECIDED
from equipoise.figures.verdicts import NOT_WORSE, WORSE, ChangeWord, change_verdict, is_covered, title_of
from equipoise.materials.pairs import SHIFT_DECIMALS
from equipoise.stats.clusters import clustered_mean, simulated_misses
from equipoise.stats.proportions import unvaried_mean, unvaried_size
from equipoise.stats.quantities import Interval

FEWEST = unvaried_size(0.1, 0.1)
"""0.9^n is at most 0.05 from 29 on."""
ALL = Interval(-math.inf, math.inf)


class Shared(NamedTuple):
    """The values of the items that both revisions have, in one order, and their clusters."""

    base: Sequence[Any]
    head: Sequence[Any]
    clusters: Sequence[str]

    @classmethod
    def of(cls, before: Mapping[str, Any], after: Mapping[str, Any], clusters: Mapping[str, str]) -> "Shared":
        """Match values by the items' keys."""
        keys = sorted(before.keys() & after.keys())
        return cls(
            [before[key] for key in keys], [after[key] for key in keys], [clusters.get(key, key) for key in keys]
        )

    def reflected(self, figure: Figure, direction: Direction) -> "Shared":
        """Replace BASE's values so that the change is HEAD + BASE, or HEAD alone (`compare.changes.reflected`)."""
        return self._replace(base=[reflected(value, figure.null or 0.0, direction) for value in self.base])

    @property
    def moved(self) -> bool:
        """Whether any item has another value."""
        return any(before != after for before, after in zip(self.base, self.head, strict=True))

    @property
    def moves(self) -> list[float]:
        """How far each item moved, rounded beyond the places of the data files; for values that are numbers."""
        return [round(after - before, SHIFT_DECIMALS) for before, after in zip(self.base, self.head, strict=True)]


def judge_change(figure: Figure, shared: Shared, component: Component, options: Measure, joint: float) -> ChangeWord:
    """Judge a component: *worse* by limits of the level 1 - `joint`, *not worse* by those of the level of `options`."""
    other = shared.reflected(figure, component.direction)
    wanted: tuple[tuple[ChangeWord, float], ...] = ((WORSE, joint), (NOT_WORSE, options.alpha))
    for word, alpha in wanted:
        at_level = options.model_copy(update={"alpha": alpha})
        # Simulations, which take most of the time, only withdraw limits: the word must be there without them.
        for simulated in (False, True):
            change, total = (
                limits(figure, values, at_level, cautious=word == NOT_WORSE, simulated=simulated)
                for values in (shared, other)
            )
            if change_verdict(change, total, component.margin, component.direction) != word:
                break
        else:
            return word
    return UNDECIDED


def limits(
    figure: Figure, shared: Shared, options: Measure, *, cautious: bool = True, simulated: bool = True
) -> Interval:
    """Estimate the limits of a change that count; infinite where none does.

    They are `cautious` for *not worse*. Without simulations each is taken to be missed as often as it should be.
    """
    if figure.change != "mean":
        return estimate(figure, shared.base, shared.head, options, shared.clusters).interval or ALL
    moves, alpha = shared.moves, options.alpha
    robust = clustered_mean(moves, shared.clusters)
    if robust is None:
        unmoved = not any(moves) and not figure.in_nats
        return (unvaried_mean(0.0, len(set(shared.clusters)), (-1.0, 1.0), alpha) if unmoved else None) or ALL
    student, skewed = robust.interval(alpha), robust.skewed_interval(alpha)
    misses = simulated_misses(moves, shared.clusters, alpha) if simulated else None
    low, high = (0.0, 0.0) if misses is None else (misses.low, misses.high)
    return Interval(
        -_limit(-student.low, -skewed.low, low, alpha, cautious=cautious),
        _limit(student.high, skewed.high, high, alpha, cautious=cautious),
    )


def _limit(student: float, skewed: float, missed: float, alpha: float, *, cautious: bool) -> float:
    """Choose the upper limit that counts; `missed` is the share of simulated samples that miss Student's."""
    if missed > alpha:
        return math.inf
    return student if missed <= alpha / 2 and not cautious else max(student, skewed)


def unseen(figure: Figure, shared: Shared, margin: float, alpha: float) -> str:
    """Say why a mean may have changed unseen: in too few items, or in others than those that moved; else empty."""
    # The interval of other figures counts what did not change.
    if figure.change != "mean":
        return ""
    moves, n = shared.moves, len(set(shared.clusters))
    if n < FEWEST:
        return f"{n} stories or questions are too few to rule out a change in a tenth of all: {FEWEST} are needed"
    if 2 * sum(move != 0 for move in moves) >= len(moves):
        return ""
    kept = f"{sum(move == 0 for move in moves)} of {len(moves)} {figure.unit or 'items'} kept their value"
    if figure.in_nats:
        return f"{kept}, and no number of cases bounds a change in nats in other cases"
    needed = unvaried_size(margin, alpha)
    few = f"{n} stories or questions are too few to rule out a change of {margin:g} in other cases: {needed} are needed"
    return "" if n >= needed else f"{kept}, and {few}"


class Grouped(NamedTuple):
    """The groups of a component that got worse, those that are open, and those too small for a claim."""

    worse: list[str]
    open: list[str]
    uncovered: list[str]


def judge_groups(
    figure: Figure,
    component: Component,
    rows: tuple[RunRows[Any], RunRows[Any]],
    families: Sequence[str],
    *,
    alpha: float,
    share: float,
) -> Grouped:
    """Judge a component in each group of the families; `share` is the level of all groups of a family together.

    BASE says which group an item is in: one that HEAD has under another name, or without some of its items, is open.
    """
    grouped = Grouped([], [], [])
    for family in families if figure.change == "mean" else ():
        parts = [run.parts(family) for run in rows]
        for name in sorted(parts[0]):
            if moved := len((parts[0][name].keys() & rows[1].items.keys()) - parts[1].get(name, {}).keys()):
                grouped.open.append(
                    f"{title_of(family, name)} is open: HEAD has {moved} of its {figure.unit} in another group"
                )
        groups = {
            name: Shared.of(figure.values(parts[0][name]), figure.values(parts[1][name]), rows[0].clusters)
            for name in sorted(parts[0].keys() & parts[1].keys())
        }
        _judge_family(
            grouped,
            figure,
            component,
            family,
            {name: group for name, group in groups.items() if group.base},
            (alpha, share),
        )
    return grouped


def _judge_family(
    grouped: Grouped,
    figure: Figure,
    component: Component,
    family: str,
    groups: Mapping[str, Shared],
    levels: tuple[float, float],
) -> None:
    changes, totals = (
        {row.place: row for row in _means(figure, family, values, levels)}
        for values in (groups, {name: group.reflected(figure, component.direction) for name, group in groups.items()})
    )
    for name, shared in groups.items():
        title = title_of(family, name)
        place = f"{family}/{name}/{figure.measure}"
        jointly, alone = (_word(changes, totals, place + kind, bound) for kind, bound in _kinds(component, family))
        change = changes[place + POOLED]
        text = f"{title}: {figure.title} changed by {_with_limits(changes[place + SIMULTANEOUS])}"
        if jointly == WORSE:
            grouped.worse.append(text)
        elif jointly == "" and any(shared.moves):
            grouped.open.append(
                f"{title} is open: {figure.title} changed by {signed(change.estimate or 0.0)}, all alike"
            )
        elif not is_covered(change, component):
            grouped.uncovered.append(title)
        elif (bound := component.for_groups(family)) and alone not in (NOT_WORSE, ""):
            limits = f"{_with_limits(change)} against {bound.margin:g} for a group"
            grouped.open.append(f"{title} is open: {figure.title} changed by {limits}")


def _kinds(component: Component, family: str) -> Iterator[tuple[str, Component]]:
    """Yield the kinds of a group's interval with what each is held against."""
    yield SIMULTANEOUS, component
    yield POOLED, component.for_groups(family) or component


def _means(figure: Figure, family: str, groups: Mapping[str, Shared], levels: tuple[float, float]) -> Iterator[Effect]:
    alpha, share = levels
    moves = [
        (Group(family, name, figure.study), list(zip(shared.moves, shared.clusters, strict=True)))
        for name, shared in groups.items()
    ]
    yield from simultaneous_means(figure.measure, moves, share, alone=alpha, unequal=True)


def _word(changes: Mapping[str, Effect], totals: Mapping[str, Effect], place: str, component: Component) -> str:
    """Judge a group by its intervals; empty where there is none."""
    intervals = [_interval(table[place]) for table in (changes, totals)]
    if intervals[0] is None:
        return ""
    return change_verdict(intervals[0], intervals[1] or ALL, component.margin, component.direction)


def _interval(row: Effect) -> Interval | None:
    """The interval of a group; None where nothing but rounding varies."""
    interval = row.interval
    return None if interval is None or interval.high - interval.low <= NOISE else interval


def _with_limits(row: Effect) -> str:
    return with_limits(signed(row.estimate or 0.0), row.ci_low, row.ci_high)
