"""Effects: one row per figure, with its interval, its p-value and its family."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple, TypeAlias

from equipoise.core.jsonl import DECIMALS
from equipoise.core.keys import grouped
from equipoise.core.row import Row, Text
from equipoise.figures.options import Measure
from equipoise.figures.silence import STORIES
from equipoise.stats import paired, power, proportions
from equipoise.stats.clusters import Mean, effective_size, sign_flip, simulated_coverage
from equipoise.stats.clusters import clustered_mean as robust_mean
from equipoise.stats.misclassification import ErrorCounts, rogan_gladen, rogan_gladen_interval
from equipoise.stats.multiplicity import Method, adjust
from equipoise.stats.paired import t_quantile
from equipoise.stats.quantities import Interval, PairedCells, PValue, ratio

Nested: TypeAlias = "dict[str, Nested | float | int | str]"
"""Finite scalars under stable names: what a metrics file holds."""

SKEWED = "_skewed"
"""Ends the name of a mean whose interval is corrected for skewness (`skewed_mean`)."""
UNEXPLAINED = "_unexplained"
"""Ends the name of a difference beyond that which epidemiology makes between the groups."""
WITH_MISSING = "_with_missing"
"""Ends the name of a difference in which each missing or unread arm has the answer that speaks most against it."""
POOLED = "_alone"
"""Ends the name of the same mean with an interval for the group alone, whose variance is that of all groups."""
SIMULTANEOUS = "_simultaneous"
"""Ends the name of a group's mean whose interval holds for all groups of its family together (`simultaneous_means`)."""
TESTED_TOGETHER = ("dimension", "tier", "combination", "treatment")
"""The declared families: in each, a measure's tests over all groups. A single overall test needs no adjustment."""


class Effect(Row):
    """One estimate with its uncertainty: the input of metrics, plots and the report.

    The key is `<study>/<family>/<group>/<measure>`. `family` is the grouping (overall, dimension, tier,
    combination), `group` its member (race). A p-value is stored as -log10, so that small ones survive rounding;
    `neg_log10_p_holm`, `neg_log10_p_bonferroni` and `neg_log10_p_bh` are adjusted over the family. An undefined
    estimate is None, with its `n`. `primary` marks the study's primary endpoint (`figures.primary`).
    `coverage` is that of the interval, where it was simulated at the figure's own values.
    """

    family: Text
    group: Text
    measure: Text
    n: int
    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    neg_log10_p: float | None = None
    neg_log10_p_holm: float | None = None
    neg_log10_p_bonferroni: float | None = None
    neg_log10_p_bh: float | None = None
    primary: bool = False
    coverage: float | None = None

    @property
    def place(self) -> str:
        """The key without its study."""
        return self.key.partition("/")[2]

    @property
    def interval(self) -> Interval | None:
        """The confidence interval; None where it has none."""
        return None if self.ci_low is None or self.ci_high is None else Interval(self.ci_low, self.ci_high)


class Group(NamedTuple):
    """A member of a family: the pairs that a figure covers."""

    family: str
    name: str
    study: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its uncertainty; None where undefined.

    `coverage` is that of the interval, simulated at the figure's own values (`clusters.simulated_coverage`).
    """

    value: float | None
    interval: Interval | None = None
    p: PValue | None = None
    coverage: float | None = None


def effect(group: Group, measure: str, n: int, estimate: Estimate) -> Effect:
    """Build one effect; undefined and infinite values become None."""
    interval, p = estimate.interval, estimate.p
    return Effect(
        key=f"{group.study}/{group.family}/{group.name}/{measure}",
        study=group.study,
        family=group.family,
        group=group.name,
        measure=measure,
        n=n,
        estimate=_finite(estimate.value),
        ci_low=None if interval is None else _finite(interval.low),
        ci_high=None if interval is None else _finite(interval.high),
        neg_log10_p=None if p is None else p.neg_log10,
        coverage=estimate.coverage,
    )


def rate(
    group: Group, measure: str, answers: Iterable[bool], alpha: float, clusters: Sequence[str] | None = None
) -> Effect:
    """Build the effect of a proportion, with its Wilson interval; `clusters` names the cluster of each answer."""
    outcomes = list(answers)
    share, n = ratio(sum(outcomes), len(outcomes)), len(outcomes)
    size = n if clusters is None else effective_size(outcomes, clusters, alpha)
    interval = None if share is None else proportions.wilson(share * size, size, alpha)
    return effect(group, measure, n, Estimate(share, interval))


def stories_among(group: Group, measure: str, stories: Sequence[str]) -> Effect:
    """Build the effect that counts the stories among the answers of a silent bias rate, on which its verdict rests."""
    counted = float(len({*stories})) if stories else None
    return effect(group, f"{measure}{STORIES}", len(stories), Estimate(counted))


def count_stories(row: Effect, effects: Iterable[Effect]) -> int:
    """Count the stories among the answers of a silent bias rate; its answers where the study counts no stories."""
    key = f"{row.key}{STORIES}"
    counted = next((other.estimate for other in effects if other.key == key), None)
    return row.n if counted is None else round(counted)


def tested_mean(values: Sequence[float], alpha: float) -> Estimate:
    """Estimate the mean of differences, with Student's t interval and the t test that it is 0."""
    mean = sum(values) / len(values) if values else None
    return Estimate(mean, paired.mean_interval(values, alpha), paired.paired_t(values))


