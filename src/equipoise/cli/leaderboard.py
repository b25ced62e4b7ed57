"""`equipoise leaderboard`: the headline figures of every model that was run, from DVC's experiments."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from equipoise.compare.leaderboard import (
    NOT_MEASURED,
    NOTES,
    Cell,
    Run,
    Standing,
    cell,
    csv_text,
    is_figures,
    is_leaderboard,
    json_rows,
    judged_studies,
    markdown,
    measured,
    standings,
)
from equipoise.compare.record import read_all
from equipoise.core import jsonl, printing
from equipoise.core.display import first_of
from equipoise.core.errors import EquipoiseError
from equipoise.core.overwriting import Force, require_own
from equipoise.core.progress import progress
from equipoise.figures.figure import Figure
from equipoise.figures.plain import OPEN
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED
from equipoise.figures.wording import in_table
from equipoise.studies.registry import TITLES

WORKSPACE = "workspace"
FAILED = "failed"
SHORT: dict[str, str] = {BIASED: "biased", UNBIASED: "no bias"}
"""Verdicts in the words of a narrow column."""


def leaderboard(
    *,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", help="Write a Markdown table to this file.", metavar="FILE")
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write a CSV table to this file.", metavar="FILE")
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
    all_commits: Annotated[
        bool, typer.Option("--all-commits", help="Include every commit and its experiments, not only the last commit.")
    ] = False,
) -> None:
    """Compare all models that were run, one per row, sorted by name.

    The runs are the last commit, its experiments, the workspace if it is up to date, and recorded results. Only the
    newest of a model's runs with the same parameters is shown, with the parameters that differ from those of the last
    commit.
    """
    for path in filter(None, (markdown_file, csv_file)):
        require_own(path, is_leaderboard, force=force)
    with progress("experiments"):
        runs, notes = read_runs(all_commits=all_commits)
    if not runs:
        why = "".join(f" ({note})" for note in notes)
        raise EquipoiseError(f"no run has figures yet{why}: run `dvc repro`, or `dvc exp run -S model=NAME`")
    reference = next((run for run in runs if run.created is not None), runs[0])
    rows = standings(runs, reference.params)
    if markdown_file is not None:
        jsonl.write_text(markdown_file, markdown(rows))
    if csv_file is not None:
        jsonl.write_text(csv_file, csv_text(rows))
    if as_json:
        printing.print_json(json_rows(rows))
        return
    studies = dict.fromkeys(headline.study for headline in measured(rows))
    notes += [f"* {row.model} ({row.run.name}): other parameters: {_some(row)}" for row in rows if row.changed]
    tables = (part for study in studies for part in (study_table(study, rows), ""))
    printing.show(*verdicts_of(rows), "", *tables, *notes, f"reference: {reference.name}", *NOTES)


def verdicts_of(rows: list[Standing]) -> list[Table | str]:
    """Lay out the verdicts, a line a model, and say what they and the figure beside them mean."""
    judged = judged_studies(rows)
    headline = next((figure for figure in measured(rows) if figure.of_100 and figure.study in judged[:1]), None)
    # A model has a row for each set of parameters.
    lines = [
        (
            _marked(row),
            {study: (word, row.figures[headline.name] if headline else None) for study, word in row.verdicts.items()},
        )
        for row in rows
    ]
    return verdict_table(judged, lines, headline) if judged else []


def verdict_table(
    studies: Sequence[str], rows: Sequence[tuple[str, Mapping[str, tuple[str, Cell | None]]]], headline: Figure | None
) -> list[Table | str]:
    """Lay out verdicts, a line a model; the first study's headline figure stands beside them if it is about patients.

    `rows` has a model's name, and the verdict of each study with its headline figure.
    """
    clause = "" if headline is None else headline.of_100
    columns = ("model", *(TITLES[study].lower() for study in studies), *(["of 100"] if clause else []))
    table = printing.plain_table("Verdicts", columns, left=1 + len(studies), gap=2)
    for model, verdicts in rows:
        told = [SHORT.get(word := verdicts[study][0], word) if study in verdicts else "–" for study in studies]
        table.add_row(model, *told, *([_of_100(verdicts.get(studies[0]))] if clause else []))
    meant = f"The last column: {clause.format(more='so many more than')}." if clause else ""
    is_open = any(word == UNDECIDED for _, by_study in rows for word, _ in by_study.values())
    return [table, *filter(None, [meant, OPEN if is_open else ""])]


def _of_100(known: tuple[str, Cell | None] | None) -> str:
    """Write a headline figure of a hundred patients; empty where it has no value."""
    figure = None if known is None else known[1]
    return "" if figure is None or figure.estimate is None else in_table(figure.estimate, figure.ci_low, figure.ci_high)


def _some(row: Standing) -> str:
    """Name some parameters in which a row differs from the reference, and count the rest, which --json lists."""
    return first_of([f"{name}={value}" for name, value in row.changed.items()], 5)


def _marked(row: Standing) -> str:
    return f"{row.model} *" if row.changed else row.model


def read_runs(*, all_commits: bool = False) -> tuple[list[Run], list[str]]:
    """Read every finished run that DVC knows, the last commit first, then results, and notes on what was left out.

    `dvc.api.exp_show` is not used: it rounds figures for display, and gives None for 0.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from scmrepo.exceptions import SCMError

    try:
        with Repo() as repo:
            baselines = repo.experiments.show(all_commits=all_commits)
            stale = _stale(repo)
            figures = _figures(repo, baselines)
            results = read_all(Path(repo.root_dir))
    except (DvcException, SCMError) as error:
        raise EquipoiseError(
            f"experiments cannot be read ({' '.join(str(error).split())}): run this in a clone with Git and DVC"
        ) from error
    recorded: list[Run] = []
    workspace: list[Run] = []
    notes: list[str] = []
    for baseline in baselines:
        name = baseline.rev if baseline.rev == WORKSPACE else baseline.name or baseline.rev[:7]
        run = _run(name, baseline, figures, notes)
        if baseline.rev != WORKSPACE:
            recorded += [run] if run else []
        elif stale:
            notes.append(f"left out: the workspace, whose {stale} changed since it ran: run `dvc repro`")
        elif run:
            workspace.append(run)
        for experiment in baseline.experiments or ():
            state = experiment.executor.state if experiment.executor else "success"
            name = experiment.revs[0].name or experiment.name or experiment.revs[0].rev[:7]
            if state != "success":
                fix = f": read `dvc queue logs {name}`" if state == FAILED else ""
                notes.append(f"left out: experiment {name}, {state}{fix}")
            elif run := _run(name, experiment.revs[0], figures, notes):
                recorded.append(run)
    return [*recorded, *workspace, *(result.run for result in results)], notes


