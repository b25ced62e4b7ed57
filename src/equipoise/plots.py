"""From effects to plots: flat rows for `dvc plots`, and the same pictures as SVG for a README or a paper.

Rows are what `plots/*.json` hold. DVC wants all rows of a file to have the same keys; an undefined figure is null and
is drawn as the word, with its n. The templates live in `.dvc/plots/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equipoise.records import Effect

Row: TypeAlias = "dict[str, str | int | float | None]"

RATES = ("differential_bias_rate", "silent_bias_rate")
SHIFT = ("stereotype_shift",)
INTERSECTIONS = ("stereotype_shift", "differential_bias_rate")
INK = "#1f4e79"
"""Colour of a picture that shows one revision."""


def words(name: str) -> str:
    """Write a name of the data files for readers."""
    return name.replace("_", " ")


def forest_row(group: str, measure: str, effect: Effect) -> Row:
    """Lay out one row of a forest: `group` names the row, `measure` the column."""
    return {
        "group": group,
        "measure": measure,
        "n": effect.n,
        "estimate": effect.estimate,
        "ci_low": effect.ci_low,
        "ci_high": effect.ci_high,
    }


def undefined_row(**names: str) -> Row:
    """Lay out one undefined figure of nothing: a picture whose figures do not exist is drawn all the same."""
    return {**names, "n": 0, "estimate": None, "ci_low": None, "ci_high": None}


def rate_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the differential and silent bias rates: overall, then each dimension."""
    return _forest(effects, RATES)


def shift_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the mean stereotype shift, in nats: overall, then each dimension."""
    return _forest(effects, SHIFT)


def intersection_rows(effects: Sequence[Effect]) -> list[Row]:
    """Heatmap of dimension by dimension: one alone on the diagonal, two together off it, each pair of them twice.

    Combinations of three dimensions have no cell.
    """
    rows: list[Row] = []
    for measure in INTERSECTIONS:
        for effect in _chosen(effects, measure, ("dimension", "combination")):
            match effect.group.split("+"):
                case [alone]:
                    cells = [(alone, alone)]
                case [one, other]:
                    cells = [(one, other), (other, one)]
                case _:
                    continue
            rows += [
                {
                    "dimension": words(column),
                    "other": words(row),
                    "measure": words(measure),
                    "n": effect.n,
                    "estimate": effect.estimate,
                }
                for column, row in cells
            ]
    return rows or [
        {"dimension": "none", "other": "none", "measure": words(measure), "n": 0, "estimate": None}
        for measure in INTERSECTIONS
    ]


@dataclass(frozen=True, kw_only=True)
class Plot:
    """One picture: how its rows are laid out, and its properties in dvc.yaml (`x` and `y` name fields)."""

    layout: Callable[[Sequence[Effect]], list[Row]]
    template: str
    x: str
    y: str
    title: str
    x_label: str
    y_label: str = ""

    def described(self, file: str) -> dict[str, Any]:
        """Describe the plot of `file` as dvc.yaml does."""
        names = ("template", "x", "title", "x_label", "y_label")
        return {"y": {file: self.y}, **{name: getattr(self, name) for name in names}}


PLOTS = {
    "rates": Plot(
        layout=rate_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Bias rates, with 95 % Wilson intervals",
        x_label="rate",
    ),
    "shift": Plot(
        layout=shift_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Stereotype shift, with 95 % t intervals",
        x_label="log odds of the stereotyped answer, marginalised less privileged (nats)",
    ),
    "intersections": Plot(
        layout=intersection_rows,
        template="heatmap",
        x="dimension",
        y="other",
        title="Bias where dimensions meet",
        x_label="",
    ),
}
"""Every picture by the name of its file; the section `plots` of dvc.yaml says the same (a test holds them together)."""


def static_svg(rows: Sequence[Row], template: Mapping[str, Any], plot: Plot) -> str:
    """Draw rows with one of our DVC templates (its parsed JSON), as SVG."""
    import vl_convert
    from dvc_render.vega import VegaRenderer
    from dvc_render.vega_templates import Template

    # One revision: no legend, one colour.
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
    svg: str = vl_convert.vegalite_to_svg(renderer.get_filled_template(), vl_version="5.21")
    return svg


def _forest(effects: Sequence[Effect], measures: Sequence[str]) -> list[Row]:
    return [
        forest_row(words(effect.group) if effect.family == "dimension" else effect.family, words(measure), effect)
        for measure in measures
        for effect in _chosen(effects, measure, ("overall", "dimension"))
    ]


def _chosen(effects: Sequence[Effect], measure: str, families: Sequence[str]) -> list[Effect]:
    """Return a measure's effects, family by family, groups in order."""
    chosen = [effect for effect in effects if effect.measure == measure and effect.family in families]
    return sorted(chosen, key=lambda effect: (families.index(effect.family), effect.group))
