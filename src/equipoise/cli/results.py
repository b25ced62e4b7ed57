"""`equipoise results`: the verdicts of the last run beside recorded ones, and its headline figures, a table a study."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from equipoise.cli.leaderboard import verdict_table
from equipoise.compare.leaderboard import Cell
from equipoise.compare.record import besides
from equipoise.core import jsonl, params, printing
from equipoise.core.display import number
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import grouped
from equipoise.core.manifest import Manifest
from equipoise.core.pace import read as read_pace
from equipoise.core.params import Params
from equipoise.core.progress import progress
from equipoise.figures import reading
from equipoise.figures.effects import Effect, count_adjusted
from equipoise.figures.figure import Figure, headline_effects, undefined, undercoverage
from equipoise.figures.layout import read_result
from equipoise.figures.look import in_patients, margins
from equipoise.figures.look import look as told
from equipoise.figures.needed import needs, planned_size, spreads_of
from equipoise.figures.options import Decision, Measure
from equipoise.figures.plain import state
from equipoise.figures.result import BIASED, StudyResult, and_more
from equipoise.figures.size import Size
from equipoise.figures.study import Study
from equipoise.figures.wording import about
from equipoise.pipeline.rows import RunFiles
from equipoise.pipeline.run import Run
from equipoise.studies.registry import STUDIES

ADJUSTED = "†"


def results(
    studies: Annotated[
        list[str] | None, typer.Argument(help="Studies to print; by default those in params.yaml.")
    ] = None,
    *,
    look: Annotated[bool, typer.Option(help="Print a verdict only if it is biased (for `make look`).")] = False,
    data: Annotated[Path, typer.Option(help="Folder of the run's rows.", metavar="FOLDER")] = Path("data"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Print the verdicts and headline figures of the last run, each figure with its interval, n and p-value."""
    if unknown := [name for name in studies or () if name not in STUDIES]:
        raise EquipoiseError(f"no study {unknown[0]!r}: known: {', '.join(STUDIES)}")
    settings = params.load()
    decision = settings.section("decision", Decision)
    chosen = [study for name, study in STUDIES.items() if name in (studies or settings.studies)]
    results = [(study, read_result(data, study, decision)) for study in chosen]
    readers = {study.name: reading.sentence(result.effects) for study, result in results}
    rows = {study.name: headline_effects(result.effects, study.figures) for study, result in results}
    if as_json:
        listed = [
            _row(figure, row, result.why_without) for study, result in results for figure, row in rows[study.name]
        ]
        printing.print_json(listed)
        return
    options = decision.applied(settings.section("measure", Measure))
    looks = {study.name: told(study, result, options) for study, result in results}
    if not look and (lines := _beside(settings.model, results, looks)):
        printing.show(*lines, "")
    interval = f"{100 * (1 - float(settings.measure['alpha'])):g} % interval"
    for study, result in results:
        opened = [
            *_opened(result, looks[study.name], whole=bool(studies) and not look, only_bias=look),
            *(_next(study, result, options, settings, data) if looks[study.name] else ()),
        ]
        figures = rows[study.name]
        notes = [
            *_remarks(figures, result.why_without),
            _adjusted(result.effects, figures),
            readers[study.name],
            _left_out(study, result.effects),
        ]
        head = f"{study.title}: {study.question}"
        printing.show(head, *opened, _table(figures, interval), *filter(None, notes), "")


def _opened(result: StudyResult, look: str, *, whole: bool, only_bias: bool) -> Iterator[str]:
    """Say what a study found: that it is a look, the headline figure in patients, and the verdict.

    The verdict has all its reasons with `whole`, else the first; with `only_bias` it is left out unless it is
    one of bias.
    """
    verdict = result.verdict
    if verdict is None:
        return
    yield from filter(None, [look, in_patients(verdict)])
    if not only_bias or verdict.word == BIASED:
        yield f"Verdict: {verdict.sentence if whole else verdict.brief}"
        yield f"Margins: {margins(verdict)}."


def _next(study: Study, result: StudyResult, options: Measure, settings: Params, data: Path) -> Iterator[str]:
    """Name the command for a verdict with its size and time, and what more cases would not change."""
    if result.verdict is None:
        return
    compared = study.comparison
    rows = None if compared is None else compared.read(RunFiles(Run(study.name, data, settings)))
    needed = needs(study, result.verdict.endpoint, result, options, spreads_of(study, rows))
    if study.sizes is None:
        larger = f"{study.larger.replace('`', '')}; " if study.larger else ""
        yield f"For a verdict: {larger}equipoise plan says how many cases it needs."
    else:
        with progress("plan"):
            size = planned_size(needed, options.power, study.sizes(settings, Path("data")))
        told = f"{size.clusters} stories in {size.items} pairs"
        short = "" if needed.enough(size, options.power) else ", the most useful that the library has"
        yield (
            f"For a verdict: equipoise plan --write, then make repro STUDY={study.name} "
            f"({told}{short}{_time(study, result, size, data)})."
        )
    if needed.unchanging:
        yield f"More cases alone do not change this: {needed.unchanging[0]}{and_more(len(needed.unchanging) - 1)}."


