"""`equipoise results`: the headline figures of the last run, a table a study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from equipoise.compare.leaderboard import NOT_MEASURED, Cell, cell
from equipoise.compare.record import besides
from equipoise.core import params, printing
from equipoise.core.errors import EquipoiseError
from equipoise.figures import reading
from equipoise.figures.effects import Effect, count_adjusted
from equipoise.figures.figure import Figure, endpoint_kind, headline_effects, undefined, undercoverage
from equipoise.figures.layout import read_result
from equipoise.figures.options import Decision
from equipoise.figures.plain import OPEN
from equipoise.figures.result import UNDECIDED, Verdict
from equipoise.figures.study import Study
from equipoise.studies.registry import STUDIES


def results(
    studies: Annotated[
        list[str] | None, typer.Argument(help="Studies to print; by default those in params.yaml.")
    ] = None,
    *,
    look: Annotated[bool, typer.Option(help="Print figures without verdicts, after `make look`.")] = False,
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
    adjusted = {
        study.name: _adjusted(result.effects, headline_effects(result.effects, study.figures))
        for study, result in results
    }
    tables = [(study, result.verdict, headline_effects(result.effects, study.figures)) for study, result in results]
    without = {study.name: result.why_without for study, result in results}
    if as_json:
        listed = [_row(figure, row, without[study.name]) for study, _, rows in tables for figure, row in rows]
        printing.print_json(listed)
        return
    if look:
        tables = [(study, None, rows) for study, _, rows in tables]
        n = max(row.n for _, _, rows in tables for _, row in rows)
        printing.show(f"A look at {n} pairs: no verdict is meant.", "")
    if lines := _beside(settings.model, [(study, verdict) for study, verdict, _ in tables if verdict]):
        printing.show(*lines, "")
    interval = f"{100 * (1 - float(settings.measure['alpha'])):g} % interval"
    for study, verdict, rows in tables:
        lines = [f"Verdict: {verdict.sentence}"] if verdict else []
        notes = filter(None, [adjusted[study.name], readers[study.name]])
        printing.show(*lines, _table(study, rows, interval, without[study.name]), *notes, "")


def _beside(model: str, verdicts: list[tuple[Study, Verdict]]) -> list[Table | str]:
    """Lay out the verdicts of this run below those of recorded ones, phantoms first, whose bias is known."""
    from rich.table import Table

    others = [row for row in besides(Path()) if row.model != model]
    if not others or not verdicts:
        return []
    table = Table("model", *(study.title for study, _ in verdicts), title="Beside recorded runs", title_justify="left")
    for other in others:
        found = (other.studies.get(study.name) for study, _ in verdicts)
        table.add_row(other.title, *(f"{one[0]}\n{cell(one[1])}" if one else NOT_MEASURED for one in found))
    for_run = (Cell("defined", v.row.n, v.row.estimate, v.row.ci_low, v.row.ci_high) for _, v in verdicts)
    words = (verdict.word for _, verdict in verdicts)
    table.add_row(f"this run: {model}", *(f"{word}\n{cell(one)}" for word, one in zip(words, for_run, strict=True)))
    return [table, *([OPEN] if any(verdict.word == UNDECIDED for _, verdict in verdicts) else [])]


def _table(study: Study, rows: list[tuple[Figure, Effect]], interval: str, without: str) -> Table:
    from rich.table import Table

    table = Table(title=study.title, caption=study.question, title_justify="left")
    for column in ("figure", "endpoint", "n", "estimate", interval, "p"):
        table.add_column(column, justify="left" if column in {"figure", "endpoint"} else "right")
    for figure, row in rows:
        bounds = "" if row.ci_low is None or row.ci_high is None else f"{row.ci_low:.3f} to {row.ci_high:.3f}"
        if (coverage := undercoverage(row)) is not None:
            bounds += f" (covers {coverage:.2f})"
        estimate = f"undefined: {undefined(figure, row, without)}" if row.estimate is None else f"{row.estimate:.3f}"
        table.add_row(figure.title, endpoint_kind(row), str(row.n), estimate, bounds, _p(row))
    return table


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
    return f"p (Holm) is adjusted over the groups of one figure, not over the figures: {groups}."


def _p(row: Effect) -> str:
    """Write a p-value, and whether it is adjusted over the groups of its family or that of a single test."""
    if row.neg_log10_p_holm is not None:
        return f"{10**-row.neg_log10_p_holm:.3f} (Holm)"
    return "" if row.neg_log10_p is None else f"{10**-row.neg_log10_p:.3f} (one test)"


def _row(figure: Figure, row: Effect, without: str) -> dict[str, Any]:
    fields = ("primary", "n", "estimate", "ci_low", "ci_high", "coverage", "neg_log10_p", "neg_log10_p_holm")
    why = {} if row.estimate is not None else {"undefined": undefined(figure, row, without)}
    return {"figure": figure.name, "title": figure.title, **{name: getattr(row, name) for name in fields}, **why}
