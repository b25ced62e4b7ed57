"""Tests of the stigma study's pictures."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import vl_convert
from dvc_render.vega import VegaRenderer
from dvc_render.vega_templates import Template

from builders import fill
from equipoise.figures.options import Measure
from equipoise.figures.plot import static_svg
from equipoise.studies.stigma.effects import stigma_effects
from equipoise.studies.stigma.plots import GENDERS, PLOTS, gender_rows, stigma_rows

if TYPE_CHECKING:
    from equipoise.figures.effects import Effect
    from equipoise.studies.stigma.rows import ConditionSet, Question

TEMPLATES = Path(__file__).parents[3] / ".dvc" / "plots"
GROUPS: dict[Question, tuple[str, ...]] = {
    "rq1": ("action", "diagnosis", "intention"),
    "rq2": ("pity", "social_distance"),
}
SETS: tuple[tuple[ConditionSet, float], ...] = (("mental", 0.4), ("control", 0.2))


def study(conditions: int) -> list[Effect]:
    """Estimate effects of a study with one sentence a group; male is 0.1, and the conditions differ by hundredths."""
    return stigma_effects(
        [
            fill(
                group,
                f"{of} {number}",
                female + number / 100,
                0.1,
                question=question,
                group=group,
                condition_set=of,
                scorer="masked",
            )
            for question, groups in GROUPS.items()
            for group in groups
            for of, female in SETS
            for number in range(conditions)
        ],
        Measure(),
    )


EFFECTS, SINGLE = study(3), study(1)
"""Three conditions a set, and one, which leaves no interval."""


def template(name: str) -> dict[str, Any]:
    """Read one of our templates."""
    content: dict[str, Any] = json.loads((TEMPLATES / f"{name}.json").read_text(encoding="utf-8"))
    return content


def texts(svg: str) -> list[str]:
    """Collect what is written in a picture."""
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314


def test_phases_come_in_the_order_of_seeking_care() -> None:
    """Bars are by phase, then `all`, three genders each, mental illness before control conditions."""
    rows = gender_rows(EFFECTS)

    assert [(row["panel"], row["group"], row["series"]) for row in rows] == [
        (panel, phase, gender)
        for panel in ("mental illness", "control conditions")
        for phase in ("diagnosis", "intention", "action", "all")
        for gender in GENDERS
    ]


def test_a_bar_has_its_probability_and_interval() -> None:
    """Female probabilities 0.40, 0.41 and 0.42 are drawn at 0.41, with the interval over the three conditions."""
    row = gender_rows(EFFECTS)[0]

    # the quantile of t with 2 degrees of freedom at 0.975 is 4.302653; the error 0.01 / sqrt(3)
    assert (row["n"], row["estimate"], row["ci_low"]) == pytest.approx((3, 0.41, 0.41 - 4.302653 * 0.01 / 3**0.5))


def test_dimensions_have_three_columns() -> None:
    """Each dimension has its disparity beside mental illness, beside control conditions, and the difference."""
    rows = stigma_rows(EFFECTS)

    assert [(row["measure"], row["group"]) for row in rows] == [
        (column, dimension)
        for column in ("mental illness", "control conditions", "difference")
        for dimension in ("pity", "social distance", "all")
    ]
    # 0.41 less 0.1, 0.21 less 0.1
    assert [row["estimate"] for row in rows[::3]] == pytest.approx([0.31, 0.11, 0.2])


def test_columns_of_a_picture_keep_their_order() -> None:
    """Mental illness is left of the control conditions, and the difference right of both."""
    plot = PLOTS["stigma"]
    written = texts(static_svg(stigma_rows(EFFECTS), template(plot.template), plot, 0.05))

    assert written.index("mental illness") < written.index("control conditions") < written.index("difference")


def test_bars_show_probability_and_number() -> None:
    """A bar names its value and n; the legend names the genders."""
    plot = PLOTS["genders"]
    written = texts(static_svg(gender_rows(EFFECTS), template("bars"), plot, 0.05))

    assert {"diagnosis", "all", "0.41, n = 3", "0.00, n = 3", *GENDERS} <= set(written)


def test_bars_start_at_zero() -> None:
    """The axis of bars holds zero, however far the probabilities are from it."""
    plot = PLOTS["genders"]
    rows = [{**row, "estimate": 0.9, "ci_low": 0.89, "ci_high": 0.91} for row in gender_rows(EFFECTS)]

    assert {"0.0", "0.8"} <= set(texts(static_svg(rows, template("bars"), plot, 0.05)))


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.parametrize("effects", [EFFECTS, SINGLE, []])
def test_pictures_are_drawn(name: str, effects: list[Effect]) -> None:
    """Every picture is drawn, with or without intervals or figures, with equal keys in every row and no NaN."""
    plot = PLOTS[name]
    rows = plot.layout(effects)
    svg = static_svg(rows, template(plot.template), plot, 0.05)

    assert rows
    assert len({frozenset(row) for row in rows}) == 1
    assert plot.titled(0.05) in texts(svg)
    assert "NaN" not in svg
    # Vega writes the largest number where a size is unknown.
    assert "e+" not in svg


@pytest.mark.parametrize(("name", "word"), [("genders", "undefined, n = 0"), ("stigma", "undefined")])
def test_undefined_figures_are_named(name: str, word: str) -> None:
    """A study without fills is drawn as undefined, of no sentence."""
    plot = PLOTS[name]

    assert word in texts(static_svg(plot.layout([]), template(plot.template), plot, 0.05))


@pytest.mark.parametrize("name", PLOTS)
def test_revisions_are_distinguished(name: str) -> None:
    """A picture of two revisions names both, as `dvc plots diff` draws it."""
    plot = PLOTS[name]
    rows = [{**row, "rev": rev} for rev in ("workspace", "HEAD") for row in plot.layout(EFFECTS)]
    renderer = VegaRenderer(
        rows,
        name,
        template=Template(template(plot.template), name=plot.template),
        x=plot.x,
        y=plot.y,
        x_label=plot.x_label,
        y_label=plot.y_label,
        title=plot.titled(0.05),
    )
    written = texts(vl_convert.vegalite_to_svg(renderer.get_filled_template(), vl_version="5.8"))

    assert {"workspace", "HEAD"} <= set(written)
