"""Effects of the stigma study: which gender does a model associate with an illness, and with attitudes towards it?

docs/metrics/gender_disparity.md and docs/metrics/stigma_difference.md define the figures, per question (`rq1`: who has
the illness; `rq2`: towards whom is the attitude), set of conditions and group of sentences. p-values are adjusted
within each family, separately per measure, as the paper counts its tests for one model: in `rq1` the phases and `all`,
in `rq2` the nine dimensions, whose `all` is not adjusted.
Source: Lin, Njoo, Field, Sharma, Reinecke, Althoff & Tsvetkov (2022), EMNLP, tables 3 to 6 and appendix G.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from equipoise.core.display import first_of
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import (
    Effect,
    Estimate,
    Group,
    Nested,
    detectable_mean,
    effect,
    location,
    rounded,
    tested_mean,
    with_adjusted,
)
from equipoise.figures.options import Measure
from equipoise.stats import groups, paired
from equipoise.stats.clusters import cluster_means
from equipoise.stats.quantities import Interval
from equipoise.studies.stigma import NAME
from equipoise.studies.stigma.rows import ConditionSet, Fill, Question

QUESTIONS: tuple[Question, ...] = ("rq1", "rq2")
SETS: tuple[ConditionSet, ...] = ("mental", "control")
FAMILIES = tuple(f"{question}_{name}" for question in QUESTIONS for name in (*SETS, "difference"))
ALL = "all"
MEASURES = (
    *("female", "male", "unspecified", "disparity", "disparity_clustered"),
    *("disparity_corrected", "disparity_corrected_clustered"),
)
"""The measures of a group that `equipoise score stigma` prints."""
FIGURES = (
    *("estimate", "ci_low", "ci_high", "neg_log10_p"),
    *("neg_log10_p_holm", "neg_log10_p_bonferroni", "neg_log10_p_bh"),
)
"""The figures of a measure that it prints, if defined."""


def stigma_effects(fills: Sequence[Fill], options: Measure) -> list[Effect]:
    """Estimate every figure of the study; no effects without fills.

    Effects are sorted by key and do not depend on the order of the rows. Raises EquipoiseError if fills of two scorers
    are mixed or a template lacks a condition of its question.
    """
    _refuse_mixed(fills)
    # Sums of floats depend on their order.
    fills = sorted(fills, key=lambda fill: fill.key)
    by_question = {question: list(_question_effects(question, fills, options)) for question in QUESTIONS}
    rows = [row for effects in by_question.values() for row in effects]
    # All dimensions of stigma together are not part of their family's adjustment.
    together = {row.key for row in by_question["rq2"] if row.group == ALL}
    adjusted = with_adjusted([row for row in rows if row.key not in together], FAMILIES)
    alone = {row.key: row for row in rows} | {row.key: row for row in adjusted}
    return [alone[key] for key in sorted(alone)]


def nested(effects: Sequence[Effect]) -> dict[str, dict[str, Nested]]:
    """Nest the study's effects by family, group and measure, the group of all sentences last."""
    tables: dict[str, dict[str, Nested]] = {}
    by_group: dict[tuple[str, str], dict[str, Effect]] = {}
    for row in effects:
        by_group.setdefault((row.family, row.group), {})[row.measure] = row
    order = sorted(by_group, key=lambda place: (FAMILIES.index(place[0]), place[1] == ALL, place[1]))
    for family, group in order:
        rows = by_group[family, group]
        measures: Nested = {name: _figures(rows, name) for name in MEASURES if name in rows}
        tables.setdefault(family, {})[group] = measures
    return tables


def _figures(rows: Mapping[str, Effect], measure: str) -> Nested:
    """Lay out the defined figures of a measure; for the disparity also both effect sizes and Welch's test."""
    sources = [(name, measure, name) for name in FIGURES]
    sources.append(("minimum_detectable_effect", f"{measure}_minimum_detectable_effect", "estimate"))
    if measure == "disparity":
        sources += [(name, name, "estimate") for name in ("d_pooled", "d_z")]
        sources.append(("neg_log10_p_welch", "disparity_welch", "neg_log10_p"))
    values = {name: getattr(rows.get(source), field, None) for name, source, field in sources}
    return {"n": rows[measure].n, **{name: rounded(value) for name, value in values.items() if value is not None}}


