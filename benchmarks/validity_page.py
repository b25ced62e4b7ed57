"""The page on the validity of the statistics, rendered from the rows of benchmarks/validity.jsonl alone."""

from __future__ import annotations

from itertools import groupby
from textwrap import fill
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Row = Mapping[str, Any]

MINUS = "\N{MINUS SIGN}"
WIDTH = 120
VERDICTS = ("within", "conservative", "deviates")
PREFACE = """# Validity of the statistics

Data are simulated with known parameters, the library's own functions estimate them, and the results are compared with
their nominal properties. [`validity.jsonl`](../benchmarks/validity.jsonl) has every result, one row per figure.
`make validity` repeats the simulations with a fixed seed and writes the data and this page.

**The simulations** cover binary rates and pairs; an imperfect classifier, with labelled samples that estimate its error
rates; differences that are normal, heavy-tailed (t with 3 degrees of freedom) or skewed (exponential), with mean 0 and
standard deviation 1; sentences clustered by condition (half of the variance); vignette pairs with given rates of
differential bias, or of hits and false alarms; questions whose answers about two groups equal the answer at baseline
with given probabilities; exams with given confusion rates; families of tests; and labelled runs scored by a judge whose
error rates differ between the arms and from those on its card. Observations are independent unless a row says
otherwise. Some settings violate an assumption on purpose, to show the size of the error.

**The nominal value** is 0.95 for the coverage of an interval; 0.05 for the type I error of a test, the family-wise
error rate (Holm) and the false discovery rate (Benjamini-Hochberg); 0.025 for a false verdict at the margin (0.05 for
*not worse* at the gate); the stated power for a test of a real effect; the closed form for the mean and standard
deviation over partitions; 0.6 for the mean share of the prompts that a study with early stopping uses; and 1 for the
mean width of an interval relative to another's. If the nominal value is the true one, the measured value falls into the
**band** with probability 99.9 % (binomial; normal for means and standard deviations): with a hundred such rows, the
chance that at least one falls outside is about one in ten. A row is

- **within** the band: no deviation is detectable with this number of draws (400 to 20,000);
- **conservative**: outside on the safe side, with more coverage or power, fewer errors or a lower cost;
- **deviates**: outside on the other side. [Every such row](#what-deviates-and-why) is listed with its reason.

Draws without a defined figure are excluded; the data give their proportion. Bootstraps use 1,000 resamples here, and
10,000 in `params.yaml`. A result applies to its setting only.
"""
COLUMNS = {
    "coverage": ("coverage",),
    "errors": ("error",),
    "power": ("power",),
    "cost, mean, sd": ("cost", "mean", "sd"),
}
"""Kinds of rows by the column of the summary that has their range."""
DEVIATIONS = """## What deviates, and why

The band is in brackets. A dash marks a setting in which the figure does not deviate or was not simulated.
"""


def page_of(rows: Sequence[Row]) -> str:
    """Write the page: a summary by section, then every row that deviates; one without a reason is an EquipoiseError."""
    if unexplained := next((row for row in rows if row["verdict"] == "deviates" and not row["note"]), None):
        message = f"{unexplained['key']}/{unexplained['figure']} deviates without an explanation: add a note to its row"
        raise EquipoiseError(message)
    counts = _counts(rows)
    total = f"{sum(counts)} rows: {', '.join(f'{n} {name}' for n, name in zip(counts, VERDICTS, strict=True))}."
    parts = [PREFACE, "## Figures", "", f"{total} Ranges include the rows that deviate.", ""]
    parts += [*_summary(rows), "", DEVIATIONS]
    wrong = [row for row in rows if row["verdict"] == "deviates"]
    for title, section in groupby(wrong, lambda row: row["section"]):
        parts += [f"### {title}", ""]
        for note, alike in _by(section, "note").items():
            parts += [fill(note, WIDTH), "", *_grid(alike), ""]
    return "\n".join(parts).rstrip() + "\n"


def _counts(rows: Iterable[Row]) -> list[int]:
    verdicts = [row["verdict"] for row in rows]
    return [verdicts.count(name) for name in VERDICTS]


def _by(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    """Group rows by a field, in order of appearance."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    return groups


def _summary(rows: Iterable[Row]) -> Iterator[str]:
    """Write a line per section: the number of rows by verdict, and the range of the measured values by kind."""
    yield _line(["section", *VERDICTS, *COLUMNS])
    yield f"|---|{'---:|' * (len(VERDICTS) + len(COLUMNS))}"
    for title, section in _by(rows, "section").items():
        ranges = []
        for kinds in COLUMNS.values():
            values = [row["measured"] for row in section if row["kind"] in kinds and row["measured"] is not None]
            ranges.append(f"{_number(min(values))} to {_number(max(values))}" if values else "")
        yield _line([title, *map(str, _counts(section)), *ranges])


def _grid(rows: Sequence[Row]) -> Iterator[str]:
    """Lay out rows with the same reason by figure and setting, whichever are fewer in the columns.

    A band that all cells share is in the head of the table, one that a figure's cells share beside its name.
    """
    cells = {(row["method"], row["setting"]): row for row in rows}
    figures, settings = _by(rows, "method"), _by(rows, "setting")
    shared = {name: len({*map(_nominal, column)}) == 1 for name, column in figures.items()}
    alike = len({*map(_nominal, rows)}) == 1
    names = {
        name: f"{name}, nominal {_nominal(column[0])}" if shared[name] and not alike else name
        for name, column in figures.items()
    }
    corner = f"nominal {_nominal(rows[0])}" if alike else ""
    if not any(shared.values()):
        corner = f"nominal {_number(rows[0]['nominal'])}"

    def cell(figure: str, setting: str) -> str:
        row = cells.get((figure, setting))
        return "–" if row is None else _number(row["measured"]) + _band(row) * (not shared[figure])

    if len(figures) > len(settings):
        lines = [[names[figure], *(cell(figure, setting) for setting in settings)] for figure in figures]
        lines.insert(0, [corner, *settings])
    else:
        lines = [[setting, *(cell(figure, setting) for figure in figures)] for setting in settings]
        lines.insert(0, [corner, *names.values()])
    yield _line(lines[0])
    yield f"|---|{'---:|' * (len(lines[0]) - 1)}"
    yield from map(_line, lines[1:])


def _nominal(row: Row) -> str:
    return _number(row["nominal"]) + _band(row)


def _band(row: Row) -> str:
    return f" ({_number(row['low'])} to {_number(row['high'])})"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", MINUS)
