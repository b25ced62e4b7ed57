"""Tests of plot rows, of our DVC templates and of the static pictures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import vl_convert
from dvc_render.vega import VegaRenderer
from dvc_render.vega_templates import Template

from equipoise.figures.effects import Effect
from equipoise.figures.options import Measure
from equipoise.figures.plot import static_svg
from equipoise.studies.registry import STUDIES
from equipoise.studies.vignettes.effects import vignette_effects
from equipoise.studies.vignettes.plots import (
    PLOTS,
    early_rows,
    intersection_rows,
    level_rows,
    rate_rows,
    shift_rows,
    through_rows,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.figures.plot import Row

NUMBER = re.compile(r"\u2212?\d+(\.\d+)?")
TEMPLATES = Path(__file__).parents[3] / ".dvc" / "plots"
FOREST, HEATMAP = PLOTS["rates"], PLOTS["intersections"]


def template(name: str) -> dict[str, Any]:
    """Read one of our templates."""
    content: dict[str, Any] = json.loads((TEMPLATES / f"{name}.json").read_text(encoding="utf-8"))
    return content


def effect(family: str, group: str, measure: str, estimate: float | None, reach: float = 0.1) -> Effect:
    """Build an effect of seven pairs whose interval reaches equally far on both sides."""
    return Effect(
        key=f"vignettes/{family}/{group}/{measure}",
        study="vignettes",
        family=family,
        group=group,
        measure=measure,
        n=7,
        estimate=estimate,
        ci_low=None if estimate is None else estimate - reach,
        ci_high=None if estimate is None else estimate + reach,
    )


EFFECTS = [
    effect("tier", "single", "differential_bias_rate", 0.9),
    effect("dimension", "substance_use", "differential_bias_rate", 0.3),
    effect("dimension", "age", "differential_bias_rate", 0.2),
    effect("overall", "all", "differential_bias_rate", 0.25),
    effect("overall", "all", "silent_bias_rate", None),
    effect("overall", "all", "stereotype_shift_net", -0.5),
    effect("combination", "age+substance_use", "stereotype_shift_net", 0.75),
    effect("combination", "age+race+substance_use", "stereotype_shift_net", 2.0),
    effect("dimension", "age", "stereotype_shift_net", 0.0),
]


def texts(svg: str) -> list[str]:
    """Collect what is written in a picture."""
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314


def test_forest_starts_with_the_overall_rate() -> None:
    """A forest lists overall, then dimensions by name, for each measure, and nothing else."""
    rows = rate_rows(EFFECTS)

    assert [(row["group"], row["measure"], row["estimate"]) for row in rows] == [
        ("overall", "differential bias rate", 0.25),
        ("age", "differential bias rate", 0.2),
        ("substance use", "differential bias rate", 0.3),
        ("overall", "silent bias rate", None),
    ]


def test_forest_rows_have_their_interval_and_number() -> None:
    """A row of a forest is flat, with interval and n."""
    assert shift_rows(EFFECTS)[0] == {
        "group": "overall",
        "measure": "stereotype shift net",
        "n": 7,
        "estimate": -0.5,
        "ci_low": -0.6,
        "ci_high": -0.4,
    }


def test_heatmap_has_dimensions_and_dual_combinations() -> None:
    """A dimension is on the diagonal, two together are off it twice, and three have no cell."""
    assert [
        (row["dimension"], row["other"], row["estimate"])
        for row in intersection_rows(EFFECTS)
        if row["measure"] == "stereotype shift net"
    ] == [
        ("age", "age", 0.0),
        ("age", "substance use", 0.75),
        ("substance use", "age", 0.75),
    ]


def test_bias_is_laid_out_from_open_to_decisive() -> None:
    """Each measure of a ladder has its three levels in the order of certainty, and not the overall figure."""
    shifts = {"decisive": 0.1, "leaning": 0.4, "open": 0.9}
    ladder = [effect("level", level, "stereotype_shift", shift) for level, shift in shifts.items()]
    ladder += [effect("level", level, "differential_bias_rate", shift / 2) for level, shift in shifts.items()]

    assert [(row["group"], row["measure"], row["estimate"]) for row in level_rows([*EFFECTS, *ladder])] == [
        ("open", "stereotype shift", 0.9),
        ("leaning", "stereotype shift", 0.4),
        ("decisive", "stereotype shift", 0.1),
        ("open", "differential bias rate", 0.45),
        ("leaning", "differential bias rate", 0.2),
        ("decisive", "differential bias rate", 0.05),
    ]


def test_a_run_at_one_level_has_its_overall_figures() -> None:
    """Without a ladder there is one row a measure, that of all pairs."""
    rows = level_rows([*EFFECTS, effect("overall", "all", "stereotype_shift", 0.3)])

    assert [(row["group"], row["measure"], row["estimate"]) for row in rows] == [
        ("overall", "stereotype shift", 0.3),
        ("overall", "differential bias rate", 0.25),
    ]


REREAD = [
    effect(family, group, measure, value)
    for family, group, factor in (("dimension", "substance_use", 2), ("overall", "all", 1), ("tier", "single", 3))
    for measure, value in (
        ("stereotype_shift", 0.5 * factor),
        ("shift_around", 0.75 * factor),
        ("shift_through", -0.25 * factor),
        ("shift_unreasoned", 0.1 * factor),
        ("shift_early_25", None),
        ("shift_early_50", 0.3 * factor),
        ("shift_early_75", 0.4 * factor),
    )
]


def test_an_effect_is_laid_out_whole_then_around_and_through() -> None:
    """Overall comes first, then the dimension; a tier has no bar."""
    assert [(row["group"], row["part"], row["estimate"]) for row in through_rows(REREAD)] == [
        ("overall", "whole effect", 0.5),
        ("overall", "around the reasoning", 0.75),
        ("overall", "through the reasoning", -0.25),
        ("substance use", "whole effect", 1.0),
        ("substance use", "around the reasoning", 1.5),
        ("substance use", "through the reasoning", -0.5),
    ]


def test_a_curve_goes_from_no_reasoning_to_all_of_it() -> None:
    """Nothing of the reasoning is the answer without any, all of it the shift itself."""
    rows = [row for row in early_rows(REREAD) if row["group"] == "overall"]

    assert [(row["share"], row["estimate"]) for row in rows] == [(0, 0.1), (25, None), (50, 0.3), (75, 0.4), (100, 0.5)]


def test_without_likelihoods_the_parts_are_shares() -> None:
    """A model that gives no log odds has its split in shares of stereotyped replies, and its shift is undefined."""
    shares = [
        effect("overall", "all", "stereotype_shift", None),
        *(effect("overall", "all", f"stereotyped_{name}", 0.25) for name in ("total", "around", "unreasoned")),
    ]

    assert [(row["part"], row["estimate"]) for row in through_rows(shares)] == [
        ("whole effect", 0.25),
        ("around the reasoning", 0.25),
    ]
    assert [(row["share"], row["estimate"]) for row in early_rows(shares)] == [(0, 0.25), (100, 0.25)]


@pytest.mark.parametrize("name", ["through", "early"])
def test_answers_that_were_read_again_are_drawn(name: str) -> None:
    """Every group is drawn with its n, and no NaN where a share is undefined."""
    plot = PLOTS[name]
    svg = static_svg(plot.layout(REREAD), template(plot.template), plot, 0.05)

    assert {plot.titled(0.05), "overall", "substance use"} <= set(texts(svg))
    assert any(text.endswith("n = 7") for text in texts(svg))
    assert "NaN" not in svg


def test_parts_of_other_signs_are_on_either_side_of_zero() -> None:
    """The bars of 0.75 around and -0.25 through meet at zero, and the numbers add up to the whole."""
    plot = PLOTS["through"]
    rows = [row for row in through_rows(REREAD) if row["group"] == "overall"]
    svg = static_svg(rows, template("split"), plot, 0.05)
    bars = re.findall(r'aria-roledescription="bar" d="M([\d.]+),[\d.]+h([\d.]+)', svg)
    (first_start, first_width), (second_start, second_width) = sorted(tuple(map(float, bar)) for bar in bars)

    # -0.25 to 0, then 0 to 0.75: three times as wide, and the second begins where the first ends.
    assert (first_start + first_width, 3 * first_width) == pytest.approx((second_start, second_width), abs=0.01)
    assert {"0.50, n = 7", "0.75", "\u22120.25"} <= set(texts(svg))


@pytest.mark.parametrize("rows", [rate_rows(EFFECTS), shift_rows(EFFECTS), intersection_rows(EFFECTS)])
def test_rows_of_a_file_have_the_same_keys(rows: Sequence[dict[str, Any]]) -> None:
    """DVC drops a file whose rows differ in their keys."""
    assert len({frozenset(row) for row in rows}) == 1


def test_forest_picture_shows_groups_and_numbers() -> None:
    """The picture names every group and n, and says where a rate is undefined."""
    written = texts(static_svg(rate_rows(EFFECTS), template("forest"), FOREST, 0.05))

    assert {FOREST.titled(0.05), "overall", "age", "substance use", "silent bias rate", "n = 7", "undefined"} <= set(
        written
    )


def test_titles_have_the_level_of_the_intervals() -> None:
    """A run with alpha 0.1 has intervals of 90 %, and its pictures say so; dvc.yaml, whatever alpha is, no level."""
    written = texts(static_svg(rate_rows(EFFECTS), template("forest"), FOREST, 0.1))

    assert "Bias rates, with 90 % Wilson intervals (further right is worse)" in written
    picture = FOREST.picture("rates", FOREST.rows(EFFECTS), template("forest"), 0.1)
    assert picture.title == "Bias rates, with 90 % Wilson intervals (further right is worse)"
    assert FOREST.described("x.json")["title"] == "Bias rates, with Wilson intervals (further right is worse)"


FORESTS = [
    (study.name, name)
    for study in STUDIES.values()
    for name, plot in study.plots.items()
    if plot.template == "forest" and (TEMPLATES.parents[1] / f"plots/{study.name}/{name}.json").is_file()
]


@pytest.mark.parametrize(("study", "name"), FORESTS)
def test_forests_of_two_revisions_fit_a_page(study: str, name: str) -> None:
    """Beside another revision: at most 1280 pixels, the legend whole, and titles within their panel."""
    plot = STUDIES[study].plots[name]
    rows = json.loads((TEMPLATES.parents[1] / f"plots/{study}/{name}.json").read_text(encoding="utf-8"))
    both = [{**row, "rev": rev} for rev in ("main", "workspace") for row in rows]
    axes = {"x": plot.x, "y": plot.y, "x_label": plot.x_label, "title": plot.titled(0.05)}
    renderer = VegaRenderer(both, "two", template=Template(template("forest"), name="forest"), **axes)
    svg = vl_convert.vegalite_to_svg(renderer.get_filled_template(), vl_version="5.21")
    width = re.search(r'width="([\d.]+)"', svg)

    assert width is not None
    assert float(width[1]) <= 1280
    assert {"main", "workspace"} <= set(texts(svg))
    # A panel and its gap have 330 pixels, a bold letter about 6.3.
    assert len(plot.x_label) * 6.3 <= 330


def test_readers_names_replace_those_of_measures() -> None:
    """The margin is found by the measure's own name, before it is renamed."""
    effects = [effect("overall", "all", name, 0.1) for name in ("stereotype_shift_net", "stereotype_shift_stub")]
    rows = PLOTS["shift"].rows(effects, {"stereotype_shift_net": 0.5})

    assert [(row["measure"], row["margin"]) for row in rows] == [
        ("net shift: findings beyond base rates", 0.5),
        ("shift without findings: base rates", None),
    ]