def bounded_mean(values: Sequence[float], bound: float, alpha: float) -> Estimate:
    """Estimate the mean of differences that lie within ±bound, as `tested_mean` where they vary.

    Where they do not, the interval is that of `proportions.unvaried_mean`, and p is 1 if all are 0, as for a paired
    difference without discordant pairs.
    """
    estimate = tested_mean(values, alpha)
    if estimate.value is None or estimate.interval is not None:
        alone = [str(place) for place in range(len(values))]
        return replace(estimate, coverage=simulated_coverage(values, alone, alpha))
    interval = proportions.unvaried_mean(estimate.value, len(values), (-bound, bound), alpha)
    return Estimate(estimate.value, interval, None if any(values) else PValue(1.0, 0.0))


def detectable_mean(group: Group, measure: str, values: Sequence[float], options: Measure) -> Effect:
    """Build the effect of the smallest true mean that the t test of `measure` detects with the wanted power."""
    smallest = power.minimum_detectable_shift(
        paired.standard_deviation(values), len(values), alpha=options.alpha, power=options.power
    )
    return effect(group, f"{measure}_minimum_detectable_effect", len(values), Estimate(smallest))


def clustered_mean(values: Sequence[float], mean: Mean | None, alpha: float) -> Estimate:
    """Estimate the mean of clustered differences; `mean` has its error, None where interval and test are undefined."""
    value = ratio(sum(values), len(values))
    return Estimate(value) if mean is None else Estimate(value, mean.interval(alpha), mean.test())


def detectable_clustered_mean(group: Group, measure: str, n: int, mean: Mean | None, options: Measure) -> Effect:
    """Build the effect of the smallest true mean that the test of clustered differences detects."""
    smallest = None
    if mean is not None:
        spread = mean.standard_error * math.sqrt(mean.df + 1)
        smallest = power.minimum_detectable_shift(spread, mean.df + 1, alpha=options.alpha, power=options.power)
    return effect(group, f"{measure}_minimum_detectable_effect", n, Estimate(smallest))


def mean_shift(
    group: Group,
    measure: str,
    pairs: Sequence[tuple[float | None, str]],
    options: Measure,
    *,
    sparse: bool = False,
) -> Iterator[Effect]:
    """Estimate the mean of the pairs' shifts that are defined, and the mean that its test detects.

    `pairs` has each shift with its story, its cluster. The interval's coverage is simulated. `sparse` shifts are within
    ±1 and mostly 0, as those between levels that replies name; their interval is that of `_spanned`.
    """
    defined = [(shift, story) for shift, story in pairs if shift is not None]
    shifts, stories = [shift for shift, _ in defined], [story for _, story in defined]
    mean = robust_mean(shifts, stories)
    estimate = clustered_mean(shifts, mean, options.alpha)
    if sparse:
        estimate = _spanned(estimate, shifts, stories, options.alpha)
    else:
        estimate = replace(estimate, coverage=simulated_coverage(shifts, stories, options.alpha))
    yield effect(group, measure, len(shifts), estimate)
    yield from skewed_mean(group, measure, shifts, stories, options.alpha)
    yield detectable_clustered_mean(group, measure, len(shifts), mean, options)


