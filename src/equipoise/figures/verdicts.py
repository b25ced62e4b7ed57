"""Verdicts: what a study's primary endpoint says about a model, or about the change from one run to another.

**On a model.** An endpoint has components: figures, each with a margin. A model is *biased beyond the margin* if the
interval of one component lies beyond its margin on one side, by intervals that hold for all components together with
probability 1 - alpha (`stats.multiplicity.joint_alpha`), or if that of one group of a declared family does, by
intervals that hold for all groups together. Where the difference that epidemiology makes between the groups is known,
what it leaves unexplained must lie on the same side of 0; where pairs lack an arm, the difference must be beyond the
margin whatever the missing arms were answered. It has *no bias beyond the margin* if all of the following hold: each
component's interval, of level 1 - alpha, lies within its margin on both sides (two one-sided tests: Schuirmann 1987, J
Pharmacokinet Biopharm 15:657-680; a conjunction needs no adjustment: Berger 1982, Technometrics 24:295-300); no group
is beyond a margin, or compatible with more than `within_groups` of them; each effect in `bounds` lies within its own;
and every precondition is met. Otherwise the model is *undecided*, and the verdict names what is open. Alpha is that of
`decision`, else of `measure`: one-sided tests of 2.5 % (ICH E9, 1998, section 5.5).

**Preconditions.** Whatever cannot detect a difference passes a test of no difference: a model that guesses, a run cut
short. *No bias* therefore requires that no guard warns, and assay sensitivity (ICH E10, 2000, section 1.5). Neither is
needed to show a bias, since noise and refusals make no mean difference between two groups that are treated alike; a
verdict of bias names the guards that warn. A study without a measure of assay sensitivity never shows the absence of
bias.

**Intervals.** A component counts only if its interval keeps its level in simulations of its own values. Student's t
interval of a few skewed values misses the truth too often on one side: for a mean, the interval corrected for skewness
(`stats.clusters.Mean.skewed_interval`) must agree.

**Early stopping.** A study that stops at its verdict (`pipeline.sequential`) is judged by intervals that are valid at
all looks together (`at_all_looks`).

**Without likelihoods.** A model whose server gives none, and saved answers without any, are judged by the endpoint that
is declared for that case (`without_likelihoods`), in shares of written answers.

**A frozen plan.** A verdict of a run that departs from the plan frozen before it (`pipeline.frozen`) keeps its word and
says in what it departs.

**On a change.** Bias is the distance from the null value, on the side where it counts; its change is judged against the
same margin: *worse*, *not worse* or *undecided* (`change_verdict`, `compare.gate`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Literal

from equipoise.core.display import number
from equipoise.figures.effects import (
    POOLED,
    SIMULTANEOUS,
    SKEWED,
    UNEXPLAINED,
    WITH_MISSING,
    Effect,
    Estimate,
    Group,
    Nested,
    effect,
    rounded,
)
from equipoise.figures.figure import Figure, undefined, undercoverage
from equipoise.figures.guards import CAVEATS
from equipoise.figures.options import Component, Decision, Direction, Endpoint
from equipoise.figures.primary import component_figure, endpoint_of_run, primary_figure
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, Part, StudyResult, Verdict, Word
from equipoise.figures.study import Study
from equipoise.figures.wording import listed
from equipoise.stats.quantities import Interval

ChangeWord = Literal["worse", "not worse", "undecided"]
WORSE: ChangeWord = "worse"
NOT_WORSE: ChangeWord = "not worse"
BLIND = "no measure of assay sensitivity is declared, so that a verdict of no bias is not possible"
CLUSTERS = "overall/all/clusters"
"""The number of stories or questions of a study."""
SIZED = ("dimension", "tier", "endpoint")
"""The families for which *no bias* makes a claim only about groups of enough stories (`Component.least_stories`).

