"""What *no bias* needs of a study, part by part: the probability of each part at a size of the study.

A verdict of *no bias* is a conjunction (`figures.verdicts`): of components within their margins, of groups within
theirs, of bounds and of floors. The plan is for a model without any bias that is otherwise like that of the run: each
mean varies as in the run around no difference, a bound whose interval excludes no difference is where it was, and what
shows that the cases can be told apart is as large as in the run. Where most items of the run showed no difference, the
others were few, and their variance says little about a run in which fewer or none do: such a share needs as many
clusters as exclude it if none shows a difference (`stats.proportions.unvaried_size`). A part that the run did not
measure cannot be planned, and one that no number of cases changes is named as such.

The probability of the whole is taken as the product of the parts' probabilities. Estimates around no difference lie
within symmetric margins together at least as often, however they are correlated (the Gaussian correlation inequality:
Royen 2014, Far East J Theor Stat 48:139-145), so that the plan does not promise too much.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, TypeAlias

from equipoise.core.display import number
from equipoise.figures.aggregates import item_values
from equipoise.figures.comparison import RunRows
from equipoise.figures.effects import POOLED, SIMULTANEOUS, Effect
from equipoise.figures.figure import Figure
from equipoise.figures.options import Component, Direction, Endpoint, Measure
from equipoise.figures.plan import Spread, spread_of, spread_of_interval
from equipoise.figures.primary import component_figure
from equipoise.figures.result import BIASED, StudyResult
from equipoise.figures.size import Size
from equipoise.figures.study import Study
from equipoise.figures.verdicts import BLIND, CLUSTERS, held_against, is_covered, least_of, words_of
from equipoise.stats.equivalence import equivalence_power, fewest_clusters
from equipoise.stats.paired import t_quantile
from equipoise.stats.proportions import unvaried_size

Spreads = Mapping[str, Spread | None]
"""The spread of the figures of a run by their names, from the values of their items; None where these do not vary."""


def spreads_of(study: Study, rows: RunRows[Any] | None) -> Spreads:
    """Take the spread of each figure with a null value from the items of a run; empty without its rows."""
    if rows is None:
        return {}
    values, nulls = (
        item_values(study.figures, rows),
        {figure.name for figure in study.figures if figure.null is not None},
    )
    return {name: spread_of(table, rows.clusters or None) for name, table in values.items() if name in nulls}


@dataclass(frozen=True, slots=True)
class MeanPart:
    """A mean that has to lie within a margin; `side` is the size of each one-sided test.

    `share` is the share of the study's clusters that the figure covers, `truth` the mean for which the part is planned,
    `fewest` the clusters of the figure that it needs whatever its spread.
    """

    title: str
    margin: str
    spread: Spread
    component: Component
    side: float
    share: float = 1.0
    truth: float = 0.0
    fewest: int = 2

    def power(self, size: Size) -> float:
        """Give the probability that two one-sided tests show no difference beyond the margin."""
        spread, clusters = self.spread, size.clusters * self.share
        if clusters < self.fewest:
            return 0.0
        sampled = spread.sampled / (size.samples if spread.sampled else 1)
        variance = spread.between + (spread.within + sampled) / max(1.0, size.per_cluster)
        return equivalence_power(
            self.component.margin,
            math.sqrt(variance / clusters),
            clusters - 1,
            self.side,
            truth=self.truth,
            one_sided=self.component.direction != "both",
        )


@dataclass(frozen=True, slots=True)
class StillPart:
    """A difference that did not vary in the run: `reach` from no difference, with the run's `clusters`.

    Exact intervals of what does not vary shrink with the number of clusters (3.7 / n of n zeros).
    """

    title: str
    margin: str
    reach: float
    clusters: int
    component: Component

    def power(self, size: Size) -> float:
        """Say whether the interval is within the margin, if again nothing varies: 1 or 0."""
        return float(self.reach * self.clusters / size.clusters < self.component.margin)


@dataclass(frozen=True, slots=True)
class GroupsPart:
    """Groups of a family, each of which has to lie within a margin by an interval of its own.

    `deviation` is the standard deviation of a story's value within its group (`figures.effects.simultaneous_means`).
    Groups of fewer stories than `least` do not count; one of fewer than `fewest` cannot lie within the bound.
    """

    title: str
    margin: str
    family: str
    bound: float
    deviation: float
    alpha: float
    least: int = 0
    fewest: int = 2

    def power(self, size: Size) -> float:
        """Bound the probability that every group lies within the margin from below: the product over the groups.

        Given the pooled deviation the groups are independent, and all depend on it in the same direction.
        """
        every = [count for count in size.groups.get(self.family, {}).values() if count]
        df, groups = sum(every) - len(every), [count for count in every if count >= self.least]
        if not groups:
            return 1.0
        if min(groups) < self.fewest:
            return 0.0
        side = self.alpha / 2
        powers = (
            equivalence_power(self.bound, self.deviation / math.sqrt(count), df, side) ** times
            for count, times in sorted(Counter(groups).items())
        )
        return math.prod(powers)


@dataclass(frozen=True, slots=True)
class FloorPart:
    """Assay sensitivity: an estimate whose lower limit has to exceed a floor; `error` is that of the run's clusters."""

    title: str
    margin: str
    above: float
    error: float
    clusters: int
    side: float

    def power(self, size: Size) -> float:
        """Give the probability that the lower limit exceeds the floor, if the run's estimate is right."""
        from scipy.stats import norm

        if not self.error:
            return float(self.above > 0)
        error = self.error * math.sqrt(self.clusters / size.clusters)
        return float(norm.sf(norm.isf(self.side) - self.above / error))


