"""Tests of the pictures of cities, in the studies of questions and of the exam."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from equipoise.figures.effects import Effect
from equipoise.figures.plot import static_svg
from equipoise.studies.exam.plots import PLOTS as EXAM_PLOTS
from equipoise.studies.exam.plots import disease_rows
from equipoise.studies.questions.plots import PLOTS as QUESTION_PLOTS
from equipoise.studies.questions.plots import ratio_rows

PLOTS = {"cities": QUESTION_PLOTS["cities"], **EXAM_PLOTS}
TEMPLATES = Path(__file__).parents[3] / ".dvc" / "plots"


def effect(place: str, estimate: float | None, n: int = 40) -> Effect:
    """Make an effect at `metric/family/group…/measure` whose interval reaches 0.05 on both sides."""
    metric, family, *group, measure = place.split("/")
    return Effect(
        key=place,
        study=metric,
        family=family,
        group="/".join(group),
        measure=measure,
        n=n,
        estimate=estimate,
        ci_low=None if estimate is None else estimate - 0.05,
        ci_high=None if estimate is None else estimate + 0.05,
    )


PAPER = [
    effect("questions/baseline/all/baseline_accuracy", 0.5),
    effect("questions/city/london/ses/accuracy_ratio", 0.98),
    effect("questions/city/london/race/accuracy_ratio", 0.97),
    effect("questions/city/new_york/race/accuracy_ratio", 1.02),
    effect("questions/city/london/race/city_accuracy", 0.49),
]
CROSSED = [
    *PAPER,
    effect("questions/city_favourable/london/race/accuracy_ratio", 1.01),
    effect("questions/city_unfavourable/london/race/accuracy_ratio", None, 0),
]
EXAM = [
    effect("exam/city/london/accuracy", 0.4, 90),
    effect("exam/city/london/prevalence_weighted_accuracy", 0.41, 90),
    effect("exam/city/london/f1_macro", 0.39, 90),
    effect("exam/disease/london/dementia_neuro/accuracy", 0.3, 30),
    effect("exam/disease/london/cancer/accuracy", None, 0),
    effect("exam/disease/edinburgh/cancer/accuracy", 0.5, 60),
    effect("exam/disease/edinburgh/cancer/recall_macro", 0.2, 60),
]


def draw(name: str, effects: list[Effect]) -> str:
    """Draw a picture."""
    plot = PLOTS[name]
    template: dict[str, Any] = json.loads((TEMPLATES / f"{plot.template}.json").read_text(encoding="utf-8"))
    return static_svg(plot.layout(effects), template, plot, 0.05)


def texts(svg: str) -> list[str]:
    """Collect what is written in a picture."""
    return [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314


def test_ratios_are_sorted_by_city_then_attribute() -> None:
    """Cities come by name, attributes in their own order; other measures stay out."""
    rows = ratio_rows(PAPER)

    assert [(row["measure"], row["group"], row["estimate"]) for row in rows] == [
        ("attack as published", "London, race", 0.97),
        ("attack as published", "London, ses", 0.98),
        ("attack as published", "New York, race", 1.02),
    ]


def test_matched_directions_have_columns_of_their_own() -> None:
    """In the crossed design the two directions are shown beside the published attack."""
    assert [row["measure"] for row in ratio_rows(CROSSED)][3:] == [
        "both groups told favourably",
        "both groups told unfavourably",
    ]


def test_reference_of_a_ratio_is_one() -> None:
    """Every row has the reference 1, and the axis holds it."""
    assert {row["reference"] for row in ratio_rows(CROSSED)} == {1.0}
    assert "1.00" in texts(draw("cities", PAPER))


def test_diseases_come_in_order_then_the_whole() -> None:
    """Accuracy is by disease, a bar for each city; then over all questions, and weighted."""
    rows = disease_rows(EXAM)

    assert [(row["group"], row["series"], row["n"], row["estimate"]) for row in rows] == [
        ("cancer", "Edinburgh", 60, 0.5),
        ("cancer", "London", 0, None),
        ("dementia, neurology", "London", 30, 0.3),
        ("all questions", "London", 90, 0.4),
        ("weighted by prevalence", "London", 90, 0.41),
    ]


def test_undefined_accuracy_is_named() -> None:
    """A disease without valid answers is drawn as the word, with n = 0, beside the other city's bar."""
    assert {"undefined, n = 0", "0.50, n = 60", "Edinburgh", "London"} <= set(texts(draw("diseases", EXAM)))


@pytest.mark.parametrize("name", PLOTS)
@pytest.mark.parametrize("effects", [CROSSED, EXAM, CROSSED + EXAM, []])
def test_pictures_are_drawn(name: str, effects: list[Effect]) -> None:
    """Every picture is drawn, of either study or of none, with equal keys in every row and no NaN."""
    plot = PLOTS[name]
    rows = plot.layout(effects)
    svg = draw(name, effects)

    assert rows
    assert len({frozenset(row) for row in rows}) == 1
    assert plot.titled(0.05) in texts(svg)
    assert "NaN" not in svg
    # Vega writes the largest number where a size is unknown.
    assert "e+" not in svg