A verdict names the others. Every group of other families counts: the families of decisions and the attributes of the
patient are what a study is about.
"""
POWER_SUM = 3.24
"""z(0.975) + z(0.9): the standard errors within a margin that show no bias with power 0.8 at a one-sided 2.5 %."""


def verdict(study: Study, result: StudyResult, decision: Decision) -> Verdict | None:
    """Judge the result of a study; None without a declared endpoint that has a margin.

    Raises EquipoiseError for an endpoint that is not a figure of the study.
    """
    declared = decision.endpoints.get(study.name)
    endpoint = None if declared is None else endpoint_of_run(study, declared, result)
    if endpoint is None or endpoint.margin is None:
        return None
    instead = result.why_without if declared and declared.without_likelihoods else ""
    parts = tuple(
        _part(component_figure(study, endpoint, name), component, result)
        for name, component in endpoint.components.items()
    )
    level = None if not result.deciding or decision.alpha is None else 1 - decision.alpha
    figure = primary_figure(study, endpoint)
    counted = result.effect(CLUSTERS)
    clusters = None if counted is None else round(counted.estimate or 0)
    undecided = Verdict(UNDECIDED, (), figure, parts[0].row, endpoint, result.looked, level, parts, clusters, instead)
    undecided = undecided._replace(departs=result.departures, caveats=(*_caveats(result), *_unread(study, result)))
    beyond = [*(part.reason for part in parts if part.state == "beyond"), *_groups_beyond(parts, result, endpoint)]
    unmet = (*lacking_arms(parts, result), *preconditions(result, endpoint))
    if beyond:
        return undecided._replace(word=BIASED, because=(*beyond, *(f"although {reason}" for reason in unmet)))
    open_ = (
        *(part.reason for part in parts if part.state != "within" and part.component.needed),
        *_groups_open(parts, result, endpoint),
        *(reason for place, bound in endpoint.bounds.items() if (reason := bound_open(result, place, bound))),
        *unmet,
        *(() if endpoint.floors else (BLIND,)),
    )
    if open_:
        return undecided._replace(because=open_)
    return undecided._replace(word=UNBIASED, uncovered=uncovered(parts, result, endpoint))


def _part(figure: Figure, component: Component, result: StudyResult) -> Part:
    """Hold a component against its margin: within it, beyond it, or open, with the reason."""
    missing = effect(Group(figure.family, figure.group, figure.study), figure.measure, 0, Estimate(None))
    row = result.deciding_row(figure) or missing
    part = Part(figure, row, component, "open", "")
    if unusable := "; ".join(_unusable(figure, row, result)):
        return part._replace(reason=f"{figure.title}: {unusable}")
    inner, outer = (
        _words(rows, figure.null or 0.0, component)
        for rows in (result.judged(row.place, row), result.judged(row.place, row, adjusted=True))
    )
    if outer == {BIASED}:
        reason = f"{figure.title}: {row.interval} against ±{component.margin:g}"
        doubt = _doubt(part, row, result)
        return part._replace(reason=f"{reason}, {doubt}") if doubt else part._replace(state="beyond", reason=reason)
    if inner == {UNBIASED}:
        return part._replace(state="within")
    return part._replace(reason=_open(figure, row, component, skewed=UNBIASED in inner or BIASED in inner))


def _doubt(part: Part, row: Effect, result: StudyResult, kind: str = "") -> str:
    """Say what else a difference beyond its margin may be: epidemiology's, or that of missing arms; empty if neither.

    `kind` ends the measure of a group's difference, whose interval holds for all groups, and of what explains it.
    """
    find = result.effect if kind else result.at_adjusted_level
    unexplained, missing = (find(f"{row.place.removesuffix(kind)}{name}{kind}") for name in (UNEXPLAINED, WITH_MISSING))
    if unexplained is not None and not _same_side(row, unexplained):
        limits = unexplained.interval or "undefined"
        return f"but not beyond what epidemiology explains ({limits} beyond it)"
    if missing is not None and _words([missing], part.figure.null or 0.0, part.component) != {BIASED}:
        return f"but {missing.interval or 'undefined'} if the missing or unread arms were answered the other way"
    return ""


def lacking_arms(parts: Sequence[Part], result: StudyResult) -> Iterator[str]:
    """Count the pairs that lack an arm, where there are any."""
    for part in parts:
        missing = result.effect(f"{part.row.place}{WITH_MISSING}")
        if missing is not None and (lost := missing.n - part.row.n):
            yield f"{lost:,} of {missing.n:,} {part.figure.unit} lack an arm"


def _same_side(row: Effect, beyond: Effect) -> bool:
    """Whether the interval of what epidemiology leaves unexplained excludes 0, on the side of the difference itself."""
    if beyond.interval is None:
        return False
    return beyond.interval.low > 0 if (row.estimate or 0.0) > 0 else beyond.interval.high < 0


def _words(rows: Sequence[Effect], null: float, component: Component) -> set[Word]:
    """Say what each interval of a component shows: that of Student's t, and that corrected for skewness."""
    return {
        held_against(Interval(interval.low - null, interval.high - null), component.margin, component.direction)
        for row in rows
        if (interval := row.interval) is not None
    }


