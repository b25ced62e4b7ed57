"""Input and output of the Python interface: DataFrames read as tables, figures returned as DataFrames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from equipoise.figures.chart import Chart
    from equipoise.figures.effects import Effect

COLUMNS = ("family", "group", "measure", "n", "estimate", "ci_low", "ci_high", "p", "p_adjusted")
"""Columns of every table of figures; `docs/api.md` describes them."""
FLOATS = (*COLUMNS[4:], "base", "head", "margin")
"""Columns of floats, missing where undefined."""
DIGITS = 4
"""Significant digits of a number in a summary."""


@dataclass(frozen=True, repr=False)
class Figures:
    """Figures as a tidy table, as text, as a page of a notebook, as LaTeX, and as a picture.

    Attributes:
        title: what the figures are, in one line.
        frame: one figure a row; undefined values are missing (NaN).
        notes: caveats, a sentence each.
        verdict: what the figures say about the declared endpoint, in one sentence; empty for figures without one.
    """

    title: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    verdict: str = ""

    def summary(self) -> str:
        """Write the title, the verdict, the figures that have an interval or a test (else all), and the notes.

        Numbers have four significant digits; columns without any value are left out.
        """
        cells = self._cells()
        lines = [self.title, *([self._said] if self.verdict else []), ""]
        lines.append(cells.to_string(index=False) if len(cells) else "no figures")
        return "\n".join([*lines, *([""] if self.notes else []), *self.notes])

    def plot(self, *measures: str) -> Chart:
        """Draw the estimates with their intervals, a column for each measure and a line for each group.

        Args:
            measures: the measures to draw; by default all with an interval.

        Returns:
            A chart that a notebook draws, with its Vega-Lite specification as `spec`, and `save(path)`.

        Raises:
            EquipoiseError: the table has no such measure, or no figures that can be drawn.

        >>> from equipoise import adversarial, example
        >>> adversarial(example("amqa_answers")).plot("gap")
        Chart of 4 figures: Adversarial questions, 8 questions
        """
        from equipoise.figures.chart import forest

        if lacking := [name for name in ("measure", "estimate", "ci_low") if name not in self.frame]:
            raise EquipoiseError(f"plot: no column {lacking[0]!r} in {self.title!r}: plot a table of figures")
        known = list(dict.fromkeys(self.frame.measure))
        if unknown := [name for name in measures if name not in known]:
            raise EquipoiseError(f"plot: no measure {unknown[0]!r}: choose from {', '.join(known)}")
        drawn = self.frame[self.frame.measure.isin(measures or known) & self.frame.estimate.notna()]
        if not measures:
            drawn = drawn[drawn.ci_low.notna()]
        if drawn.empty:
            raise EquipoiseError(f"plot: no figure in {self.title!r} is defined: give more rows, or other measures")
        single_family = len({*drawn.family}) == 1
        columns = ["measure", "n", "estimate", "ci_low", "ci_high"]
        names = drawn.group if single_family else drawn.family + " " + drawn.group
        rows = drawn[columns].assign(name=names).astype(object)
        values = rows.where(rows.notna(), None).to_dict("records")
        return forest(self.title, [{str(name): value for name, value in row.items()} for row in values])

    def to_latex(self) -> str:
        """Write the figures of `summary` as a table of the package booktabs, with title, verdict and notes below."""
        cells = self._cells()
        numeric = {*COLUMNS[3:], *FLOATS}
        kinds = "".join("r" if name in numeric else "l" for name in cells.columns)
        rows = [[*cells.columns], *cells.to_numpy().tolist()]
        head, *body = (" & ".join(_latex(str(cell)) for cell in row) + r" \\" for row in rows)
        caption = _latex(" ".join(filter(None, [f"{self.title}.", self._said, *self.notes])))
        table = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
        inner = [r"\centering", *table, r"\end{tabular}", rf"\caption{{{caption}}}"]
        return "\n".join([r"\begin{table}", *inner, r"\end{table}", ""])

    @property
    def _said(self) -> str:
        return f"Verdict: {self.verdict}" if self.verdict else ""

    def _cells(self) -> pd.DataFrame:
        """Lay out the figures that are shown, as texts."""
        shown = self.frame
        if tested := [name for name in ("ci_low", "p") if name in shown]:
            shown = shown[shown[tested].notna().any(axis="columns")]
        shown = (shown if len(shown) else self.frame).dropna(axis="columns", how="all")
        return shown.map(_written)

    def _repr_html_(self) -> str:
        """Show the summary as a table in a notebook."""
        paragraphs = "".join(f"<p>{escape(text)}</p>" for text in filter(None, [self._said, *self.notes]))
        return f"<h4>{escape(self.title)}</h4>{self._cells().to_html(index=False, border=0)}{paragraphs}"

    def __repr__(self) -> str:
        """Show the summary."""
        return self.summary()


LATEX = str.maketrans(
    {
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        "±": r"$\pm$",
    }
)
"""What stands for a character that LaTeX would read as a command."""


def _latex(text: str) -> str:
    return text.translate(LATEX)


def _written(value: object) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.{DIGITS}g}"
    return "-" if value is None else str(value)


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """Put figures in a DataFrame with these columns; values that a row lacks are missing, numbers are floats."""
    import pandas as pd

    frame = pd.DataFrame([[row.get(name) for name in columns] for row in rows], columns=list(columns))
    floats = [name for name in columns if name in FLOATS]
    return frame.astype(dict.fromkeys(floats, float))


def row_of(effect: Effect) -> dict[str, Any]:
    """Lay out an effect as a row with plain p-values, the adjusted one by Holm's method."""
    fields = {name: getattr(effect, name) for name in COLUMNS if name in type(effect).model_fields}
    return fields | {"p": _p(effect.neg_log10_p), "p_adjusted": _p(effect.neg_log10_p_holm)}


def _p(neg_log10: float | None) -> float | None:
    return None if neg_log10 is None else float(10.0**-neg_log10)


def table(frame: object, name: str, needed: Sequence[str] = ()) -> Table:
    """Convert a DataFrame to a table, missing values to None.

    Raises:
        EquipoiseError: not a DataFrame, a column twice, or one of the `needed` columns missing.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise EquipoiseError(f"{name}: {type(frame).__name__} is not a pandas DataFrame: give pd.DataFrame(rows)")
    columns = [str(column) for column in frame.columns]
    if twice := [column for place, column in enumerate(columns) if column in columns[:place]]:
        raise EquipoiseError(f"{name}: duplicate column {twice[0]!r}: rename one of them")
    if missing := [column for column in needed if column not in columns]:
        there = ", ".join(columns) or "none"
        raise EquipoiseError(f"{name}: no column {missing[0]!r}; there are {there}: rename or add it")
    plain = frame.set_axis(columns, axis="columns").astype(object)
    rows = plain.where(plain.notna(), None).to_dict("records")
    return Table(name, [{str(column): value for column, value in row.items()} for row in rows])


def tables(frames: object, name: str, needed: Sequence[str] = ()) -> dict[str, Table]:
    """Convert one DataFrame, or several by name such as those of models; a single one is called `name`."""
    if isinstance(frames, Mapping):
        if not frames:
            raise EquipoiseError(f"{name}: no DataFrame: give at least one")
        return {str(key): table(frame, f"{name} {key}", needed) for key, frame in frames.items()}
    return {name: table(frames, name, needed)}