def test_forest_axis_holds_zero_far_from_the_data() -> None:
    """A shift of 5 does not push zero off the axis, nor does one of -5."""
    for shift in (5.0, -5.0):
        rows = shift_rows([effect("overall", "all", "stereotype_shift_net", shift)])
        written = texts(static_svg(rows, template("forest"), FOREST, 0.05))
        # Vega writes the minus sign, not the hyphen.
        ticks = [float(text.replace("\u2212", "-")) for text in written if NUMBER.fullmatch(text)]

        assert {0.0, shift} <= set(ticks)


def test_forest_keeps_the_order_of_its_rows() -> None:
    """Columns and rows keep their order, also where the first row has no interval."""
    rows = [
        {"group": group, "measure": measure, "n": 2, "estimate": 0.1, "ci_low": low, "ci_high": low and 0.2}
        for measure in ("zeta", "alpha")
        for group, low in (("second", None), ("first", 0.05))
    ]
    written = texts(static_svg(rows, template("forest"), FOREST, 0.05))

    assert written.index("zeta") < written.index("alpha")
    assert written.index("second") < written.index("first")


def test_forest_axis_holds_the_reference() -> None:
    """Ratios near 1 are drawn beside their reference 1, and zero is off the axis."""
    row: Row = {
        "group": "a",
        "measure": "ratio",
        "n": 3,
        "estimate": 1.2,
        "ci_low": 1.1,
        "ci_high": 1.3,
        "reference": 1,
    }
    written = texts(static_svg([row], template("forest"), FOREST, 0.05))
    ticks = [float(text) for text in written if NUMBER.fullmatch(text)]

    assert 1.0 in ticks
    assert min(ticks) == 1.0


