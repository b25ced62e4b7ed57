"""One plot: its rows, its properties in dvc.yaml, and the same picture filled or drawn for one revision.

The rows are in `plots/*.json`. DVC wants all rows of a file to have the same keys; an undefined figure is null and is
drawn as the word, with its n. The templates are in `.dvc/plots/`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from equipoise.core.display import number
from equipoise.core.visible import visible
from equipoise.figures.effects import Effect

Row: TypeAlias = "dict[str, str | int | float | None]"
INK = "#1f4e79"
"""Colour of a picture that shows one revision."""
LEVEL = "{level} "
"""The confidence level of the intervals in a title; left out in `dvc plots`."""


class Picture(NamedTuple):
    """One picture: its Vega-Lite specification, and its rows as text for readers who cannot see it."""

    name: str
    title: str
    spec: dict[str, Any]
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class Plot:
    """One picture: how its rows are laid out, and its properties in dvc.yaml (`x` and `y` name fields).

    `places` is the number of decimal places of the rows: 3, or 2 for nats. With `zone` the declared margin of
    each measure that the verdict rests on is shaded in its column. `names` are readers' names of measures.
    """

    layout: Callable[[Sequence[Effect]], list[Row]]
    template: str = "forest"
    x: str = "estimate"
    y: str = "group"
    title: str
    x_label: str
    y_label: str = ""
    places: int = 3
    zone: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def rows(self, effects: Sequence[Effect], margins: Mapping[str, float] | None = None) -> list[Row]:
        """Lay out the rows, rounded as `figure.shown` does; `margins` are those of the study's verdict, by measure."""
        rows = _with_margin(self.layout(effects), margins or {}) if self.zone else self.layout(effects)
        named = {words(measure): name for measure, name in self.names.items()}
        renamed = [row | {"measure": named.get(str(row.get("measure")), row.get("measure"))} for row in rows]
        return [
            {
                name: round(value, self.places) + 0.0 if isinstance(value, float) else value
                for name, value in row.items()
            }
            for row in (renamed if named else rows)
        ]

    def titled(self, alpha: float) -> str:
        """Write the title with the confidence level 1 − alpha."""
        return self.title.replace(LEVEL, f"{100 * (1 - alpha):g} % ")

    def described(self, file: str) -> dict[str, Any]:
        """Describe the plot of `file` as dvc.yaml does."""
        fields = {name: getattr(self, name) for name in ("template", "x", "x_label", "y_label")}
        return {"y": {file: self.y}, "title": self.title.replace(LEVEL, ""), **fields}

    def picture(self, name: str, rows: list[Row], template: Mapping[str, Any], alpha: float) -> Picture:
        """Fill a template (parsed JSON) with rows; the page prints the title, the picture has none."""
        spec = filled(rows, template, self, alpha)
        spec.pop("title", None)
        columns = list(rows[0]) if rows else []
        cells = [[_written(row[column]) for column in columns] for row in rows]
        return Picture(name, self.titled(alpha), _of_one_revision(spec), [words(name) for name in columns], cells)


def _with_margin(rows: Sequence[Row], margins: Mapping[str, float]) -> list[Row]:
    """Add its measure's margin to each row; None where it has none."""
    of = {words(measure): margin for measure, margin in margins.items()}
    return [{**row, "margin": of.get(str(row["measure"]))} for row in rows]


def filled(rows: Sequence[Row], template: Mapping[str, Any], plot: Plot, alpha: float) -> dict[str, Any]:
    """Fill a template as `dvc plots` does, for one revision: no legend, one colour."""
    from dvc_render.vega import VegaRenderer
    from dvc_render.vega_templates import Template

    coloured = Template(dict(template), name="coloured")
    coloured.fill_anchor("color", {"value": INK})
    renderer = VegaRenderer(
        [
            {**{name: visible(cell) if isinstance(cell, str) else cell for name, cell in row.items()}, "rev": ""}
            for row in rows
        ],
        "static",
        template=Template(coloured.content, name="static"),
        x=plot.x,
        y=plot.y,
        x_label=plot.x_label,
        y_label=plot.y_label,
        title=plot.titled(alpha),
    )
    spec: dict[str, Any] = renderer.get_filled_template()
    return spec


