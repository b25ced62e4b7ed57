"""Tests of the exam study's figures by city and disease."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.figures.figure import headline_metrics
from equipoise.figures.options import Measure
from equipoise.stats.proportions import weighted_shares
from equipoise.studies.exam.effects import ExamAnswer, Marked, exam_effects, score_cities, tabulate_exam
from equipoise.studies.exam.subsets import Sampled
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.materials.questions import Disease

FEW = Measure(alpha=0.05, seed=0, n_bootstrap=200)
WEIGHTS: dict[str, dict[Disease, float]] = {"london": {"cancer": 0.75, "respiratory": 0.25}}


def exam(disease: Disease | None, *pairs: str, city: str = "london") -> list[ExamAnswer]:
    """Build answers about one disease from two letters each, right then given; `-` stands for no letter."""
    return [
        ExamAnswer(city, f"{disease}{number}", disease, Marked(pair[0], None if pair[1] == "-" else pair[1]))
        for number, pair in enumerate(pairs)
    ]


def sampled(city: str, item: str) -> Sampled:
    """Build a row of a city's subset."""
    return Sampled(
        key=f"{city}/{item}", city=city, item=item, disease="cancer", gold="A", options={"A": "one", "B": "two"}
    )


def test_every_citys_question_gets_its_letter() -> None:
    """A question of two cities was asked once and counts in both."""
    rows = tabulate_exam([sampled("x", "i1"), sampled("y", "i1"), sampled("y", "i2")], {"i1": "A", "i2": None})

    assert [(row.city, row.item, row.answered.letter) for row in rows] == [
        ("x", "i1", "A"),
        ("y", "i1", "A"),
        ("y", "i2", None),
    ]


@pytest.mark.parametrize(
    ("letters", "fault"),
    [
        ({}, "keys with a question but no response: i1; write the response rows again"),
        ({"i1": "A", "i2": "A"}, "keys with a response but no question: i2"),
    ],
)
def test_unequal_questions_and_answers_are_refused(letters: dict[str, str | None], fault: str) -> None:
    """A question without an answer, or an answer without a question, is named."""
    with pytest.raises(EquipoiseError, match=fault):
        tabulate_exam([sampled("x", "i1")], letters)


def test_prevalence_weights_each_diseases_accuracy() -> None:
    """Cancer 1 of 2 right, respiratory 4 of 4, weighted 3 to 1: 0.625, while 5 of 6 questions are right."""
    answers = [*exam("cancer", "AA", "BA"), *exam("respiratory", "AA", "BB", "CC", "DD")]
    scores = score_cities(answers, WEIGHTS, FEW)["london"]

    assert scores.aggregate.estimates["accuracy"].value == pytest.approx(5 / 6)
    # 0.75 * 1/2 + 0.25 * 1
    assert scores.weighted.value == pytest.approx(0.625)
    limited = weighted_shares([(0.75, 1, 2), (0.25, 4, 4)])
    assert limited is not None
    assert (scores.weighted.value, scores.weighted.interval) == (limited.value, limited.interval)


def test_a_disease_without_a_valid_answer_leaves_the_weighted_accuracy_undefined() -> None:
    """With no valid answer about respiratory disease the city's weighted accuracy has an n and no estimate."""
    scores = score_cities([*exam("cancer", "AA", "BA"), *exam("respiratory", "A-")], WEIGHTS, FEW)
    effects = {row.key: row for row in exam_effects(scores, 0.05)}
    weighted = effects["exam/city/london/prevalence_weighted_accuracy"]

    assert (weighted.n, weighted.estimate, weighted.ci_low) == (2, None, None)
    assert effects["exam/disease/london/respiratory/accuracy"].estimate is None
    assert effects["exam/disease/london/respiratory/invalid_rate"].estimate == 1.0