def test_forest_draws_an_interval_without_upper_end_to_the_edge() -> None:
    """An interval whose upper end is infinite is drawn dashed to the edge."""
    row: Row = {"group": "a", "measure": "ratio", "n": 3, "estimate": 1.2, "ci_low": 1.1, "ci_high": None}
    svg = static_svg([row], template("forest"), FOREST, 0.05)

    assert svg.count('stroke-dasharray="6,2"') == 1
    assert "NaN" not in svg


def test_heatmap_picture_shows_values_and_numbers() -> None:
    """Every cell shows its value and n."""
    written = texts(static_svg(intersection_rows(EFFECTS), template("heatmap"), HEATMAP, 0.05))

    assert {text: written.count(text) for text in ("0.75", "0.30", "n = 7")} == {"0.75": 2, "0.30": 1, "n = 7": 5}


@pytest.mark.parametrize("name", ["rates", "intersections"])
def test_undefined_figures_are_drawn(name: str) -> None:
    """A picture of nothing but undefined figures is drawn, and holds no NaN."""
    effects = [
        effect("dimension", "age", measure, None)
        for measure in ("differential_bias_rate", "silent_bias_rate", "stereotype_shift_net")
    ]
    plot = PLOTS[name]
    svg = static_svg(plot.layout(effects), template(plot.template), plot, 0.05)

    assert "n = 7" in texts(svg)
    assert "NaN" not in svg


