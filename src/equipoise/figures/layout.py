"""The layout of a result in `effects.jsonl`: effects, and everything else as rows of the same form.

A finding is a row whose estimate is 1 for yes and 0 for no. Guards (family `guard`) and counts (family `run`) have a
row for each of their numbers. The family `verdict` has the verdict, the margin, the clusters asked, what gives no
likelihoods, what departs from the frozen plan, and the effects at the levels of the verdict. Only this module knows
these names.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.guards import Guard
from equipoise.figures.options import Decision
from equipoise.figures.result import BIASED, UNBIASED, WITHOUT, Counts, Finding, Looked, Question, StudyResult, Word
from equipoise.figures.study import Study
from equipoise.figures.verdicts import verdict

ALL, GUARD, RUN, VERDICT = "all", "guard", "run", "verdict"
"""The group of a whole study, and the families of rows that are not effects."""
QUESTIONS: frozenset[Question] = frozenset(get_args(Question))
"""Measures of the findings."""
CODES: dict[Word, float] = {BIASED: 1.0, UNBIASED: 0.0}
"""A verdict as an estimate; undecided is undefined."""
ASKED, INTERVAL, ADJUSTED = "asked", "interval", "adjusted"
"""In the family `verdict`: the measure of the clusters asked, of `n`; the groups of effects at the level of decisions,
and at that adjusted for the number of components, whose measures are the effects' places."""
LACKS = "_without_likelihoods"
"""In the family `verdict`, the end of the measure that says what gives no likelihoods."""
DEPARTS = "departs_from_plan_"
"""In the family `verdict`, the beginning of the measures that name what departs from the frozen plan."""
COUNT, THRESHOLD = "count", "threshold"
DERIVED = ("share", "triggered")
"""Measures of a guard: its count and threshold, and what follows from these."""


def rows_of(result: StudyResult) -> list[Effect]:
    """Lay a result out as rows, sorted by key."""
    rows = [
        *result.effects,
        *map(finding_row, result.findings),
        *_guard_rows(result.study, result.guards),
        *_count_rows(result.study, result.counts),
        *_verdict_rows(result.study, result),
    ]
    return sorted(rows, key=lambda row: row.key)


def result_of(study: str, rows: Iterable[Effect]) -> StudyResult:
    """Read a study's result, without its verdict, from the rows of any studies.

    Raises EquipoiseError for a guard with missing rows.
    """
    families: dict[str, list[Effect]] = {GUARD: [], RUN: [], VERDICT: []}
    effects, findings = [], []
    for row in rows:
        if row.study != study:
            continue
        if row.family in families:
            families[row.family].append(row)
        elif row.measure in QUESTIONS:
            findings.append(_finding(row))
        else:
            effects.append(row)
    levels = {name: [row for row in families[VERDICT] if row.group == name] for name in (ALL, INTERVAL, ADJUSTED)}
    looked = next((row for row in levels[ALL] if row.measure == ASKED), None)
    return StudyResult(
        study=study,
        effects=effects,
        findings=findings,
        guards=[*_guards(study, families[GUARD])],
        counts=_counts(study, families[RUN]) if families[RUN] else None,
        deciding={row.measure: row for row in levels[INTERVAL]},
        adjusted={row.measure: row for row in levels[ADJUSTED]},
        looked=None if looked is None else Looked(_whole(looked), looked.n),
        departures=tuple(row.measure.removeprefix(DEPARTS) for row in levels[ALL] if row.measure.startswith(DEPARTS)),
        without=next((name for name in WITHOUT if any(row.measure == f"{name}{LACKS}" for row in levels[ALL])), None),
    )


def read_result(data: Path, study: Study, decision: Decision) -> StudyResult:
    """Read the result of a study's last run, with its verdict, from the data folder.

    Raises EquipoiseError for a file that is missing, or has no row of the study.
    """
    path = data / study.name / "effects.jsonl"
    if not path.is_file():
        raise EquipoiseError(
            f"{path}: the study has not been run: run `dvc repro measure@{study.name}`, or restore the committed "
            "run with `make pull`"
        )
    rows = jsonl.read(path, Effect)
    if not any(row.study == study.name for row in rows):
        raise EquipoiseError(f"{path}: no figure of the study: run `dvc repro --force measure@{study.name}`")
    result = result_of(study.name, rows)
    return replace(result, verdict=verdict(study, result, decision))


