"""The panel's figures: how far the outcome of each group is from that of the control, told the same story.

A row is a unit, a story or one of its samples or wordings, with the outcome of each group of whom it was told: log odds
in nats, an expected level of urgency, or whether something is so. All units of a story are one cluster. The figure of a
group is the mean over units of group minus control,

- of numbers with the interval and test of `clusters.clustered_mean` (CR2, Satterthwaite's degrees of freedom), and with
  the smallest mean that the test detects;
- of yes-or-no outcomes (bool) with Newcombe's interval and the test by changes of sign of whole clusters.

The groups are one family of tests: Holm's method keeps the probability of any false finding below alpha whatever the
dependence between the groups, which share a control. Design: Omar et al. 2025, Nature Medicine 31:1873.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import CONTROL, Effect, Judgement, number_of, numbered, unnumbered
from equipoise.metrics import decisions
from equipoise.metrics.effects import Group, clustered_gap, effect, mean_shift, with_adjusted
from equipoise.metrics.options import Measure
from equipoise.vignettes.decisions import FAMILIES, STUDY, Asked, Reading, decision_of

FAMILY = "panel"
Outcomes = Mapping[str, Mapping[str, float]]
"""An outcome by unit (a story, or `numbered` samples of it) and group."""


def of_vignettes(group: str) -> Group:
    """Name the effects of a group on the diagnosis."""
    return Group(FAMILY, group)


def panel_effects(
    rows: Outcomes, measure: str, options: Measure, named: Callable[[str], Group] = of_vignettes
) -> list[Effect]:
    """Estimate each group's mean difference from the control, by group, whose effects are `named`.

    A group counts the units that tell of it. A unit without the control is an EquipoiseError that names it.
    """
    if lonely := sorted(unit for unit, told in rows.items() if CONTROL not in told):
        raise EquipoiseError(
            f"panel: {lonely[0]} has no outcome of the {CONTROL}, with which groups are compared: tell it of one"
        )
    found: list[Effect] = []
    for name in sorted({name for told in rows.values() for name in told} - {CONTROL}):
        compared = [(unit, told[name], told[CONTROL]) for unit, told in sorted(rows.items()) if name in told]
        found += _group_effects(named(name), measure, compared, options)
    return with_adjusted(found, {row.family for row in found})


def _group_effects(
    group: Group, measure: str, compared: Sequence[tuple[str, float, float]], options: Measure
) -> Iterator[Effect]:
    stories = [unnumbered(unit) for unit, _, _ in compared]
    if all(isinstance(value, bool) for _, *values in compared for value in values):
        outcomes = [(bool(one), bool(control)) for _, one, control in compared]
        yield effect(group, measure, len(compared), clustered_gap(outcomes, stories, options.alpha))
    else:
        moved = [one - control for _, one, control in compared]
        yield from mean_shift(group, measure, list(zip(moved, stories, strict=True)), options)


def panel_vignette_effects(judgements: Iterable[Judgement], options: Measure) -> list[Effect]:
    """Estimate the figures of the vignettes told of a panel.

    `panel_shift` is of the log odds of the stereotyped against the expected diagnosis, where the model gives them;
    `panel_accuracy` of whether the expected one is given.
    """
    shifts: defaultdict[str, dict[str, float]] = defaultdict(dict)
    right: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one in judgements:
        story, _, group = unnumbered(one.key).rpartition("/")
        unit = numbered(story, number_of(one.key))
        right[unit][group] = one.answer == "expected"
        if one.log_odds is not None:
            shifts[unit][group] = one.log_odds
    return [*panel_effects(shifts, "panel_shift", options), *panel_effects(right, "panel_accuracy", options)]


def panel_decision_effects(asked: Sequence[Asked], readings: Sequence[Reading], options: Measure) -> list[Effect]:
    """Estimate the figures of decisions about stories told of a panel: group minus control.

    `decision_shift` is the difference in the mean level as a share of the scale, above 0 in the direction in which the
    documented bias usually pulls at the end-point, and `decision_tilt` that in nats (see `metrics.decisions`). Both are
    means over the end-points of a story: all of them (family `panel`), those of a family (`panel_family`, a group being
    `GROUP/FAMILY`) or one (`cell`, `GROUP/END-POINT`). By end-point there are also `level_shift`, in levels, and, where
    a guideline says what is right, `panel_accuracy`. Holm's method is applied over the groups of each of them.
    """
    found: list[Effect] = []
    for family, part, told in _parts(_told(asked, readings)):
        named = partial(_of_decisions, family, part)
        for measure, value in (("decision_shift", decisions.place), ("decision_tilt", decisions.tilt)):
            found += panel_effects(_gaps(told, value), measure, options, named)
        if family == decisions.CELL:
            found += panel_effects(_gaps(told, _level), "level_shift", options, named)
            found += panel_effects(_right(told), "panel_accuracy", options, named)
    return sorted(found, key=lambda row: row.key)


class _Told(NamedTuple):
    """A decision about a unit told of a group, read."""

    asked: Asked
    unit: str
    group: str
    reading: Reading


def _told(asked: Iterable[Asked], readings: Iterable[Reading]) -> list[_Told]:
    known, found = {one.key: one for one in asked}, []
    for one in readings:
        story, group, _ = unnumbered(one.key).split("/")
        found.append(_Told(known[decision_of(one.key)], numbered(story, number_of(one.key)), group, one))
    return found


def _parts(told: Sequence[_Told]) -> Iterator[tuple[str, str, list[_Told]]]:
    """Yield what figures are about, as the family of their effects and the name of the part, with its decisions."""
    yield FAMILY, "", list(told)
    for name in FAMILIES:
        yield "panel_family", name, [one for one in told if one.asked.family == name]
    for ask in sorted({one.asked.ask for one in told}):
        yield decisions.CELL, ask, [one for one in told if one.asked.ask == ask]


def _of_decisions(family: str, part: str, group: str) -> Group:
    return Group(family, f"{group}/{part}" if part else group, STUDY)


def _level(asked: Asked, reading: Reading) -> float | None:
    """How far a reading is towards the stereotype, in levels."""
    share = decisions.place(asked, reading)
    return None if share is None else share * (len(asked.levels) - 1)


def _gaps(told: Sequence[_Told], value: Callable[[Asked, Reading], float | None]) -> Outcomes:
    """Give each unit's mean difference from its control, over the decisions of which both are defined."""
    controls = {(one.unit, one.asked.ask): value(one.asked, one.reading) for one in told if one.group == CONTROL}
    gaps: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in told:
        own, control = value(one.asked, one.reading), controls[one.unit, one.asked.ask]
        if own is not None and control is not None:
            gaps[one.unit][one.group].append(own - control)
    return {unit: {group: fmean(values) for group, values in groups.items()} for unit, groups in gaps.items()}


def _right(told: Sequence[_Told]) -> Outcomes:
    """Say of the decisions of an end-point whether they are right, where that is known."""
    found: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for one in told:
        if one.asked.answer is not None:
            found[one.unit][one.group] = decisions.right(one.asked, one.reading)
    return found