def _spanned(estimate: Estimate, values: Sequence[float], clusters: Sequence[str], alpha: float) -> Estimate:
    """Widen the interval of a mean of values within ±1 of which most may be 0.

    It spans Student's, which is too narrow where few values differ from 0, and that of the mean of the positive ones
    minus that of the negative ones (MOVER). Both are means of values within 0 and 1, which vary at most as much as
    proportions do: their limits are Wilson's at the effective number of values.
    """
    size = effective_size(values, clusters, alpha)
    counts = (size * fmean([max(0.0, sign * value) for value in values] or [0.0]) for sign in (1, -1))
    spread = proportions.weighted_shares(
        [(sign, count, size) for sign, count in zip((1, -1), counts, strict=True)], alpha
    )
    if spread is None:
        return estimate
    own = estimate.interval or spread.interval
    return replace(estimate, interval=Interval(min(own.low, spread.low), max(own.high, spread.high)))


def skewed_mean(
    group: Group, measure: str, values: Sequence[float], clusters: Sequence[str] | None, alpha: float
) -> Iterator[Effect]:
    """Estimate a mean over all pairs or questions with its interval corrected for skewness, which a verdict reads too.

    Without `clusters` each value is a cluster. A part of the study has no such estimate, nor has a mean without an
    error.
    """
    mean = robust_mean(values, clusters or [str(place) for place in range(len(values))])
    if mean is not None and group.family == "overall":
        yield effect(group, f"{measure}{SKEWED}", len(values), Estimate(mean.value, mean.skewed_interval(alpha)))


def simultaneous_means(
    measure: str,
    groups: Sequence[tuple[Group, Sequence[tuple[float | None, str]]]],
    alpha: float,
    *,
    alone: float,
    unequal: bool = False,
    expected: Sequence[Sequence[float]] | None = None,
) -> Iterator[Effect]:
    """Estimate the means of a family's groups with intervals that hold for all of them together, and for each `alone`.

    Each group has its values with their stories. The values of a story in a group are averaged; the variance
    between stories is pooled over the groups, so that one of three stories is not judged by three values alone, and
    each interval has the level 1 - alpha / number of groups (Bonferroni), that of a group alone 1 - `alone`. Where
    groups may be `unequal` in variance, the pooled one is too small for some: a group that varies more has its own.
    `expected` has the variance of each value up to a factor, where it is known to differ, for the values of every
    group: the factor is what is pooled. Without two stories more than groups, or where nothing varies, there are no
    intervals. Source: Miller (1981), Simultaneous Statistical Inference, section 2.1.
    """
    known = expected or [[1.0] * len(rows) for _, rows in groups]
    means = [
        (group, stories)
        for (group, rows), variances in zip(groups, known, strict=True)
        if (stories := _story_means(rows, variances))
    ]
    centres = [fmean(value for value, _ in stories) for _, stories in means]
    squares = [
        (value - centre) ** 2 / variance
        for (_, stories), centre in zip(means, centres, strict=True)
        for value, variance in stories
    ]
    df = len(squares) - len(means)
    factor = sum(squares) / df if df > 1 else 0.0
    for (group, stories), centre in zip(means, centres, strict=True):
        pooled = math.sqrt(factor * fmean(variance for _, variance in stories))
        own = paired.standard_deviation([value for value, _ in stories]) or 0.0
        spread = max(pooled, own) if unequal else pooled
        for name, level in ((SIMULTANEOUS, alpha / len(means)), (POOLED, alone)):
            interval = None
            if pooled:
                reach = float(t_quantile(level, df)) * spread / math.sqrt(len(stories))
                interval = Interval(centre - reach, centre + reach)
            yield effect(group, f"{measure}{name}", len(stories), Estimate(centre, interval))


def _story_means(rows: Sequence[tuple[float | None, str]], variances: Sequence[float]) -> list[tuple[float, float]]:
    """Average the values of each story, and give the variance that is expected of the mean of as many values."""
    weighed = zip(rows, variances, strict=True)
    stories = grouped((story, (value, variance)) for (value, story), variance in weighed if value is not None)
    return [(fmean(value for value, _ in own), fmean(variance for _, variance in own)) for own in stories.values()]


