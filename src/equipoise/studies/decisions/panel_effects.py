"""The figures of decisions about stories told of a panel."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from equipoise.figures.effects import Effect, Group
from equipoise.figures.options import Measure
from equipoise.materials.stories.endpoints import FAMILIES
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import CONTROL
from equipoise.studies.decisions import NAME
from equipoise.studies.decisions import effects as decisions
from equipoise.studies.decisions.asked import Asked, Reading, decision_of
from equipoise.studies.vignettes.panel_effects import FAMILY, Outcomes, panel_effects


def panel_decision_effects(asked: Sequence[Asked], readings: Sequence[Reading], options: Measure) -> list[Effect]:
    """Estimate the figures of decisions about stories told of a panel: group minus control.

    `decision_shift` is the difference in the mean level as a share of the scale, above 0 in the direction in which the
    documented bias usually pulls at the end-point, and `decision_tilt` that in nats (see
    `equipoise.studies.decisions.effects`). Both are means over the end-points of a story: all of them (family `panel`),
    those of a family (`panel_family`, a group being `GROUP/FAMILY`) or one (`cell`, `GROUP/END-POINT`). By end-point
    there are also `level_shift`, in levels, and, where a guideline says what is right, `panel_accuracy`. Holm's method
    is applied over the groups of each of them.
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
        key = CaseKey.parse(one.key)
        found.append(_Told(known[decision_of(one.key)], key.sample, key.version, one))
    return found


def _parts(told: Sequence[_Told]) -> Iterator[tuple[str, str, list[_Told]]]:
    """Yield what figures are about, as the family of their effects and the name of the part, with its decisions."""
    yield FAMILY, "", list(told)
    for name in FAMILIES:
        yield "panel_family", name, [one for one in told if one.asked.family == name]
    for ask in sorted({one.asked.ask for one in told}):
        yield decisions.CELL, ask, [one for one in told if one.asked.ask == ask]


def _of_decisions(family: str, part: str, group: str) -> Group:
    return Group(family, f"{group}/{part}" if part else group, NAME)


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