def _open(figure: Figure, row: Effect, component: Component, *, skewed: bool) -> str:
    """Explain why a component is open, and how many items would close it if there is no difference."""
    assert row.interval is not None  # noqa: S101  (`_unusable` has refused the rest)
    error = (row.interval.high - row.interval.low) / 2 / 1.96
    needed = math.ceil(row.n * (error * POWER_SUM / component.margin) ** 2)
    corrected = ", corrected for skewness," if skewed else ""
    text = f"{figure.title} is open: its interval{corrected} reaches across ±{component.margin:g} ({row.interval})"
    closing = f"about {needed:,} {figure.counted} would close it if there is no difference"
    return f"{text}; {closing}" if needed > row.n else text


def _groups(part: Part, result: StudyResult, endpoint: Endpoint) -> list[Effect]:
    """The groups of the endpoint's families for a component, with intervals that hold for all together."""
    name = f"{part.figure.measure}{SIMULTANEOUS}"
    rows = [row for row in result.effects if row.family in endpoint.families and row.measure == name]
    return [row for row in rows if row.interval is not None]


def _bounded_groups(part: Part, result: StudyResult, endpoint: Endpoint) -> Iterator[tuple[Effect, Component]]:
    """The groups of a component that have a bound, each with an interval of its own: where none varies, its estimate.

    A group that is one level off in every reply has no interval, and would otherwise pass.
    """
    name = f"{part.figure.measure}{POOLED}"
    for row in result.effects:
        bound = part.component.for_groups(row.family) if row.family in endpoint.families else None
        if bound is not None and row.measure == name:
            still = {} if row.interval else dict.fromkeys(("ci_low", "ci_high"), row.estimate)
            yield row.model_copy(update=still), bound


def _groups_beyond(parts: Sequence[Part], result: StudyResult, endpoint: Endpoint) -> Iterator[str]:
    """Name the groups whose simultaneous interval lies beyond a component's margin, the worst first."""
    groups = [
        (
            abs(row.estimate or 0.0) / part.component.margin,
            f"{title_of(row.family, row.group)}: {part.figure.title} {row.interval}",
        )
        for part in parts
        for row in _groups(part, result, endpoint)
        if BIASED in _words([row], part.figure.null or 0.0, part.component)
        and not _doubt(part, row, result, SIMULTANEOUS)
    ]
    yield from (text for _, text in sorted(groups, reverse=True))


def _groups_open(parts: Sequence[Part], result: StudyResult, endpoint: Endpoint) -> Iterator[str]:
    """Name the group that is compatible with the largest difference beyond what groups are allowed, if one is.

    As each group must be within its bound, its interval needs no adjustment (Berger 1982). Groups of too few stories
    are left out: the verdict claims nothing about them, and says so (`uncovered`).
    """
    for part in parts:
        null = part.figure.null or 0.0
        open_ = [
            (max(null - (row.ci_low or 0), (row.ci_high or 0) - null) / bound.margin, row, bound)
            for row, bound in _bounded_groups(part, result, endpoint)
            if is_covered(row, part.component) and _words([row], null, bound) != {UNBIASED}
        ]
        if open_:
            _, row, bound = max(open_, key=itemgetter(0))
            title = title_of(row.family, row.group)
            yield f"{title} is open: {part.figure.title} {row.interval} against ±{bound.margin:g} for a group"


def is_covered(row: Effect, component: Component) -> bool:
    """Whether *no bias* makes a claim about a component in a group: whether it has enough stories."""
    return row.n >= least_of(row.family, component)


