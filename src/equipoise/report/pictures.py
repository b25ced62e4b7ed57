"""The pictures: our DVC templates filled with a run's rows, and each picture's rows as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from equipoise.metrics.headlines import number
from equipoise.report.plots.plot import Plot, Row, filled, words


class Picture(NamedTuple):
    """One picture: its Vega-Lite specification, and its rows for those who do not see it."""

    name: str
    title: str
    spec: dict[str, Any]
    columns: list[str]
    rows: list[list[str]]


def picture(name: str, plot: Plot, rows: Sequence[Row], template: Mapping[str, Any]) -> Picture:
    """Fill a plot's template (parsed JSON) with its rows. The page prints the title, so that the picture has none."""
    spec = filled(rows, template, plot)
    spec.pop("title", None)
    columns = list(rows[0]) if rows else []
    return Picture(
        name,
        plot.title,
        _of_one_revision(spec),
        [words(column) for column in columns],
        [[_cell(row[column]) for column in columns] for row in rows],
    )


def _of_one_revision(spec: Any) -> Any:  # noqa: ANN401  (any part of a specification)
    """Take the revision, which is empty, out of every tooltip."""
    if isinstance(spec, dict):
        return {name: _of_one_revision(_shown(name, part)) for name, part in spec.items()}
    if isinstance(spec, list):
        return [_of_one_revision(part) for part in spec]
    return spec


def _shown(name: str, part: Any) -> Any:  # noqa: ANN401  (any part of a specification)
    if name != "tooltip" or not isinstance(part, list):
        return part
    return [entry for entry in part if entry.get("field") != "rev"]


def _cell(value: str | float | None) -> str:
    """Write a cell; counts stay whole."""
    if value is None:
        return "undefined"
    return number(value) if isinstance(value, float) else str(value)