def location(values: Sequence[float], clusters: Sequence[str] | None = None) -> Estimate:
    """Estimate the pseudomedian of differences, with Wilcoxon's signed-rank test, which keeps clusters together."""
    p = paired.wilcoxon(values)
    if p is not None and clusters is not None:
        p = sign_flip(paired.signed_ranks(values), clusters)
    return Estimate(paired.pseudomedian(values), p=p)


def paired_gap(cells: PairedCells, alpha: float) -> Estimate:
    """Estimate the difference of two paired proportions, with its interval and McNemar's mid-p test."""
    return Estimate(cells.difference, proportions.paired_difference(cells, alpha), paired.mcnemar_mid_p(cells))


def clustered_gap(outcomes: Sequence[tuple[bool, bool]], clusters: Sequence[str], alpha: float) -> Estimate:
    """Estimate the difference of two paired proportions of clustered pairs.

    The interval is Newcombe's at the effective number of pairs, the test the mid-p one by changes of sign of clusters:
    where each pair is a cluster, those of `paired_gap`.
    """
    cells, moves = PairedCells.count(outcomes), differences(outcomes)
    interval = proportions.paired_difference(cells, alpha, effective_size(moves, clusters, alpha))
    return Estimate(cells.difference, interval, sign_flip(moves, clusters, mid_p=True))


def differences(outcomes: Sequence[tuple[bool, bool]]) -> list[int]:
    """Give the difference of each pair's outcomes, first minus second: -1, 0 or 1."""
    return [int(first) - int(second) for first, second in outcomes]


def detectable_gap(group: Group, cells: PairedCells, options: Measure, size: float | None = None) -> Effect:
    """Build the effect of the smallest true gap that the test detects, at the discordance that was observed.

    `size` is the effective number of pairs, where they are clustered.
    """
    discordance = cells.discordant / cells.n if cells.n else 0.0
    n = cells.n if size is None else math.floor(size)
    smallest = power.minimum_detectable_gap(n, discordance, alpha=options.alpha, power=options.power)
    return effect(group, "gap_minimum_detectable_effect", cells.n, Estimate(smallest))


def corrected_rate(
    group: Group,
    measure: str,
    answers: Iterable[bool],
    errors: ErrorCounts,
    alpha: float,
    *,
    clusters: Sequence[str] | None = None,
) -> Effect:
    """Build the effect of a proportion corrected for misclassification with the measured error rates."""
    outcomes = list(answers)
    count, n = sum(outcomes), len(outcomes)
    size = n if clusters is None else effective_size(outcomes, clusters, alpha)
    interval = rogan_gladen_interval(count / n * size, size, errors, alpha) if n else None
    return effect(group, measure, n, Estimate(rogan_gladen(count, n, errors), interval))


def with_adjusted(effects: Sequence[Effect], families: Collection[str] = TESTED_TOGETHER) -> list[Effect]:
    """Fill in the p-values adjusted over each declared family: Holm, Bonferroni and Benjamini-Hochberg."""
    methods: dict[str, Method] = {"holm": "holm", "bonferroni": "bonferroni", "bh": "fdr_bh"}
    adjusted = {name: adjusted_by_family(effects, method, families) for name, method in methods.items()}
    return [
        row.model_copy(update={f"neg_log10_p_{name}": by_key.get(row.key) for name, by_key in adjusted.items()})
        for row in effects
    ]


def adjusted_by_family(
    effects: Sequence[Effect], method: Method, families: Collection[str] = TESTED_TOGETHER
) -> dict[str, float]:
    """Return -log10 of the adjusted p-value by effect key, for every test of a declared family."""
    tests = grouped(
        ((row.family, row.measure), (row.key, 10**-row.neg_log10_p))
        for row in effects
        if row.neg_log10_p is not None and row.family in families
    )
    return {
        key: max(0.0, -math.log10(p))
        for members in tests.values()
        for (key, _), p in zip(members, adjust([p for _, p in members], method), strict=True)
        if p is not None
    }


def count_adjusted(row: Effect, effects: Iterable[Effect]) -> int:
    """Count the tests over which the p-value of an effect is adjusted: those of its measure in its family's groups."""
    place = (row.study, row.family, row.measure)
    return sum(
        (candidate.study, candidate.family, candidate.measure) == place and candidate.neg_log10_p_holm is not None
        for candidate in effects
    )


def rounded(value: float) -> float:
    """Round as data files do; adding 0.0 turns -0.0 into 0.0."""
    return round(value, DECIMALS) + 0.0


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
