"""From effects to plots: flat rows for `dvc plots`, and the same pictures as SVG for a README or a paper.

Rows are what `plots/*.json` hold. DVC wants all rows of a file to have the same keys; an undefined figure is null and
is drawn as the word, with its n. The templates `forest` and `heatmap` live in `.dvc/plots/`.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.records import Effect

Row: TypeAlias = "dict[str, str | int | float | None]"

RATES = ("differential_bias_rate", "silent_bias_rate")
SHIFT = ("stereotype_shift",)
INTERSECTIONS = ("stereotype_shift", "differential_bias_rate")
INK = "#1f4e79"
"""Colour of a picture that shows one revision."""


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
                    cells = list(permutations((one, other)))
                case _:
                    continue
            rows += [
                {
                    "dimension": _words(column),
                    "other": _words(row),
                    "measure": _words(measure),
                    "n": effect.n,
                    "estimate": effect.estimate,
                }
                for column, row in cells
            ]
    return rows


def static_svg(rows: Sequence[Row], template: Mapping[str, Any], **properties: str) -> str:
    """Draw rows with one of our DVC templates (its parsed JSON), as SVG.

    `properties` are those of the plot in dvc.yaml: `x`, `y` (names of fields), `x_label`, `y_label`, `title`.
    """
    import vl_convert
    from dvc_render.vega import VegaRenderer
    from dvc_render.vega_templates import Template

    # One revision: no legend, one colour.
    coloured = Template(dict(template), name="coloured")
    coloured.fill_anchor("color", {"value": INK})
    renderer = VegaRenderer(
        [{**row, "rev": ""} for row in rows], "static", template=Template(coloured.content, name="static"), **properties
    )
    svg: str = vl_convert.vegalite_to_svg(renderer.get_filled_template(), vl_version="5.21")
    return svg


def _forest(effects: Sequence[Effect], measures: Sequence[str]) -> list[Row]:
    return [
        {
            "group": _words(effect.group) if effect.family == "dimension" else effect.family,
            "measure": _words(measure),
            "n": effect.n,
            "estimate": effect.estimate,
            "ci_low": effect.ci_low,
            "ci_high": effect.ci_high,
        }
        for measure in measures
        for effect in _chosen(effects, measure, ("overall", "dimension"))
    ]


def _chosen(effects: Sequence[Effect], measure: str, families: Sequence[str]) -> list[Effect]:
    """Return a measure's effects, family by family, groups in order."""
    chosen = [effect for effect in effects if effect.measure == measure and effect.family in families]
    return sorted(chosen, key=lambda effect: (families.index(effect.family), effect.group))


def _words(name: str) -> str:
    return name.replace("_", " ")
