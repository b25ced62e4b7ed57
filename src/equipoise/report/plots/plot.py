"""One plot: its rows, its properties in dvc.yaml, and the same picture filled or drawn for one revision.

Rows are what `plots/*.json` hold. DVC wants all rows of a file to have the same keys; an undefined figure is null and
is drawn as the word, with its n. The templates live in `.dvc/plots/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from equipoise.core.records import Effect

Row: TypeAlias = "dict[str, str | int | float | None]"


INK = "#1f4e79"
"""Colour of a picture that shows one revision."""


def words(name: str) -> str:
    """Write a name of the data files for readers."""
    return name.replace("_", " ")


def forest_row(group: str, measure: str, effect: Effect) -> Row:
    """Lay out one row of a forest: `group` names the row, `measure` the column."""
    return {"group": group, "measure": measure, **figure(effect)}


def figure(effect: Effect) -> Row:
    """Lay out an effect's estimate with its n and interval."""
    return {"n": effect.n, "estimate": effect.estimate, "ci_low": effect.ci_low, "ci_high": effect.ci_high}


def undefined_row(**names: str) -> Row:
    """Lay out one undefined figure of nothing: a picture whose figures do not exist is drawn all the same."""
    return {**names, "n": 0, "estimate": None, "ci_low": None, "ci_high": None}


@dataclass(frozen=True, kw_only=True)
class Plot:
    """One picture: how its rows are laid out, and its properties in dvc.yaml (`x` and `y` name fields).

    `places` is the number of decimal places of the rows: 3, or 2 for nats.
    """

    layout: Callable[[Sequence[Effect]], list[Row]]
    template: str = "forest"
    x: str = "estimate"
    y: str = "group"
    title: str
    x_label: str
    y_label: str = ""
    places: int = 3

    def rows(self, effects: Sequence[Effect]) -> list[Row]:
        """Lay out the rows, rounded to what another processor reproduces (see `equipoise.metrics.headlines.shown`)."""
        return [
            {
                name: round(value, self.places) + 0.0 if isinstance(value, float) else value
                for name, value in row.items()
            }
            for row in self.layout(effects)
        ]

    def described(self, file: str) -> dict[str, Any]:
        """Describe the plot of `file` as dvc.yaml does."""
        names = ("template", "x", "title", "x_label", "y_label")
        return {"y": {file: self.y}, **{name: getattr(self, name) for name in names}}


def filled(rows: Sequence[Row], template: Mapping[str, Any], plot: Plot) -> dict[str, Any]:
    """Fill a template as `dvc plots` does, for one revision: no legend, one colour."""
    from dvc_render.vega import VegaRenderer
    from dvc_render.vega_templates import Template

    coloured = Template(dict(template), name="coloured")
    coloured.fill_anchor("color", {"value": INK})
    renderer = VegaRenderer(
        [{**row, "rev": ""} for row in rows],
        "static",
        template=Template(coloured.content, name="static"),
        x=plot.x,
        y=plot.y,
        x_label=plot.x_label,
        y_label=plot.y_label,
        title=plot.title,
    )
    spec: dict[str, Any] = renderer.get_filled_template()
    return spec


def static_svg(rows: Sequence[Row], template: Mapping[str, Any], plot: Plot) -> str:
    """Draw rows with one of our DVC templates (its parsed JSON), as SVG."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(filled(rows, template, plot), vl_version="5.21")
    return svg
