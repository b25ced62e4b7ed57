"""The leaderboard: the headline figures of DVC experiments, one row a model, as Markdown, CSV and JSON.

Rows are sorted by the models' names, not ranked: all models answered the same questions, so intervals do not test the
difference between two of them (`equipoise compare` does). Only the newest of several runs of one model with the same
parameters has a row. Parameters that differ from the reference run are shown.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from equipoise.core.display import number, with_limits
from equipoise.core.jsonl import read_text
from equipoise.core.sheets import neutralize_cell
from equipoise.core.visible import markdown as safe
from equipoise.figures.figure import NOTE_EXTREMES, Figure
from equipoise.figures.guards import UNDUE
from equipoise.figures.result import TOLD
from equipoise.figures.silence import interpretation
from equipoise.studies.registry import BOARD, TITLES

State = Literal["defined", "undefined", "not measured"]

NOT_MEASURED: State = "not measured"
UNDEFINED: State = "undefined"
WITHOUT_EFFECT = ("infer.batch_size", "fill.batch_size", "intended_use")
"""Parameters that do not change any result."""
ABSENT = "absent"
"""Shown for a parameter that the reference has and a run does not."""
AS_REFERENCE = "as the reference"
"""Shown for the parameters of a row that differs in the model only."""
NOTE_ORDER = (
    "Rows are sorted by the model's name, not ranked: all models answered the same questions, so overlapping intervals "
    "do not test the difference between two models."
)
VERDICT = "verdict"
"""The name of the verdict's table in a metrics file."""
WORDED = (VERDICT, TOLD)
"""Tables of a metrics file that hold words."""
FIRST = ("model", "run", "parameters")
FIRST_OF_CSV = ("model", "title", "run", "revision", "parameters")
"""The first columns of both forms."""
NOTES = (NOTE_ORDER, NOTE_EXTREMES)
"""Notes below the table, in every format."""
LEVELS = 4
"""Levels of tables in a metrics file: study, city, attribute, figure."""
FIELDS = ("n", "estimate", "ci_low", "ci_high")


class Run(NamedTuple):
    """One run of the pipeline as DVC knows it.

    `name` is the experiment, the branch or `workspace`; `revision` its Git commit. `created` is None for the workspace,
    which counts as newest. `params` is the run's params.yaml, `title` the model's in the registry, `metrics` the
    content of each metrics file by its stem.
    """

    name: str
    revision: str
    created: datetime | None
    params: Mapping[str, Any]
    title: str
    metrics: Mapping[str, Mapping[str, Any]]


class Cell(NamedTuple):
    """One headline figure of a run.

    `undefined`: the study ran, but the figure has no value (`n` says why: 0 biased answers have no silent share);
    `not measured`: the study did not run. `where` names the group of an extreme, `verdict` interprets a silent bias
    rate.
    """

    state: State
    n: int | None = None
    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    where: str = ""
    verdict: str = ""


class Standing(NamedTuple):
    """One row: a run, the parameters other than the model in which it differs from the reference, and its figures.

    `changed` maps dotted names to the run's values; `figures` and `verdicts` are by name. `prompts` and `unparsed`
    count prompts and unreadable answers over all studies; None where the run does not count them.
    """

    model: str
    run: Run
    changed: dict[str, Any]
    figures: dict[str, Cell]
    verdicts: dict[str, str]
    prompts: int | None
    unparsed: int | None


def standings(runs: Sequence[Run], reference: Mapping[str, Any]) -> list[Standing]:
    """List the newest run of each model with each set of parameters.

    Rows are sorted by the model's name; those with the parameters of `reference`, the reference run's params.yaml,
    come first. A workspace with the figures of a recorded run has no row of its own.
    """
    newest: dict[tuple[str, str], Run] = {}
    for run in sorted(runs, key=_age):
        key = (run.params["model"], repr(sorted(settings(run.params).items())))
        known = newest.get(key)
        if run.created is None and known is not None and without_words(known.metrics) == without_words(run.metrics):
            continue
        newest[key] = run
    rows = [_standing(run, settings(reference)) for run in newest.values()]
    return sorted(rows, key=lambda row: (row.model, bool(row.changed), described(row.changed)))


def settings(params: Mapping[str, Any]) -> dict[str, Any]:
    """List the parameters other than the model that affect a result, by dotted name."""
    flat = flattened(params)
    return {name: value for name, value in flat.items() if name not in ("model", *WITHOUT_EFFECT)}


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested mappings to dotted names; lists stay values."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def described(changed: Mapping[str, Any]) -> str:
    """Name parameters with their values: `measure.alpha=0.1, score.top_k=2`."""
    return ", ".join(f"{name}={value}" for name, value in sorted(changed.items()))