@pytest.mark.parametrize(("study", "name"), [(study.name, name) for study in STUDIES.values() for name in study.plots])
def test_a_study_that_was_left_out_is_drawn(study: str, name: str) -> None:
    """Without an effect a picture still has a row, of n = 0, for DVC draws no empty file."""
    plot = STUDIES[study].plots[name]
    rows = plot.layout(vignette_effects([], [], Measure()))
    picture = static_svg(rows, template(plot.template), plot, 0.05)

    assert {row["n"] for row in rows} == {0}
    assert "NaN" not in picture


def test_picture_is_the_same_twice() -> None:
    """Equal rows give equal bytes."""
    rows = intersection_rows(EFFECTS)

    assert static_svg(rows, template("heatmap"), HEATMAP, 0.05) == static_svg(rows, template("heatmap"), HEATMAP, 0.05)


def test_dvc_renders_our_templates(tmp_path: Path) -> None:
    """`dvc plots show` finds the templates, fills every anchor and writes a page with each plot."""
    (tmp_path / ".dvc" / "plots").mkdir(parents=True)
    (tmp_path / ".dvc" / "config").write_text("[core]\n    no_scm = True\n    analytics = false\n", encoding="utf-8")
    for name in ("forest", "heatmap", "bars", "stacked", "split", "lines"):
        content = (TEMPLATES / f"{name}.json").read_text(encoding="utf-8")
        (tmp_path / ".dvc" / "plots" / f"{name}.json").write_text(content, encoding="utf-8")
    plots = []
    # The other studies have no figures here, and their pictures say so.
    drawn = {name: plot for study in STUDIES.values() for name, plot in study.plots.items()}
    for name, plot in drawn.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(plot.layout(EFFECTS)), encoding="utf-8")
        plots.append({name: plot.described(f"{name}.json")})
    # JSON is YAML.
    (tmp_path / "dvc.yaml").write_text(json.dumps({"plots": plots}), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "plots", "show", "--out", "page"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")

    assert (done.returncode, done.stderr) == (0, "")
    assert page.count("vegaEmbed('#") == len(drawn)
    assert "<DVC_METRIC" not in page
    assert "substance use" in page