Part: TypeAlias = MeanPart | StillPart | GroupsPart | FloorPart
"""A part of what *no bias* needs: its title and what it is held against, for readers, and its power at a size."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The parts that a size of the study decides, what the run did not measure, and what no number of cases changes."""

    parts: tuple[Part, ...]
    unmeasured: tuple[str, ...]
    unchanging: tuple[str, ...]

    def power(self, size: Size) -> float:
        """Bound the probability of *no bias* from below, for a model without bias that meets what no size changes."""
        return math.prod(part.power(size) for part in self.parts)

    def enough(self, size: Size, wanted: float) -> bool:
        """Whether the whole has the wanted power; parts after one that is already too small are not computed."""
        power = 1.0
        for part in self.parts:
            power *= part.power(size)
            if power < wanted:
                return False
        return True


def needs(
    study: Study, endpoint: Endpoint, result: StudyResult, options: Measure, spreads: Spreads | None = None
) -> Needs:
    """List what *no bias* needs of a study, from the result of a run; `options` have the level of its decisions.

    `spreads` are from the values of the run's items, where these are at hand; else the errors are those of the
    intervals.
    """
    taken = _Taken(study, endpoint, result, options, spreads or {})
    parts = [*taken.components(), *taken.groups(), *taken.bounds(), *taken.floors()]
    guards = (f"the guard on {words_of(guard.name)} warns ({guard.wrong} of {guard.n})" for guard in result.warnings)
    return Needs(
        tuple(part for part in parts if not isinstance(part, str | _Unchanging)),
        tuple(part for part in parts if isinstance(part, str)),
        (
            *(part.why for part in parts if isinstance(part, _Unchanging)),
            *guards,
            *(() if endpoint.floors else (BLIND,)),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Unchanging:
    """Why no number of cases would meet a part, for a model like that of the run."""

    why: str


@dataclass(frozen=True, slots=True)
class _Taken:
    """A run, from which the parts are taken: a text stands for what it did not measure."""

    study: Study
    endpoint: Endpoint
    result: StudyResult
    options: Measure
    spreads: Spreads

    @property
    def clusters(self) -> int:
        """The clusters of the run."""
        read = (spread.clusters for spread in self.spreads.values() if spread is not None)
        return (
            clusters_of(self.result) or max(read, default=0) or max((row.n for row in self.result.effects), default=0)
        )

    def components(self) -> Iterator[Part | _Unchanging | str]:
        """The components that *no bias* needs."""
        for name, component in self.endpoint.components.items():
            if component.needed:
                figure = component_figure(self.study, self.endpoint, name)
                row = self.result.deciding_row(figure)
                yield self.mean(figure.title, row, component, figure)

    def mean(
        self, title: str, row: Effect | None, component: Component, figure: Figure | None
    ) -> Part | _Unchanging | str:
        """The part of a difference that has to lie within a margin."""
        margin, name = margin_words(figure, component), "" if figure is None else figure.name
        spread = self.spreads.get(name)
        if spread is None:
            if row is None or row.estimate is None or row.interval is None:
                return title
            null = 0.0 if figure is None or figure.null is None else figure.null
            if name in self.spreads or row.estimate == null:
                reach = max(row.interval.high - null, null - row.interval.low)
                return StillPart(title, margin, reach, self.clusters, component)
            reach = (row.interval.high - row.interval.low) / 2
            spread = spread_of_interval(row.n, min(row.n, self.clusters), reach, self.options.alpha)
        share = min(1.0, spread.clusters / self.clusters)
        fewest = self.fewest(figure, component)
        return MeanPart(title, margin, spread, component, self.options.alpha / 2, share, fewest=fewest)

    def fewest(self, figure: Figure | None, component: Component) -> int:
        """Count the clusters that a figure needs whatever its spread: a variance needs two, a rare difference more.

        A figure in nats has no largest value, so that no number of items without a difference bounds its mean.
        """
        spread = None if figure is None else self.spreads.get(figure.name)
        if figure is None or spread is None or figure.in_nats or 2 * spread.moved >= 1 or component.margin >= 1:
            return 2
        return unvaried_size(component.margin, self.options.alpha)

    def groups(self) -> Iterator[Part | _Unchanging | str]:
        """The groups of the declared families, for components that say how far a group may be from no difference."""
        for name, component in self.endpoint.components.items():
            figure = component_figure(self.study, self.endpoint, name)
            for family in self.endpoint.families:
                bound = component.for_groups(family)
                if bound and (part := self.of_family(family, figure, bound)):
                    yield part

    def of_family(self, family: str, figure: Figure, bound: Component) -> Part | str:
        """The part of one family with its groups' bound; their pooled deviation follows from the intervals' width.

        Empty where the component has no groups in the family (a cue gap has no dimensions), or nothing varies in them.
        """
        ours = [row for row in self.result.effects if row.family == family]
        rows = [row for row in ours if row.measure == f"{figure.measure}{POOLED}"]
        if not rows:
            return ""
        title = f"every {family.replace('_', ' ')}: {figure.title}"
        # Few stories of an end-point, which has a variance of its own, make its interval wider than the plan's.
        planned = [row for row in rows if is_covered(row, bound)] or rows
        widths = [
            (row.n, (interval.high - interval.low) / 2) for row in planned if (interval := row.interval) is not None
        ]
        df = sum(row.n for row in rows) - len(rows)
        if df < 2:  # noqa: PLR2004  (as for the intervals)
            return title
        if not widths:
            return ""
        # Where a group that varies more than others has an interval of its own, all are planned with the mean variance.
        reach = math.sqrt(fmean(count * width**2 for count, width in widths))
        quantile = float(t_quantile(self.options.alpha, df))
        deviation, alpha = reach / quantile, self.options.alpha
        least, fewest = least_of(family, bound), self.fewest(figure, bound)
        return GroupsPart(title, margin_words(figure, bound), family, bound.margin, deviation, alpha, least, fewest)

    def bounds(self) -> Iterator[Part | _Unchanging | str]:
        """The effects that have to lie within a margin of their own."""
        for place, component in self.endpoint.bounds.items():
            row, name = self.result.at_level(place), words_of(place)
            interval = None if row is None else row.interval
            if interval and held_against(interval, component.margin, component.direction) == BIASED:
                yield _Unchanging(f"{name} lies beyond {component.margin:g} ({interval})")
                continue
            figure = next(
                (candidate for candidate in self.study.figures if row is not None and candidate.covers(row)), None
            )
            part = self.mean(name, row, component, figure)
            # Unlike a bias, a bound may be a property of the model that stays: a base rate, say.
            if isinstance(part, MeanPart) and row is not None and interval and not interval.low <= 0 <= interval.high:
                part = replace(part, truth=_towards(row.estimate or 0.0, component.direction))
            yield part

    def floors(self) -> Iterator[Part | _Unchanging | str]:
        """Assay sensitivity, which more cases show only for a model that has it."""
        for place, floor in self.endpoint.floors.items():
            row, name = self.result.at_level(place), words_of(place)
            if row is None or row.estimate is None or row.ci_low is None:
                yield name
            elif row.estimate <= floor:
                yield _Unchanging(f"no assay sensitivity: {name} is {number(row.estimate)}, not above {floor:g}")
            else:
                from scipy.stats import norm

                side = self.options.alpha / 2
                error = (row.estimate - row.ci_low) / float(norm.isf(side))
                yield FloorPart(name, f"above {floor:g}", row.estimate - floor, error, self.clusters, side)


def _towards(estimate: float, direction: Direction) -> float:
    """Turn a difference so that the side on which it counts is above; below 0 there, it is planned as none."""
    return estimate if direction == "both" else max(0.0, -estimate if direction == "below" else estimate)


def clusters_of(result: StudyResult) -> int | None:
    """Count the clusters of a run; None where it does not count them."""
    counted = result.effect(CLUSTERS)
    return None if counted is None or not counted.estimate else round(counted.estimate)


def margin_words(figure: Figure | None, component: Component) -> str:
    """Write a margin with its meaning in patients, where the figure has one: `±0.1 (10 of 100 patients)`."""
    sign = {"both": "±", "above": "+", "below": "\N{MINUS SIGN}"}[component.direction]
    told = "" if figure is None else figure.amount(component.margin)
    return f"{sign}{component.margin:g}{f' ({told})' if told else ''}"


def size_of(result: StudyResult, spread: Spread) -> Size:
    """The size of a run, from its groups and the spread of a figure that covers all of its items."""
    groups: dict[str, dict[str, int]] = {}
    for row in result.effects:
        if row.measure.endswith(SIMULTANEOUS):
            groups.setdefault(row.family, {})[row.group] = row.n
    return Size(spread.clusters, spread.items, spread.samples, groups)


def size_of_run(result: StudyResult, row: Effect) -> Size:
    """The size of a run whose items are those of one of its effects."""
    clusters = clusters_of(result) or row.n
    return size_of(result, Spread(row.n, max(1, clusters), 0.0, 1.0, 0.0, 0.0, 0.0, 1))


def planned_size(needed: Needs, power: float, sizes: Sequence[Size]) -> Size:
    """Choose the first of some sizes that is enough; the one with the most power if none is."""
    return next((size for size in sizes if needed.enough(size, power)), None) or max(sizes, key=needed.power)


def scaled(size: Size, clusters: int, per_cluster: float = 1.0, samples: int = 1) -> Size:
    """A size with so many clusters, spread evenly over the groups that another size has."""
    groups = {}
    for family, counted in size.groups.items():
        each = sum(counted.values()) / size.clusters * clusters / max(1, len(counted))
        groups[family] = dict.fromkeys(counted, math.floor(each))
    return Size(clusters, math.ceil(clusters * per_cluster), samples, groups)


def smallest(enough: Callable[[Size], bool], make: Callable[[int], Size]) -> Size | None:
    """Find the smallest size that is enough, where a larger one is too; None if none is."""
    clusters = fewest_clusters(lambda count: enough(make(count)))
    return None if clusters is None else make(clusters)