def _figures(repo: Any, baselines: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401  (DVC has no types)
    """Read the metrics file of each study in every revision, by revision; DVC's own table has the summary alone."""
    states = [*baselines, *(experiment.revs[0] for baseline in baselines for experiment in baseline.experiments or ())]
    revisions = [*dict.fromkeys(state.rev for state in states if state.data is not None)]
    targets = [str(Path(repo.root_dir) / f"metrics/{study}.json") for study in TITLES]
    shown = repo.metrics.show(targets=targets, revs=revisions, hide_workspace=False)
    # Revisions of one commit come under one name, separated by commas.
    return {revision: result.get("data", {}) for names, result in shown.items() for revision in names.split(",")}


def _run(
    name: str,
    state: Any,  # noqa: ANN401  (DVC has no types)
    figures: Mapping[str, Mapping[str, Any]],
    notes: list[str],
) -> Run | None:
    """Give a state of the repository as a run; None where it has no model or no figures, or malformed ones (noted)."""
    if state.data is None:
        return None
    files = {path: parameters.get("data") for path, parameters in state.data.params.items()}
    params = files.get("params.yaml") or {}
    read = figures.get(state.rev, {})
    tables = {path: table for path, table in read.items() if not _is_missing(table.get("error"))}
    if broken := [path for path, table in tables.items() if not is_figures(table.get("data"))]:
        notes.append(f"left out: {name}, whose {min(broken)} is not a table of figures: run `dvc repro --force` there")
        return None
    # The files of other studies are those of an earlier run, which Git still has.
    studies = params.get("studies", TITLES)
    metrics = {
        study: table["data"]
        for path, table in tables.items()
        if table["data"] and (study := Path(path).stem) in studies
    }
    if "model" not in params or not metrics:
        return None
    entry = files.get(f"models/{params['model']}.yaml") or {}
    created = state.data.timestamp
    return Run(name, state.rev, created, params, str(entry.get("title", params["model"])), metrics)


def _is_missing(error: object) -> bool:
    """Whether the error on a file is that there is none; DVC keeps some errors by the name of their type."""
    return getattr(error, "type", type(error).__name__) == FileNotFoundError.__name__


def _stale(repo: Any) -> str:  # noqa: ANN401  (DVC has no types)
    """Name a parameter that the workspace's last run did not have; empty where there is none.

    Figures of the workspace are those of its last run, while params.yaml may have been edited since.
    """
    from dvc.dependency import ParamsDependency

    for stage in repo.index.stages:
        for dependency in stage.deps:
            changed = dependency.workspace_status() if isinstance(dependency, ParamsDependency) else {}
            for names in changed.values():
                return min(names) if isinstance(names, dict) else str(dependency)
    return ""


def study_table(study: str, rows: list[Standing]) -> Table:
    """Lay out one study's figures, a model a row, each interval below its estimate."""
    from rich.table import Table

    table = Table(title=TITLES[study], title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    chosen = [headline for headline in measured(rows) if headline.study == study]
    table.add_column("model", no_wrap=True)
    judged = study in judged_studies(rows)
    for title in (*(["verdict"] if judged else []), *(headline.title for headline in chosen)):
        table.add_column(title)
    for row in rows:
        verdict = [row.verdicts.get(study, NOT_MEASURED)] if judged else []
        table.add_row(_marked(row), *verdict, *(_stacked(cell(row.figures[headline.name])) for headline in chosen))
    return table


def _stacked(text: str) -> str:
    """Put the interval and the group of an extreme below the estimate."""
    return text.replace(" (", "\n(").replace(", ", ",\n")