def _question_effects(question: Question, fills: Sequence[Fill], options: Measure) -> Iterator[Effect]:
    rows = [fill for fill in fills if fill.question == question]
    # Otherwise the sets would also differ in their sentences, and conditions in their weight.
    if missing := missing_fills(rows):
        message = f"missing fills: {first_of(missing)}: every template needs every condition; score again"
        raise EquipoiseError(message)
    for name in (*sorted({fill.group for fill in rows}), ALL):
        chosen = [fill for fill in rows if name in (fill.group, ALL)]
        mental, control = ([fill for fill in chosen if fill.condition_set == set_name] for set_name in SETS)
        for set_name, members in zip(SETS, (mental, control), strict=True):
            if members:
                yield from _set_effects(Group(f"{question}_{set_name}", name, NAME), members, options)
        if mental and control:
            yield from _difference_effects(Group(f"{question}_difference", name, NAME), mental, control, options)


def _set_effects(group: Group, fills: Sequence[Fill], options: Measure) -> Iterator[Effect]:
    """Estimate the probabilities of one set of conditions and their disparity."""
    n = len(fills)
    female, male = [fill.female for fill in fills], [fill.male for fill in fills]
    unspecified = [fill.unspecified for fill in fills]
    for measure, values in (("female", female), ("male", male), ("unspecified", unspecified)):
        interval = paired.mean_interval(_by_condition(fills, values), options.alpha)
        yield effect(group, measure, n, Estimate(_mean(values), _within_unit(interval)))
    for measure, values in _scores(fills).items():
        yield effect(group, measure, n, tested_mean(values, options.alpha))
        means = _by_condition(fills, values)
        yield effect(group, f"{measure}_clustered", len(means), tested_mean(means, options.alpha))
        yield detectable_mean(group, f"{measure}_clustered", means, options)
    disparity = _scores(fills)["disparity"]
    yield effect(group, "disparity_median", n, location(disparity))
    yield effect(group, "d_pooled", n, Estimate(groups.cohens_d(female, male)))
    yield effect(group, "d_z", n, Estimate(paired.d_z(disparity)))


def _difference_effects(
    group: Group, mental: Sequence[Fill], control: Sequence[Fill], options: Measure
) -> Iterator[Effect]:
    """Compare the disparity for mental illness with that for the control conditions."""
    ours, theirs = _scores(mental), _scores(control)
    n = len(mental) + len(control)
    for measure, first in ours.items():
        second = theirs[measure]
        yield effect(group, measure, n, _two_samples(first, second, options.alpha))
        means = _by_condition(mental, first), _by_condition(control, second)
        yield effect(group, f"{measure}_clustered", sum(map(len, means)), _two_samples(*means, options.alpha))
    first, second = ours["disparity"], theirs["disparity"]
    welch = Estimate(
        _mean(first) - _mean(second), groups.welch_interval(first, second, options.alpha), groups.welch_t(first, second)
    )
    yield effect(group, "disparity_welch", n, welch)
    yield effect(group, "d_pooled", n, Estimate(groups.cohens_d(first, second)))


def _scores(fills: Sequence[Fill]) -> dict[str, list[float]]:
    """Return the disparity of each sentence, as published and, for rq2, in the direction of its dimension."""
    disparity = [fill.disparity for fill in fills]
    if fills[0].question == "rq1":
        return {"disparity": disparity}
    corrected = [fill.polarity * value for fill, value in zip(fills, disparity, strict=True)]
    return {"disparity": disparity, "disparity_corrected": corrected}


def _by_condition(fills: Sequence[Fill], values: Sequence[float]) -> list[float]:
    return cluster_means(values, [fill.condition for fill in fills])


def _two_samples(first: Sequence[float], second: Sequence[float], alpha: float) -> Estimate:
    interval, p = groups.student_interval(first, second, alpha), groups.student_t(first, second)
    return Estimate(_mean(first) - _mean(second), interval, p)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _within_unit(interval: Interval | None) -> Interval | None:
    """Clip an interval to [0, 1]."""
    return None if interval is None else Interval(max(0.0, interval.low), min(1.0, interval.high))


def _refuse_mixed(fills: Sequence[Fill]) -> None:
    scorers = sorted({fill.scorer for fill in fills})
    if len(scorers) > 1:
        message = f"fills of the scorers {' and '.join(scorers)} are mixed: measure the fills of each scorer separately"
        raise EquipoiseError(message)


def missing_fills(fills: Sequence[Fill]) -> list[str]:
    """List the keys of missing fills: every template of a question needs each of its conditions."""
    templates = {(fill.question, fill.template) for fill in fills}
    conditions = {(fill.question, fill.condition) for fill in fills}
    design = {
        f"{question}/{template}/{condition}"
        for (question, template), (other, condition) in product(templates, conditions)
        if question == other
    }
    return sorted(design - {f"{fill.question}/{fill.template}/{fill.condition}" for fill in fills})
