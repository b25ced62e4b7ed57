"""The leaderboard as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from equipoise.compare.leaderboard_rows import HEADLINES, NOT_MEASURED, STUDIES, UNDEFINED, described, measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.compare.leaderboard_rows import Figure, Headline, Standing

MINUS = "\N{MINUS SIGN}"
AS_REFERENCE = "as the reference"
"""What a row says of its parameters where only the model differs."""
NOTE_ORDER = (
    "Rows are sorted by the model's name, and none is a best one: all models answered the same questions, so that "
    "intervals that overlap, or do not, are no test of the difference between two models."
)
NOTE_EXTREMES = (
    "The lowest and the highest city accuracy ratio are picked among cities and attributes; the interval is that of "
    "the one picked, and too narrow for a pick."
)
NOTES = (NOTE_ORDER, NOTE_EXTREMES)
"""What every form of the table says below it."""


def number(value: float) -> str:
    """Write a figure with three digits and a real minus sign."""
    return f"{value:.3f}".replace("-", MINUS)


def cell(figure: Figure) -> str:
    """Write a figure with its interval, or the word for what it is instead."""
    if figure.estimate is None:
        return figure.state
    text = number(figure.estimate)
    if figure.ci_low is not None and figure.ci_high is not None:
        text += f" ({number(figure.ci_low)} to {number(figure.ci_high)})"
    return f"{text}, {figure.where}" if figure.where else text


def count(value: int | None) -> str:
    """Write a count, or that it was not taken."""
    return NOT_MEASURED if value is None else str(value)


def parameters(row: Standing) -> str:
    """Say in which parameters a row differs from the reference run."""
    return described(row.changed) or AS_REFERENCE


def markdown(rows: Sequence[Standing]) -> str:
    """Lay the rows out as a Markdown table with its notes below; a column that no row measured is left out."""
    shown = measured(rows)
    titles = (f"{STUDIES[headline.study]}: {headline.title}" for headline in shown)
    columns = ("model", "run", "parameters", *titles, "prompts", "unparsed")
    lines = [_line(columns), _line(["---"] * 3 + ["---:"] * (len(columns) - 3))]
    for row in rows:
        figures = (cell(row.figures[headline.name]) for headline in shown)
        marked = f"**{_escaped(parameters(row))}**" if row.changed else AS_REFERENCE
        named = f"{row.model} ({_escaped(row.run.title)})"
        lines.append(_line((named, _escaped(row.run.name), marked, *figures, count(row.prompts), count(row.unparsed))))
    legend = (
        f"Intervals in brackets. `{UNDEFINED}`: the study ran and the figure has no value (without a biased answer "
        f"there is no silent share). `{NOT_MEASURED}`: the run has no figures of the study. Parameters in bold differ "
        "from those of the reference run."
    )
    return "\n\n".join(["\n".join(lines), legend, *NOTES]) + "\n"


def csv_text(rows: Sequence[Standing]) -> str:
    """Lay the rows out as CSV: for each figure its n, estimate, interval and, of an extreme, where it stands."""
    fields = ("n", "estimate", "ci_low", "ci_high")
    names = [f"{headline.name}_{field}" for headline in HEADLINES for field in _fields(headline, fields)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["model", "title", "run", "revision", "parameters", *names, "prompts", "unparsed"])
    for row in rows:
        values: list[object] = [row.model, row.run.title, row.run.name, row.run.revision, described(row.changed)]
        for headline in HEADLINES:
            figure = row.figures[headline.name]
            found = figure._asdict() | ({"estimate": figure.state} if figure.estimate is None else {})
            values += [found[field] for field in _fields(headline, fields)]
        writer.writerow([*values, row.prompts, row.unparsed])
    return file.getvalue()


def json_rows(rows: Sequence[Standing]) -> list[dict[str, Any]]:
    """Lay the rows out as JSON values, a missing number as null."""
    return [
        {
            "model": row.model,
            "title": row.run.title,
            "run": row.run.name,
            "revision": row.run.revision,
            "parameters": row.changed,
            "figures": {name: figure._asdict() for name, figure in row.figures.items()},
            "prompts": row.prompts,
            "unparsed": row.unparsed,
        }
        for row in rows
    ]


def _fields(headline: Headline, fields: Sequence[str]) -> list[str]:
    return [*fields, "where"] if headline.extreme else [*fields]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Keep a text within its cell."""
    return " ".join(text.split()).replace("|", r"\|")
