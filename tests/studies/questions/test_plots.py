"""Tests of the study of questions's pictures."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from equipoise.figures.options import Measure
from equipoise.figures.plot import static_svg
from equipoise.materials.questions import ATTRIBUTES
from equipoise.studies.questions.effects import Answered, arm, question_effects
from equipoise.studies.questions.plots import PLOTS, accuracy_rows, contrast_rows, distribution_rows, gap_rows
from equipoise.studies.questions.variants.agents import DIRECTIONS

TEMPLATES = Path(__file__).parents[3] / ".dvc" / "plots"
ARMS = [arm(a, g, d) for a in ATTRIBUTES for d in DIRECTIONS for g in ("privileged", "unprivileged")]
TABLE = [
    Answered(str(n), "A", {"original": "A", "neutral": "A", **{name: "AB"[n % 2 and "black" in name] for name in ARMS}})
    for n in range(4)
]
EFFECTS = question_effects(TABLE, Measure())
PAPER = question_effects(
    [Answered("0", "A", dict.fromkeys(("original", "neutral", *(ARMS[0::4] + ARMS[3::4]))))],
    Measure(),
)
"""One unparsed question in the paper's design."""


def texts(svg: str) -> set[str]:
    """Collect what is written in a picture."""
    return {element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314


def test_accuracy_lists_the_arms_of_an_attribute_together() -> None:
    """Original and neutral come first, then each attribute's four arms."""
    assert [row["group"] for row in accuracy_rows(EFFECTS)][:6] == [
        "original",
        "neutral",
        "white, favourable",
        "black, favourable",
        "white, unfavourable",
        "black, unfavourable",
    ]


def test_gaps_come_by_measure_then_attribute() -> None:
    """Each measure has the three attributes in order; original against neutral has its gap alone."""
    places = [(row["measure"], row["group"]) for row in gap_rows(EFFECTS)]

    assert places == [
        *((measure, attribute) for measure in ("gap", "lift", "penalty") for attribute in ATTRIBUTES),
        ("gap", "original, neutral"),
    ]


def test_contrasts_open_with_overall() -> None:
    """The crossed design's contrasts are shown overall and by attribute."""
    assert [row["group"] for row in contrast_rows(EFFECTS)][:3] == ["overall"] * 3
    assert len(contrast_rows(EFFECTS)) == 3 * (1 + len(ATTRIBUTES))


def test_shares_of_a_bar_add_up_to_one() -> None:
    """The four outcomes of a pair are all there is."""
    rows = distribution_rows(EFFECTS)

    for group in ("white, black", "male, female", "high income, low income"):
        assert sum(float(row["share"] or 0) for row in rows if row["group"] == group) == pytest.approx(1)


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.parametrize("effects", [EFFECTS, PAPER])
def test_pictures_are_drawn(name: str, effects: list[Any]) -> None:
    """Every picture is drawn, of either design, with equal keys in every row and no NaN."""
    plot = PLOTS[name]
    rows = plot.layout(effects)
    template = json.loads((TEMPLATES / f"{plot.template}.json").read_text(encoding="utf-8"))
    svg = static_svg(rows, template, plot, 0.05)

    assert len({frozenset(row) for row in rows}) <= 1
    assert plot.titled(0.05) in texts(svg)
    assert "NaN" not in svg


def test_stacked_bars_show_shares_and_number() -> None:
    """A bar names its shares, its pair and its n; the legend names the outcomes."""
    plot = PLOTS["distribution"]
    template = json.loads((TEMPLATES / "stacked.json").read_text(encoding="utf-8"))
    written = texts(static_svg(distribution_rows(EFFECTS), template, plot, 0.05))

    assert {"white, black", "n = 4", "100.0%", "right in both", "right for the privileged alone"} <= written
