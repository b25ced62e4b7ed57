"""The tables of a run, and their forms for a paper: LaTeX, and a drawing as SVG."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from equipoise.core.visible import line
from equipoise.export.run import LIMITS, Run, estimate, interval
from equipoise.figures.effects import Effect
from equipoise.figures.figure import Figure, endpoint_kind, undefined

SPECIAL = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{MINUS SIGN}": "$-$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "\N{NO-BREAK SPACE}": "~",
    "\N{EN DASH}": "--",
    "→": r"$\rightarrow$",
    "Δ": r"$\Delta$",
    "′": r"$'$",
}
"""What a character is in LaTeX, if not itself."""
WIDEST = 44
"""Characters of a line of a cell that is drawn."""
SIZE, LEADING, GAP = 12, 16, 16
"""Font size, distance of lines, and gap between columns of a drawing, in pixels."""
ADVANCE = 0.55
"""Widest mean advance of a sans-serif font's characters, in font sizes."""


class Table(NamedTuple):
    """A table: a name for files and labels, a caption, the head and the rows, all as text."""

    name: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(run: Run) -> list[Table]:
    """Lay out the verdicts, then each study's headline figures."""
    caption = f"Verdicts on {run.title} ({run.version}). {LIMITS}"
    if run.intended_use:
        caption = f"{caption} Intended use: {run.intended_use}"
    head = ("study", "verdict", "in full", "margins")
    verdicts = [
        (assessment.study.title, assessment.state, assessment.claim, assessment.opening.margins)
        for assessment in run.studies
    ]
    all_tables = [Table("verdicts", caption, head, verdicts)]
    level = f"{100 * (1 - run.alpha):g} % interval"
    for assessment in run.studies:
        rows = [_row(figure, row, 1 - run.alpha, assessment.result.why_without) for figure, row in assessment.rows]
        # The verdict stands with its figures: nobody is to read the one without the other.
        told = f"{assessment.study.title}: headline figures of {run.title}. {assessment.claim}"
        all_tables.append(Table(assessment.study.name, told, ("figure", "endpoint", "n", "estimate", level), rows))
    return all_tables


def _row(figure: Figure, row: Effect, level: float, without: str) -> tuple[str, ...]:
    value = estimate(row) if row.estimate is not None else f"undefined: {undefined(figure, row, without)}"
    return figure.title, endpoint_kind(row), str(row.n), value, interval(row, level).partition(" (")[0]


def latex_files(run: Run) -> Mapping[str, str]:
    """Write `tables.tex`, which a document with the packages array, booktabs and longtable includes."""
    needs = "% Needs: \\usepackage{array,booktabs,longtable}\n\\setlength{\\LTcapwidth}{\\linewidth}\n"
    return {"tables.tex": needs + "\n".join(map(latex, tables(run)))}


def latex(table: Table) -> str:
    """Write a table in LaTeX, over several pages if need be."""
    widths = [max(len(row[place]) for row in (table.head, *table.rows)) for place in range(len(table.head))]
    share = [min(max(width, 6), 40) for width in widths]
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{{0.86 * width / sum(share):.3f}\linewidth}}" for width in share
    )
    head = _latex_row(table.head)
    lines = [
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{latex_text(table.caption)}}}\label{{tab:equipoise-{table.name}}}\\",
        r"\toprule",
        head,
        r"\midrule",
        r"\endhead",
        *map(_latex_row, table.rows),
        r"\bottomrule",
        r"\end{longtable}",
        "",
    ]
    return "\n".join(lines)


def latex_text(text: str) -> str:
    """Write a text so that LaTeX prints its characters."""
    return "".join(SPECIAL.get(char, char) for char in line(text))


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"


def svg(table: Table) -> str:
    """Draw a table as SVG, long cells in several lines."""
    rows = [[textwrap.wrap(line(cell), WIDEST) or [""] for cell in row] for row in (table.head, *table.rows)]
    widths = [max(len(text) for row in rows for text in row[place]) for place in range(len(table.head))]
    lefts = [
        GAP + sum(round(column_width * SIZE * ADVANCE) + GAP for column_width in widths[:place])
        for place in range(len(widths))
    ]
    width = lefts[-1] + round(widths[-1] * SIZE * ADVANCE) + GAP
    caption = textwrap.wrap(line(table.caption), max(WIDEST, int(width / (SIZE * ADVANCE)) - 4))
    top, parts = LEADING, []
    for text in caption:
        top += LEADING
        parts.append(_text(GAP, top, text))
    for number, row in enumerate(rows):
        top += LEADING // 2
        for left, cell in zip(lefts, row, strict=True):
            weight = ' font-weight="bold"' if not number else ""
            parts += [_text(left, top + LEADING * place, text, weight) for place, text in enumerate(cell, 1)]
        top += LEADING * max(map(len, row))
        if not number:
            parts.append(f'<path d="M{GAP} {top + 6}H{width - GAP}" stroke="#444"/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + LEADING}"'
    style = f' font-family="sans-serif" font-size="{SIZE}" fill="#111">'
    return "\n".join([f"{head}{style}", '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>\n"])


def _text(left: int, top: int, text: str, more: str = "") -> str:
    return f'<text x="{left}" y="{top}"{more}>{escape(text)}</text>'
