"""The closed form over AMQA's released answers, and EquiLens' released scores, to the published places."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from equipoise.materials.cities import load_cities
from equipoise.studies.questions.cli import score_equity

ANCHORS = os.environ.get("EQUIPOISE_ANCHORS")
CITIES = Path(__file__).parents[2] / "data/cities.yaml"
ATTRIBUTES = {"ethnicity": "race", "gender": "gender", "ses": "ses", "SES": "ses"}
"""Our name of an attribute for the published one."""
FIGURES = {
    "n_M": "n_reference",
    "n_m": "n_other",
    "E_city_acc": "city_accuracy",
    "sd_city_acc": "city_accuracy_sd",
    "E_ratio": "accuracy_ratio",
    "pop_cM": "consistency_reference",
    "pop_cm": "consistency_other",
    "pop_consistency_ratio": "consistency_ratio",
}
"""Our name of a figure for the published one."""
SIX_PLACES = 5.1e-7
app = typer.Typer()
app.command()(score_equity)
pytestmark = pytest.mark.skipif(not ANCHORS, reason="EQUIPOISE_ANCHORS does not name the folder of published data")


def scored(path: Path, *options: str) -> dict[str, Any]:
    """Score one file as the command does."""
    arguments = ["--json", "--cities", str(CITIES), *options, str(path)]
    scores: dict[str, Any] = json.loads(CliRunner().invoke(app, arguments, catch_exceptions=False).stdout)
    return scores


@pytest.mark.parametrize("model", ["openai", "qwen"])
def test_closed_form_of_the_released_answers(anchors: Path, model: str) -> None:
    """Every city and attribute has the published expectation, sd, ratio and consistency, to six places."""
    expected = json.loads((anchors / "expected.json").read_text(encoding="utf-8"))["city_closed_form_amqa_d2"][model]
    scores = scored(anchors / "amqa/answers" / f"AMQA_D2_Benchmark_Answer_{model}_no_cot.jsonl")

    assert scores["baseline_accuracy"] == pytest.approx(expected.pop("baseline"), abs=SIX_PLACES)
    assert len(expected) == 9
    for place, figures in expected.items():
        city, attribute = place.split("/")
        measures = scores["cities"][city][ATTRIBUTES[attribute]]
        assert {name: measures[ours] for name, ours in FIGURES.items()} == pytest.approx(figures, abs=SIX_PLACES)
        # The exact mean over partitions is near the ratio over all questions, and not the same.
        assert measures["consistency_ratio_mean"] == pytest.approx(measures["consistency_ratio"], rel=0.01)
        assert measures["consistency_ratio_undefined"] < 1e-9


@pytest.mark.parametrize("city", ["london", "edinburgh", "dublin"])
def test_released_scores_are_reproduced(anchors: Path, city: str) -> None:
    """The draw with seed 42 is EquiLens' partition, and every score is theirs, to the four places of the release."""
    folder = anchors / "equilens"
    released = json.loads((folder / "scores/amqa/claude-sonnet-4-6" / f"{city}.json").read_text(encoding="utf-8"))
    (path,) = (folder / "amqa_results").glob("*_seed10_*.parquet")
    scores = scored(path, "--partition", "seeded", "--seed", "42")

    assert scores["n"] == released["n_samples"]
    assert len(released["metrics"]) == 3
    for name, expected in released["metrics"].items():
        measures = scores["cities"][city][ATTRIBUTES[name]]
        composition = load_cities(CITIES)[city].composition[ATTRIBUTES[name]]  # type: ignore[index]
        assert expected["composition"] == composition.proportions
        assert expected["assigned_questions"] == measures["assigned_questions"]
        assert expected["baseline_accuracy"] == round(scores["baseline_accuracy"], 4)
        for measure in ("city_accuracy", "accuracy_ratio", "consistency_ratio"):
            assert expected[measure] == round(measures[measure], 4)


def test_one_draw_lies_within_the_spread_of_all(anchors: Path) -> None:
    """Over all partitions of the same ten questions, the released scores are one value among others."""
    (path,) = (anchors / "equilens/amqa_results").glob("*_seed10_*.parquet")
    draw, all_draws = (scored(path, *options)["cities"] for options in (("--partition", "seeded"), ()))

    for city, attributes in all_draws.items():
        for attribute, figures in attributes.items():
            drawn = draw[city][attribute]["city_accuracy"]
            assert abs(drawn - figures["city_accuracy"]) <= 4 * figures["city_accuracy_sd"] + 1e-12