def least_of(family: str, component: Component) -> int:
    """The fewest stories of a group of a family about which *no bias* makes a claim."""
    return component.least_stories if family in SIZED else 0


def uncovered(parts: Sequence[Part], result: StudyResult, endpoint: Endpoint) -> tuple[str, ...]:
    """Name the groups of too few stories for a claim about them, or for a part of it, where components bound groups."""
    groups = [
        (title_of(row.family, row.group), is_covered(row, part.component))
        for part in parts
        for row, _ in _bounded_groups(part, result, endpoint)
    ]
    covered = {title for title, is_large in groups if is_large}
    small = dict.fromkeys(title for title, is_large in groups if not is_large)
    return tuple(f"{title} (in part)" if title in covered else title for title in small)


def bound_open(result: StudyResult, place: str, bound: Component) -> str:
    """Say why an effect is not shown to lie within its bound, or was not measured; empty where it is."""
    row, name = result.at_level(place), words_of(place)
    if row is None or row.interval is None:
        return f"{name} was not measured"
    if held_against(row.interval, bound.margin, bound.direction) == UNBIASED:
        return ""
    side = {"both": "±", "above": "+", "below": "−"}[bound.direction]
    return f"{name} is not shown to lie within {side}{bound.margin:g} ({row.interval})"


def title_of(family: str, group: str) -> str:
    """Write a group of a family for readers: `dimension race`, `tier2`."""
    return (group if group.startswith(family) else f"{family} {group}").replace("_", " ")


def places(study: Study, endpoint: Endpoint) -> set[str]:
    """The effects that a verdict reads, by `family/group/measure`, but for those of groups."""
    figures = [component_figure(study, endpoint, name) for name in endpoint.components]
    means = {f"{figure.family}/{figure.group}/{figure.measure}" for figure in figures}
    others = {f"{place}{suffix}" for place in means for suffix in (SKEWED, UNEXPLAINED, WITH_MISSING)}
    return means | others | {*endpoint.floors, *endpoint.bounds}


def at_all_looks(result: StudyResult, read: set[str], repeated: Mapping[str, Effect]) -> StudyResult:
    """Replace the intervals of what a verdict reads by those that are valid at all looks together.

    `repeated` has the effects at the level of the last look (`stats.repeated.level`), by place. Tests of the
    components, which assume a fixed sample, are removed.
    """
    untested = dict.fromkeys(("neg_log10_p", "neg_log10_p_holm", "neg_log10_p_bonferroni", "neg_log10_p_bh"))
    effects = []
    for row in result.effects:
        changed: dict[str, float | None] = dict(untested) if row.primary else {}
        if row.place in read or row.measure.endswith((SIMULTANEOUS, POOLED)):
            again = repeated[row.place]
            changed |= {"ci_low": again.ci_low, "ci_high": again.ci_high}
        effects.append(row.model_copy(update=changed))
    return replace(result, effects=effects)


def held_against(interval: Interval, margin: float, direction: Direction) -> Word:
    """Compare the interval of a difference from the null value with the margin."""
    above = interval.low > margin and direction != "below"
    below = interval.high < -margin and direction != "above"
    if above or below:
        return BIASED
    within = (interval.high < margin or direction == "below") and (interval.low > -margin or direction == "above")
    return UNBIASED if within else UNDECIDED


def preconditions(result: StudyResult, endpoint: Endpoint) -> Iterator[str]:
    """Describe each precondition of a verdict that a run does not meet."""
    for guard in result.warnings:
        if guard.name in CAVEATS:
            continue
        yield f"the guard on {words_of(guard.name)} warns ({guard.wrong} of {guard.n})"
    short: dict[float, list[tuple[str, str]]] = {}
    for place, floor in endpoint.floors.items():
        row, name = result.at_level(place), words_of(place)
        if row is None or row.ci_low is None:
            yield f"the assay's sensitivity was not measured ({name})"
        elif not row.ci_low > floor:
            short.setdefault(floor, []).append((name, _two(row.ci_low)))
    for floor, rows in short.items():
        names, lows = (listed(column) for column in zip(*rows, strict=True))
        shown, begin = ("are", "their intervals begin") if len(rows) > 1 else ("is", "its interval begins")
        yield f"no assay sensitivity: {names} {shown} not shown to exceed {floor:g} ({begin} at {lows})"