def test_answers_about_no_disease_count_in_the_aggregate_alone() -> None:
    """A question of no group is among the city's 3 answers, and in no disease's."""
    scores = score_cities([*exam("cancer", "AA", "BA"), *exam(None, "CC")], WEIGHTS, FEW)["london"]

    assert scores.aggregate.n_total == 3
    assert {disease: disease_scores.n_total for disease, disease_scores in scores.diseases.items()} == {
        "cancer": 2,
        "respiratory": 0,
    }


def test_a_disease_beyond_the_citys_own_has_figures_and_no_weight() -> None:
    """Mental health, which London's table lacks, is scored and weighs nothing."""
    answers = [*exam("cancer", "AA"), *exam("respiratory", "AA"), *exam("mental_health", "AB")]
    scores = score_cities(answers, WEIGHTS, FEW)
    weights = {row.group: row.estimate for row in exam_effects(scores, 0.05) if row.measure == "weight"}

    assert scores["london"].weighted.value == 1.0
    assert scores["london"].diseases["mental_health"].n_total == 1
    assert weights == {"london/cancer": 0.75, "london/respiratory": 0.25}


def test_an_unknown_city_is_named() -> None:
    """Answers of a city without prevalences cannot be weighted."""
    with pytest.raises(EquipoiseError, match="city 'paris' has answers but no diseases; known: london"):
        score_cities(exam("cancer", "AA", city="paris"), WEIGHTS, FEW)


def test_the_order_of_answers_does_not_matter() -> None:
    """Effects are equal, intervals included, whatever the order of the rows."""
    answers = [*exam("cancer", "AA", "BA", "CC", "DB", "AD"), *exam("respiratory", "AA", "BC", "DD")]
    forward, backward = (exam_effects(score_cities(rows, WEIGHTS, FEW), 0.05) for rows in (answers, answers[::-1]))

    assert forward == backward


def test_effects_are_named_by_city_and_disease() -> None:
    """Each group has accuracy, three macro averages, invalid answers and counts; city and disease a weight each."""
    answers = [*exam("cancer", "AA", "BA"), *exam("respiratory", "AA", "BC")]
    effects = exam_effects(score_cities(answers, WEIGHTS, FEW), 0.05)
    measures = {"accuracy", "precision_macro", "recall_macro", "f1_macro", "invalid_rate"}
    measures |= {"n_total", "n_invalid", "n_absent_classes", "n_unpredicted_classes"}

    assert {(row.family, row.group) for row in effects} == {
        ("city", "london"),
        ("disease", "london/cancer"),
        ("disease", "london/respiratory"),
    }
    assert {row.measure for row in effects if row.family == "disease"} == {*measures, "weight"}
    assert {row.measure for row in effects if row.family == "city"} == {*measures, "prevalence_weighted_accuracy"}


def test_metrics_are_finite_scalars(tmp_path: Path) -> None:
    """The metrics file holds numbers alone, and leaves out what is undefined; counts are effects."""
    scores = score_cities([*exam("cancer", "AA", "BA"), *exam("respiratory", "A-")], WEIGHTS, FEW)
    effects = exam_effects(scores, 0.05)
    jsonl.write_json(tmp_path / "exam.json", headline_metrics(STUDIES["exam"].figures, effects))
    read = json.loads((tmp_path / "exam.json").read_text(encoding="utf-8"))
    counts = {(row.group, row.measure): row.estimate for row in effects if row.measure.startswith("n_")}

    assert list(read) == ["n", "london"]
    assert read["n"] == 2
    assert read["london"]["accuracy"]["estimate"] == 0.5
    assert read["london"]["prevalence_weighted_accuracy"] == {"n": 2}
    assert (counts["london", "n_total"], counts["london", "n_invalid"]) == (3, 1)
    by_key = {row.key: row for row in effects}
    assert (by_key["exam/city/london/accuracy"].n, by_key["exam/disease/london/respiratory/accuracy"].n) == (2, 0)
    assert by_key["exam/disease/london/cancer/accuracy"].estimate == 0.5
    assert all(row.estimate is None or math.isfinite(row.estimate) for row in effects)