def static_svg(rows: Sequence[Row], template: Mapping[str, Any], plot: Plot, alpha: float) -> str:
    """Draw rows with one of our DVC templates (parsed JSON), as SVG."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(filled(rows, template, plot, alpha), vl_version="5.21")
    return svg


def _of_one_revision(spec: Any) -> Any:  # noqa: ANN401  (any part of a specification)
    """Remove the revision, which is empty, from every tooltip."""
    if isinstance(spec, list):
        return [_of_one_revision(part) for part in spec if not (isinstance(part, dict) and part.get("field") == "rev")]
    if isinstance(spec, dict):
        return {name: _of_one_revision(part) for name, part in spec.items()}
    return spec


def _written(value: str | float | None) -> str:
    """Write a cell; counts stay whole."""
    if value is None:
        return "undefined"
    return number(value) if isinstance(value, float) else str(value)


def words(name: str) -> str:
    """Write a name of the data files for readers."""
    return name.replace("_", " ")


def select(
    effects: Sequence[Effect], family: str, *measures: str, order: Sequence[str] = (), last: str = ""
) -> list[Effect]:
    """Select the effects of some measures in a family, by group, and within a group in the order of the measures.

    The groups of `order` come first, the others by name, and `last` at the end.
    """
    places = {group: place for place, group in enumerate(order)}
    return sorted(
        (effect for effect in effects if effect.family == family and effect.measure in measures),
        key=lambda effect: (
            effect.group == last,
            places.get(effect.group, len(places)),
            effect.group,
            measures.index(effect.measure),
        ),
    )


def figure(effect: Effect) -> Row:
    """Lay out an effect's estimate with its n and interval."""
    return {"n": effect.n, "estimate": effect.estimate, "ci_low": effect.ci_low, "ci_high": effect.ci_high}


def undefined_row(**names: str) -> Row:
    """Lay out one undefined figure, so that a picture without figures is drawn all the same."""
    return {**names, "n": 0, "estimate": None, "ci_low": None, "ci_high": None}


def undefined_rows(measures: Iterable[str]) -> list[Row]:
    """Lay out an undefined row for each measure, for a run without any of them."""
    return [undefined_row(group="overall", measure=words(measure)) for measure in measures]


def forest_row(group: str, measure: str, effect: Effect) -> Row:
    """Lay out one row of a forest: `group` names the row, `measure` the column."""
    return {"group": group, "measure": measure, **figure(effect)}


def forest(
    effects: Sequence[Effect], families: Iterable[str], measures: Iterable[str], order: Sequence[str] = ()
) -> list[Row]:
    """Lay out each measure by family and group, the groups of `order` first."""
    return [
        forest_row("overall" if family == "overall" else words(effect.group), words(measure), effect)
        for measure in measures
        for family in families
        for effect in select(effects, family, measure, order=order)
    ]


def with_reference(rows: Iterable[Row], value: float) -> list[Row]:
    """Add the value that shows no bias, at which the forest has a line."""
    return [{**row, "reference": value} for row in rows]


def heatmap_cell(column: str, line: str, measure: str) -> Row:
    """Name a heatmap's cell by its column, line and measure."""
    return {"dimension": column, "other": line, "measure": words(measure)}


def heatmap(
    layout: Callable[[Sequence[Effect]], list[Row]], title: str, names: Mapping[str, str] | None = None
) -> Plot:
    """Describe a picture of figures by two names (`heatmap_cell`); `names` are readers' names of measures."""
    return Plot(layout=layout, template="heatmap", x="dimension", y="other", title=title, x_label="", names=names or {})
