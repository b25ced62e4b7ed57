"""EquiLens' released MedMCQA scores, subset sizes and diseases, found again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.figures.options import Measure
from equipoise.materials.cities import City, load_cities
from equipoise.materials.questions import Item
from equipoise.studies.exam.effects import score_cities
from equipoise.studies.exam.medmcqa import (
    import_items,
    load_diseases,
    read_questions,
    read_responses,
    released_form,
    set_of,
    tabulate_released,
)
from equipoise.studies.exam.subsets import disease_counts

DATA = Path(__file__).parents[2] / "data"
CITIES: dict[str, City] = load_cities(DATA / "cities.yaml")
MAPPING = load_diseases(DATA / "medmcqa_diseases.yaml")
NAMES = ("london", "edinburgh", "dublin")


def question_files(anchors: Path) -> list[Path]:
    """List the question sets of the three cities."""
    return [anchors / "equilens" / "medmcqa_questions" / f"medmcqa_{city}.parquet" for city in NAMES]


@pytest.fixture
def items(anchors: Path) -> list[Item]:
    """Every distinct question of the three sets, with the disease that EquiLens gives it."""
    return import_items(map(str, question_files(anchors)), MAPPING).items


@pytest.mark.parametrize("city", NAMES)
def test_released_scores_are_reproduced(anchors: Path, city: str) -> None:
    """Every figure of every city and disease is the released one, to its last place."""
    sets = {path: read_questions(path) for path in question_files(anchors)}
    source = anchors / "equilens" / "medmcqa_responses" / f"medmcqa_{city}_responses_claude.parquet"
    responses = read_responses(source)
    asked = sets[set_of(source, [row.id for row, _ in responses], sets)]
    answers = tabulate_released(source, responses, asked, MAPPING, list(CITIES))
    weights = {name: entry.disease_weights() for name, entry in CITIES.items()}
    recomputed = released_form(city, score_cities(answers, weights, Measure(alpha=0.05, seed=0, n_bootstrap=100))[city])
    released = json.loads(
        (anchors / "equilens" / "scores" / "medmcqa" / "claude-sonnet-4-6" / f"{city}.json").read_text("utf-8")
    )

    assert released["n_samples"] == recomputed["n_samples"]
    assert_equal(released["metrics"]["aggregate"], recomputed["aggregate"])
    assert released["metrics"]["per_disease"].keys() == recomputed["per_disease"].keys()
    for disease, figures in released["metrics"]["per_disease"].items():
        assert_equal(figures, recomputed["per_disease"][disease])


def assert_equal(released: dict[str, Any], recomputed: dict[str, Any]) -> None:
    """Compare figures that were released with six places; weights with four, of which one is off by one (0.2458)."""
    for name, figure in released.items():
        assert figure == pytest.approx(recomputed[name], rel=0, abs=1e-4 if name == "composition" else 5.1e-7), name


@pytest.mark.parametrize("city", NAMES)
def test_subset_sizes_are_reproduced(anchors: Path, city: str) -> None:
    """Each released set of 1000 questions holds as many of a disease as plain rounding gives."""
    questions = read_questions(anchors / "equilens" / "medmcqa_questions" / f"medmcqa_{city}.parquet").values()
    counts = disease_counts(CITIES[city].disease_weights(), 1000, "plain")

    assert counts == {disease: sum(row.disease == disease for row in questions) for disease in counts}
    assert sum(counts.values()) == len(questions)


def test_diseases_agree_with_upstreams(items: list[Item], anchors: Path) -> None:
    """1376 of the 1403 questions get EquiLens' disease; the others are of five topics on which we differ.

    The respiratory chain is mitochondrial, the tomography is of disorders that are not cancer, one topic spans heart
    disease, cancers and blindness, and a brain haemorrhage is a stroke.
    """
    questions = {key: row for path in question_files(anchors) for key, row in read_questions(path).items()}
    differ = {
        (row.topic, row.disease, ours)
        for row in questions.values()
        if (ours := MAPPING.disease_of(row.topic, row.subject)) != row.disease
    }
    agreeing = sum(MAPPING.disease_of(row.topic, row.subject) == row.disease for row in questions.values())

    # Seven have two options with one text ("image_question" four times), and are not imported.
    assert (len(items), len(questions)) == (1396, 1403)
    assert agreeing == 1376
    assert agreeing / len(questions) >= 0.98
    assert differ == {
        ("Respiratory chain", "respiratory", None),
        ("Respiratory Chain", "respiratory", None),
        ("Positron Emission Tomography of Non-Oncological Disorders", "cancer", None),
        ("NCDs: CHD, HTN, DM, RF, Cancers, Obesity, Blindness", "cancer", None),
        ("Brain Hemorrhage", "dementia_neuro", "cardiovascular"),
    }