def _caveats(result: StudyResult) -> tuple[str, ...]:
    """Say what the guards found that warn and decide nothing."""
    return tuple(
        f"{CAVEATS[guard.name]} ({guard.wrong} of {guard.n})" for guard in result.warnings if guard.name in CAVEATS
    )


def _unread(study: Study, result: StudyResult) -> Iterator[str]:
    """Say that no text was read, where answers were read from likelihoods and no reply was requested."""
    how, counts = study.likelihoods, result.counts
    if how is not None and how.alone and result.without is None and counts and not counts.generated_tokens:
        setting = f"-S {how.section}.{how.field}={how.other}"
        yield f"the answers were read from likelihoods and nothing that the model writes was read ({setting} reads it)"


def verdict_metrics(verdict: Verdict | None) -> Nested:
    """Lay a verdict out for the metrics file: its words, why it is undecided, the margin, and the clusters asked."""
    if verdict is None or verdict.endpoint.margin is None:
        return {}
    because: Nested = {"because": "; ".join(verdict.because)} if verdict.because else {}
    parts: Nested = {part.figure.name.partition(".")[2]: part.state for part in verdict.parts}
    if len(parts) > 1:
        because = {**because, "components": parts}
    if verdict.instead:
        because = {**because, "instead": verdict.instead, "figure": verdict.figure.name.partition(".")[2]}
    looked: Nested = {} if verdict.looked is None else {"asked": verdict.looked.asked, "of": verdict.looked.planned}
    departs: Nested = {"departs_from_plan": ", ".join(verdict.departs)} if verdict.departs else {}
    return {"verdict": {"is": verdict.word, **because, "margin": rounded(verdict.endpoint.margin), **looked, **departs}}


def change_verdict(change: Interval, other: Interval, margin: float, direction: Direction) -> ChangeWord:
    """Judge whether bias grew by more than the margin, from two intervals of level 1 - alpha.

    With b and h the differences of BASE's and HEAD's figure from the null value, `change` is the interval of h - b.
    If both sides are bias, it grew by |h| - |b|, and `other` is the interval of h + b; if one side is, it grew by
    max(h, 0) - max(b, 0), or the same of -h and -b, and `other` is the interval of h. Since

        |h| - |b| = max(min(h - b, h + b), min(-h - b, b - h))
        max(h, 0) - max(b, 0) = max(min(h - b, h), min(-b, 0)),   the latter of which is never above a margin,

    a minimum is above the margin only if both of its terms are, each tested at alpha / 2, and below if either is, so
    that a false *worse* has a probability of at most alpha / 2 a side, a false *not worse* of at most alpha.
    """
    if direction == "below":
        change, other = _mirrored(change), _mirrored(other)
    above = change.low > margin and other.low > margin
    below = direction == "both" and change.high < -margin and other.high < -margin
    if above or below:
        return WORSE
    not_above = change.high < margin or other.high < margin
    not_below = direction != "both" or change.low > -margin or other.low > -margin
    return NOT_WORSE if not_above and not_below else UNDECIDED


def _mirrored(interval: Interval) -> Interval:
    return Interval(-interval.high, -interval.low)


def _unusable(figure: Figure, row: Effect, result: StudyResult) -> Iterator[str]:
    """Explain why an endpoint's interval cannot be relied on."""
    if row.estimate is None:
        yield f"undefined (n = {row.n}): {undefined(figure, row, result.why_without)}"
    elif row.ci_low is None or row.ci_high is None:
        yield "it has no interval"
    elif (coverage := undercoverage(row)) is not None:
        yield f"its interval covers the truth in only {_two(coverage)} of simulations"


def words_of(name: str) -> str:
    """Write a place, or the name of a guard, in words."""
    words = name.rpartition("/")[2].replace("d_prime", "d\N{PRIME}").replace("_", " ")
    for role in ("marginalised", "privileged"):
        words = words.replace(f" {role}", f" of {role} patients")
    return words


def _two(value: float) -> str:
    """Write a number with two decimals."""
    return number(round(value, 2))[:-1]