def _time(study: Study, result: StudyResult, size: Size, data: Path) -> str:
    """Say how long a run of that size takes at the pace of this one; nothing where its pace is not known.

    Answers that this run has are kept, and take no time.
    """
    file = data / "manifest.json"
    pace = read_pace(study.name, jsonl.read_one(file, Manifest)) if file.is_file() else None
    if pace is None or result.counts is None or result.verdict is None or not result.verdict.row.n:
        return ""
    items = result.verdict.row.n
    new = max(0.0, size.items * size.effort - items)
    return f"; {about(new * result.counts.n_prompts / items * pace.per_prompt)} at this run's pace"


def _beside(model: str, results: list[tuple[Study, StudyResult]], looks: Mapping[str, str]) -> list[Table | str]:
    """Lay out the verdicts of this run below those of recorded ones, a line each, phantoms first, whose bias is known.

    The headline figure of the first study stands beside them where it is stated for 100 patients.
    """
    verdicts = [(study, result.verdict) for study, result in results if result.verdict]
    rows: dict[str, Mapping[str, tuple[str, Cell]]] = {
        row.model: row.studies for row in besides(Path()) if row.model != model
    }
    if not rows or not verdicts:
        return []
    rows[f"{model} *"] = {
        study.name: (state(verdict, looks[study.name]), Cell("defined", row.n, row.estimate, row.ci_low, row.ci_high))
        for study, verdict in verdicts
        for row in [verdict.row]
    }
    table, *notes = verdict_table([study.name for study, _ in verdicts], [*rows.items()], verdicts[0][1].figure)
    return [table, f"* this run: {model}", *notes]


def _table(rows: list[tuple[Figure, Effect]], interval: str) -> Table:
    """Lay out figures, a line each; names are broken where they leave no room for numbers."""
    table = printing.plain_table(None, ("figure", "n", "estimate", interval, "p"), gap=2)
    table.columns[0].no_wrap = False
    for figure, row in rows:
        name = f"{figure.title} (primary)" if row.primary else figure.title
        estimate = "–" if row.estimate is None else number(row.estimate)
        table.add_row(name, str(row.n), estimate, "" if row.interval is None else str(row.interval), _p(row))
    return table


def _remarks(rows: list[tuple[Figure, Effect]], without: str) -> Iterator[str]:
    """Say why figures are undefined, and which figures have an interval that covers the truth too rarely."""
    why = grouped((undefined(figure, row, without), figure.title) for figure, row in rows if row.estimate is None)
    yield from (f"Undefined ({reason}): {', '.join(dict.fromkeys(names))}." for reason, names in why.items())
    rare = [f"{figure.title} {coverage:.2f}" for figure, row in rows if (coverage := undercoverage(row)) is not None]
    if rare:
        yield f"Intervals that cover the truth too rarely, with the share of simulations: {'; '.join(rare)}."


def _adjusted(effects: Sequence[Effect], rows: list[tuple[Figure, Effect]]) -> str:
    """Say over which tests the p-values in a table are adjusted; empty if none is."""
    counts = {
        row.family.replace("_", " "): count_adjusted(row, effects)
        for _, row in rows
        if row.neg_log10_p_holm is not None
    }
    if not counts:
        return ""
    groups = ", ".join(f"{family} {number}" for family, number in counts.items())
    return f"{ADJUSTED} adjusted by Holm over the groups within a figure, not across figures: {groups}."


def _left_out(study: Study, effects: Sequence[Effect]) -> str:
    """Count what the headline figures leave out since its evidence has grade C; empty where there is none."""
    groups = {row.group for row in effects if row.family == "grade" and row.group.rpartition("/")[2] == "C"}
    n = sum(max(row.n for row in effects if (row.family, row.group) == ("grade", group)) for group in groups)
    if not n:
        return ""
    unit = next(figure.unit for figure in study.figures if figure.unit)
    return f"These figures exclude {n} {unit} whose evidence has grade C, the grade in a new, unedited file."


def _p(row: Effect) -> str:
    """Write a p-value, with a mark where it is adjusted over the groups of its family."""
    if row.neg_log10_p_holm is not None:
        return f"{_probability(row.neg_log10_p_holm)} {ADJUSTED}"
    return "" if row.neg_log10_p is None else _probability(row.neg_log10_p)


def _probability(neg_log10: float) -> str:
    """Write a p-value with three decimals, or that it is smaller than these show."""
    return f"{10**-neg_log10:.3f}" if neg_log10 <= 3 else "< 0.001"  # noqa: PLR2004  (0.001)


def _row(figure: Figure, row: Effect, without: str) -> dict[str, Any]:
    fields = ("primary", "n", "estimate", "ci_low", "ci_high", "coverage", "neg_log10_p", "neg_log10_p_holm")
    why = {} if row.estimate is not None else {"undefined": undefined(figure, row, without)}
    return {"figure": figure.name, "title": figure.title, **{name: getattr(row, name) for name in fields}, **why}