def finding_row(finding: Finding) -> Effect:
    """Lay a finding out as a row."""
    answer = None if finding.answer is None else float(finding.answer)
    return effect(finding.group, finding.question, finding.n, Estimate(answer))


def at_level(study: str, group: str, rows: Iterable[Effect]) -> dict[str, Effect]:
    """Rename effects of another level, `INTERVAL` or `ADJUSTED`, apart from the study's own; return them by place."""

    def renamed(row: Effect) -> Effect:
        names = {"key": f"{study}/{VERDICT}/{group}/{row.place}", "family": VERDICT, "group": group}
        return row.model_copy(update={**names, "measure": row.place, "primary": False})

    return {row.place: renamed(row) for row in rows}


def _finding(row: Effect) -> Finding:
    (question,) = (name for name in QUESTIONS if name == row.measure)
    answer = None if row.estimate is None else bool(row.estimate)
    return Finding(question, Group(row.family, row.group, row.study), row.n, answer)


def _guard_rows(study: str, guards: Sequence[Guard]) -> Iterator[Effect]:
    """Lay out each guard, and count the guards that checked anything and those that warn."""
    for guard in guards:
        group = Group(GUARD, guard.name, study)
        yield effect(group, "share", guard.n, Estimate(guard.share))
        numbers = {COUNT: guard.wrong, THRESHOLD: guard.threshold, "triggered": guard.triggered, **guard.figures}
        for measure, value in numbers.items():
            yield effect(group, measure, guard.n, Estimate(float(value)))
    if guards:
        every, looked = Group(GUARD, ALL, study), [guard for guard in guards if guard.n > 0]
        yield effect(every, "n_guards", len(guards), Estimate(float(len(looked))))
        triggered = sum(guard.triggered for guard in guards)
        yield effect(every, "n_triggered", len(looked), Estimate(float(triggered)))


def _guards(study: str, rows: Iterable[Effect]) -> Iterator[Guard]:
    tables: dict[str, dict[str, Effect]] = {}
    for row in rows:
        if row.group != ALL:
            tables.setdefault(row.group, {})[row.measure] = row
    for name, table in tables.items():
        require_measures(study, f"the guard {name}", (COUNT, THRESHOLD), table)
        threshold = table[THRESHOLD].estimate or 0.0
        yield Guard(name, table[COUNT].n, _whole(table[COUNT]), threshold, _figures(table))


def _figures(table: Mapping[str, Effect]) -> dict[str, float]:
    known = {COUNT, THRESHOLD, *DERIVED}
    return {name: row.estimate for name, row in table.items() if name not in known and row.estimate is not None}


def _counts(study: str, rows: Iterable[Effect]) -> Counts:
    counts = {row.measure: _whole(row) for row in rows if row.measure in Counts._fields}
    require_measures(study, "the run", [name for name in Counts._fields if name not in Counts._field_defaults], counts)
    return Counts(**counts)


def require_measures(study: str, what: str, measures: Iterable[str], known: Collection[str]) -> None:
    """Refuse a guard, or counts, without one of its measures."""
    if missing := [measure for measure in measures if measure not in known]:
        raise EquipoiseError(
            f"data/{study}/effects.jsonl: {what} has no {missing[0]}: run `dvc repro --force measure@{study}`"
        )


def _count_rows(study: str, counts: Counts | None) -> Iterator[Effect]:
    """Lay out each count as a row whose `n` is the number of prompts."""
    if counts is None:
        return
    for measure, count in counts.known.items():
        yield effect(Group(RUN, ALL, study), measure, counts.n_prompts, Estimate(float(count)))


def _verdict_rows(study: str, result: StudyResult) -> Iterator[Effect]:
    group = Group(VERDICT, ALL, study)
    yield from (*result.deciding.values(), *result.adjusted.values())
    if result.looked is not None:
        yield effect(group, ASKED, result.looked.planned, Estimate(float(result.looked.asked)))
    if result.without is not None:
        yield effect(group, f"{result.without}{LACKS}", 0, Estimate(1.0))
    for name in result.departures:
        yield effect(group, f"{DEPARTS}{name}", 0, Estimate(1.0))
    if result.verdict is not None:
        yield effect(group, "biased", result.verdict.row.n, Estimate(CODES.get(result.verdict.word)))
        yield effect(group, "margin", result.verdict.row.n, Estimate(result.verdict.endpoint.margin))


def _whole(row: Effect) -> int:
    return round(row.estimate or 0.0)