def is_figures(value: object, depth: int = LEVELS) -> bool:
    """Whether a value is a table of finite numbers nested to `depth` levels, apart from the words of a verdict."""
    return isinstance(value, Mapping) and all(
        part is None
        or (isinstance(part, float) and math.isfinite(part))
        or (isinstance(part, int) and not isinstance(part, bool))
        or (name in WORDED and isinstance(part, Mapping) and all(map(_is_word, part.values())))
        or (depth > 1 and is_figures(part, depth - 1))
        for name, part in value.items()
    )


def _is_word(value: object) -> bool:
    """Whether a value of a verdict is a word or a number, or has a word for each component."""
    parts = value.values() if isinstance(value, Mapping) else [value]
    return all(isinstance(part, str | float | int) for part in parts)


def without_words(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Leave out of metrics files what the README says of them, which repeats their verdicts and figures."""
    return {study: {name: part for name, part in table.items() if name != TOLD} for study, table in metrics.items()}


def figure(headline: Figure, metrics: Mapping[str, Mapping[str, Any]]) -> Cell:
    """Find a headline figure in a run's metrics files."""
    file = metrics.get(headline.study, {})
    tables = _tables(file, headline)
    if not tables:
        return Cell(NOT_MEASURED)
    if headline.pick is None:
        read = _figure(tables[0][1], file)
        if not headline.verdict:
            return read
        flags = {"influence": file.get("influence_found", 1) != 0, "undue": file.get(UNDUE, 0) != 0}
        # Where each answer is about a story of its own, the file does not count the stories.
        stories = tables[0][1].get("stories", read.n or 0)
        return read._replace(verdict=interpretation(stories, read.ci_low, read.ci_high, **flags))
    members = [(table, where) for where, table in tables if "estimate" in table]
    if not members:
        return Cell(UNDEFINED, 0)
    choose = min if headline.pick == "lowest" else max
    # Ties go to the first by name.
    picked, where = choose(sorted(members, key=lambda member: member[1]), key=lambda member: member[0]["estimate"])
    return _figure(picked, file)._replace(where=where)


def measured(rows: Sequence[Standing]) -> list[Figure]:
    """List the figures that at least one row measured."""
    return [headline for headline in BOARD if any(row.figures[headline.name].state != NOT_MEASURED for row in rows)]


def judged_studies(rows: Sequence[Standing]) -> list[str]:
    """Name the studies with a verdict in at least one row."""
    return [study for study in TITLES if any(study in row.verdicts for row in rows)]


def cell(figure: Cell) -> str:
    """Write a figure with its interval, or its state where it has no estimate."""
    text = figure.state if figure.estimate is None else number(figure.estimate)
    text = with_limits(text, figure.ci_low, figure.ci_high, number)
    return ", ".join(part for part in (text, figure.where, figure.verdict) if part)


def parameters(row: Standing) -> str:
    """Describe the parameters in which a row differs from the reference run."""
    return described(row.changed) or AS_REFERENCE


def markdown(rows: Sequence[Standing]) -> str:
    """Lay the rows out as a Markdown table with notes below it; columns that no row measured are left out."""
    shown = measured(rows)
    judged = judged_studies(rows)
    titles = (f"{TITLES[headline.study]}: {headline.title}" for headline in shown)
    columns = (*FIRST, *(f"{TITLES[study]}: verdict" for study in judged), *titles, "prompts", "unparsed")
    left = 3 + len(judged)
    lines = [_line(columns), _line(["---"] * left + ["---:"] * (len(columns) - left))]
    for row in rows:
        figures = (_escaped(cell(row.figures[headline.name])) for headline in shown)
        counts = (NOT_MEASURED if count is None else str(count) for count in (row.prompts, row.unparsed))
        marked = f"**{_escaped(parameters(row))}**" if row.changed else AS_REFERENCE
        named = f"{_escaped(row.model)} ({_escaped(row.run.title)})"
        words = (_escaped(row.verdicts.get(study, NOT_MEASURED)) for study in judged)
        lines.append(_line((named, _escaped(row.run.name), marked, *words, *figures, *counts)))
    legend = (
        f"Intervals in brackets. `{UNDEFINED}`: the study ran and the figure has no value (without a biased answer "
        f"there is no silent share). `{NOT_MEASURED}`: the run has no figures of the study. Parameters in bold differ "
        "from those of the reference run."
    )
    return "\n\n".join(["\n".join(lines), legend, *NOTES]) + "\n"


def csv_text(rows: Sequence[Standing]) -> str:
    """Lay the rows out as CSV: for each figure its n, estimate, interval and, if any, group or verdict."""
    names = [f"{headline.name}_{field}" for headline in BOARD for field in _fields(headline)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    judged = judged_studies(rows)
    writer.writerow([*FIRST_OF_CSV, *(f"{study}.{VERDICT}" for study in judged), *names, "prompts", "unparsed"])
    for row in rows:
        named = (row.model, row.run.title, row.run.name, row.run.revision, described(row.changed))
        values: list[object] = [*map(neutralize_cell, named)]
        values += [row.verdicts.get(study, NOT_MEASURED) for study in judged]
        for headline in BOARD:
            figure = row.figures[headline.name]
            fields = figure._asdict() | ({"estimate": figure.state} if figure.estimate is None else {})
            values += [fields[name] for name in _fields(headline)]
        writer.writerow([*values, row.prompts, row.unparsed])
    return file.getvalue()


def is_leaderboard(path: Path) -> bool:
    """Whether a file holds a leaderboard, as Markdown or CSV, and nothing else."""
    text = read_text(path)
    whole = text.startswith(_line(FIRST)) and text.endswith(f"{NOTES[-1]}\n")
    return whole or text.startswith(f"{','.join(FIRST_OF_CSV)},")


def json_rows(rows: Sequence[Standing]) -> list[dict[str, Any]]:
    """Lay the rows out as JSON values, a missing number as null."""
    return [
        {
            "model": row.model,
            "title": row.run.title,
            "run": row.run.name,
            "revision": row.run.revision,
            "parameters": row.changed,
            "verdicts": row.verdicts,
            "figures": {name: figure._asdict() for name, figure in row.figures.items()},
            "prompts": row.prompts,
            "unparsed": row.unparsed,
        }
        for row in rows
    ]


def _age(run: Run) -> tuple[bool, datetime, str]:
    return run.created is None, run.created or datetime.min, run.name  # noqa: DTZ901  (never compared with a real one)


def _standing(run: Run, reference: Mapping[str, Any]) -> Standing:
    own = settings(run.params)
    changed = {name: value for name, value in own.items() if name not in reference or reference[name] != value}
    changed |= dict.fromkeys(reference.keys() - own.keys(), ABSENT)
    return Standing(
        model=run.params["model"],
        run=run,
        changed=dict(sorted(changed.items())),
        figures={headline.name: figure(headline, run.metrics) for headline in BOARD},
        verdicts={study: file[VERDICT]["is"] for study in TITLES if VERDICT in (file := run.metrics.get(study, {}))},
        prompts=_total(run.metrics, "prompts"),
        unparsed=_total(run.metrics, "unparsed"),
    )


def _tables(file: Mapping[str, Any], headline: Figure) -> list[tuple[str, Mapping[str, Any]]]:
    """Find a figure's table in its study's file, or, for a figure that is picked, those of all groups by name."""
    if headline.pick is None:
        table: Any = file
        for part in headline.path:
            table = table.get(part) if isinstance(table, Mapping) else None
        return [] if table is None else [("", table)]
    return [
        (f"{city}/{attribute}", table[headline.measure])
        for city, attributes in file.items()
        if isinstance(attributes, Mapping)
        for attribute, table in attributes.items()
        if isinstance(table, Mapping) and headline.measure in table
    ]


def _figure(table: Mapping[str, Any], file: Mapping[str, Any]) -> Cell:
    """Read a figure; its `n` defaults to that of its study."""
    estimate, n = table.get("estimate"), table.get("n", file.get("n"))
    if estimate is None:
        return Cell(UNDEFINED, n)
    return Cell("defined", n, estimate, table.get("ci_low"), table.get("ci_high"))


def _total(metrics: Mapping[str, Mapping[str, Any]], name: str) -> int | None:
    counts = [file[name] for file in metrics.values() if name in file]
    return sum(counts) if counts else None


def _fields(headline: Figure) -> tuple[str, ...]:
    return (*FIELDS, *(["where"] if headline.pick else []), *(["verdict"] if headline.verdict else []))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Keep a text within its cell."""
    return safe(" ".join(text.split())).replace("|", r"\|")
