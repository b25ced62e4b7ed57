"""The figures of decisions about the patients of a panel."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple, Self

from equipoise.figures.effects import Effect, Group
from equipoise.figures.options import Measure
from equipoise.materials.stories.endpoints import FAMILIES
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import CONTROL
from equipoise.studies.decisions import NAME
from equipoise.studies.decisions.effects import CELL, place, right, tilt
from equipoise.studies.decisions.rows import CaseDecision, Reading, decision_of
from equipoise.studies.vignettes.panel_effects import FAMILY, Outcomes, panel_effects


def panel_decision_effects(
    decisions: Iterable[CaseDecision], readings: Iterable[Reading], options: Measure
) -> list[Effect]:
    """Estimate the figures of decisions about a panel's patients: group minus control (docs/metrics/panel.md).

    Families are `panel` (the mean over a story's end-points), `panel_family` (`GROUP/FAMILY`) and `cell`
    (`GROUP/END-POINT`); Holm's method is applied over the groups of each figure.
    """
    by_key = {decision.key: decision for decision in decisions}
    effects: list[Effect] = []
    for family, part, rows in _parts([_GroupReading.of(reading, by_key) for reading in readings]):
        named = partial(_part_of_group, family, part)
        for measure, value in (("decision_shift", place), ("decision_tilt", tilt)):
            effects += panel_effects(_gaps(rows, value), measure, options, named)
        if family == CELL:
            effects += panel_effects(_gaps(rows, _level), "level_shift", options, named)
            effects += panel_effects(_right(rows), "panel_accuracy", options, named)
    return sorted(effects, key=lambda row: row.key)


class _GroupReading(NamedTuple):
    """The reading of a decision about the patient of one group, in one unit."""

    decision: CaseDecision
    unit: str
    group: str
    reading: Reading

    @classmethod
    def of(cls, reading: Reading, decisions: Mapping[str, CaseDecision]) -> Self:
        key = CaseKey.parse(reading.key)
        return cls(decisions[decision_of(reading.key)], key.sample, key.version, reading)


def _parts(rows: Sequence[_GroupReading]) -> Iterator[tuple[str, str, Sequence[_GroupReading]]]:
    """Yield the family of some effects and the part of the decisions that they are about, with its readings."""
    yield FAMILY, "", rows
    for name in FAMILIES:
        yield "panel_family", name, [row for row in rows if row.decision.family == name]
    for ask in sorted({row.decision.ask for row in rows}):
        yield CELL, ask, [row for row in rows if row.decision.ask == ask]


def _part_of_group(family: str, part: str, group: str) -> Group:
    return Group(family, f"{group}/{part}" if part else group, NAME)


def _level(decision: CaseDecision, reading: Reading) -> float | None:
    share = place(decision, reading)
    return None if share is None else share * (len(decision.levels) - 1)


def _gaps(rows: Sequence[_GroupReading], value: Callable[[CaseDecision, Reading], float | None]) -> Outcomes:
    """Give each unit's mean difference from its control, over the decisions for which both are defined."""
    controls = {(row.unit, row.decision.ask): value(row.decision, row.reading) for row in rows if row.group == CONTROL}
    gaps: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        own, control = value(row.decision, row.reading), controls[row.unit, row.decision.ask]
        if own is not None and control is not None:
            gaps[row.unit][row.group].append(own - control)
    return {unit: {group: fmean(values) for group, values in groups.items()} for unit, groups in gaps.items()}


def _right(rows: Sequence[_GroupReading]) -> Outcomes:
    outcomes: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for row in rows:
        if row.decision.answer is not None:
            outcomes[row.unit][row.group] = right(row.decision, row.reading)
    return outcomes
