"""Input and output of the Python interface: DataFrames read as tables, figures returned as DataFrames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from equipoise.figures.effects import Effect

COLUMNS = ("family", "group", "measure", "n", "estimate", "ci_low", "ci_high", "p", "p_adjusted")
"""Columns of every table of figures; `docs/api.md` describes them."""
FLOATS = (*COLUMNS[4:], "base", "head", "margin")
"""Columns of floats, missing where undefined."""
DIGITS = 4
"""Significant digits of a number in a summary."""


@dataclass(frozen=True, repr=False)
class Figures:
    """Figures as a tidy table, and as text.

    Attributes:
        title: what the figures are, in one line.
        frame: one figure a row; undefined values are missing (NaN).
        notes: caveats, a sentence each.
    """

    title: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Write the title, the figures that have an interval or a test (else all), and the notes.

        Numbers have four significant digits; columns without any value are left out.
        """
        shown = self.frame
        if tested := [name for name in ("ci_low", "p") if name in shown]:
            shown = shown[shown[tested].notna().any(axis="columns")]
        shown = (shown if len(shown) else self.frame).dropna(axis="columns", how="all")
        cells = shown.map(_written)
        lines = [self.title, "", cells.to_string(index=False) if len(cells) else "no figures"]
        return "\n".join([*lines, *([""] if self.notes else []), *self.notes])

    def __repr__(self) -> str:
        """Show the summary."""
        return self.summary()


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
