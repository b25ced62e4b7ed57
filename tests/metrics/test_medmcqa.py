"""Tests of the exam study's figures by city and disease."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from equipoise.core import records
from equipoise.core.errors import EquipoiseError
from equipoise.exam.rows import Sampled
from equipoise.metrics.classification import Answered, Resampling
from equipoise.metrics.medmcqa import (
    ExamAnswer,
    medmcqa_effects,
    medmcqa_metrics,
    score_cities,
    tabulate_exam,
)
from equipoise.stats.proportions import weighted_sum

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.questions.rows import Disease

FEW = Resampling(alpha=0.05, seed=0, n_bootstrap=200)
WEIGHTS: dict[str, dict[Disease, float]] = {"london": {"cancer": 0.75, "respiratory": 0.25}}


def exam(disease: Disease | None, *pairs: str, city: str = "london") -> list[ExamAnswer]:
    """Build answers about one disease from two letters each, right then given; `-` is no letter."""
    return [
        ExamAnswer(city, f"{disease}{number}", disease, Answered(pair[0], None if pair[1] == "-" else pair[1]))
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
    found = score_cities(answers, WEIGHTS, FEW)["london"]

    assert found.aggregate.estimates["accuracy"].value == pytest.approx(5 / 6)
    # 0.75 * 1/2 + 0.25 * 1
    assert found.weighted.value == pytest.approx(0.625)
    assert found.weighted.interval == weighted_sum([(0.75, 1, 2), (0.25, 4, 4)])


def test_a_disease_without_a_valid_answer_leaves_the_weighted_accuracy_undefined() -> None:
    """With no valid answer about respiratory disease the city's weighted accuracy has an n and no estimate."""
    scores = score_cities([*exam("cancer", "AA", "BA"), *exam("respiratory", "A-")], WEIGHTS, FEW)
    effects = {row.key: row for row in medmcqa_effects(scores, 0.05)}
    weighted = effects["medmcqa/city/london/prevalence_weighted_accuracy"]

    assert (weighted.n, weighted.estimate, weighted.ci_low) == (2, None, None)
    assert effects["medmcqa/disease/london/respiratory/accuracy"].estimate is None
    assert effects["medmcqa/disease/london/respiratory/invalid_rate"].estimate == 1.0


def test_answers_about_no_disease_count_in_the_aggregate_alone() -> None:
    """A question of no group is among the city's 3 answers, and in no disease's."""
    found = score_cities([*exam("cancer", "AA", "BA"), *exam(None, "CC")], WEIGHTS, FEW)["london"]

    assert found.aggregate.n_total == 3
    assert {disease: one.n_total for disease, one in found.diseases.items()} == {"cancer": 2, "respiratory": 0}


def test_a_disease_beyond_the_citys_own_has_figures_and_no_weight() -> None:
    """Mental health, which London's table lacks, is scored and weighs nothing."""
    answers = [*exam("cancer", "AA"), *exam("respiratory", "AA"), *exam("mental_health", "AB")]
    scores = score_cities(answers, WEIGHTS, FEW)
    nested = medmcqa_metrics(scores)

    assert scores["london"].weighted.value == 1.0
    per_disease = nested["city"]["london"]["per_disease"]  # type: ignore[index]  # nested objects
    assert "composition" not in per_disease["mental_health"]  # type: ignore[index, operator]
    assert per_disease["cancer"]["composition"] == 0.75  # type: ignore[index]


def test_an_unknown_city_is_named() -> None:
    """Answers of a city without prevalences cannot be weighted."""
    with pytest.raises(EquipoiseError, match="city 'paris' has answers but no diseases; known: london"):
        score_cities(exam("cancer", "AA", city="paris"), WEIGHTS, FEW)


def test_the_order_of_answers_does_not_matter() -> None:
    """Effects are equal, intervals included, whatever the order of the rows."""
    answers = [*exam("cancer", "AA", "BA", "CC", "DB", "AD"), *exam("respiratory", "AA", "BC", "DD")]
    forward, backward = (medmcqa_effects(score_cities(rows, WEIGHTS, FEW), 0.05) for rows in (answers, answers[::-1]))

    assert forward == backward


def test_effects_are_named_by_city_and_disease() -> None:
    """Each group has accuracy, three macro averages and the rate of invalid answers; the city one figure more."""
    answers = [*exam("cancer", "AA", "BA"), *exam("respiratory", "AA", "BC")]
    effects = medmcqa_effects(score_cities(answers, WEIGHTS, FEW), 0.05)
    measures = {"accuracy", "precision_macro", "recall_macro", "f1_macro", "invalid_rate"}

    assert {(row.family, row.group) for row in effects} == {
        ("city", "london"),
        ("disease", "london/cancer"),
        ("disease", "london/respiratory"),
    }
    assert {row.measure for row in effects if row.family == "disease"} == measures
    assert {row.measure for row in effects if row.family == "city"} == {*measures, "prevalence_weighted_accuracy"}


def test_metrics_are_finite_scalars(tmp_path: Path) -> None:
    """The metrics file holds numbers alone, and leaves out what is undefined."""
    scores = score_cities([*exam("cancer", "AA", "BA"), *exam("respiratory", "A-")], WEIGHTS, FEW)
    records.write_json(tmp_path / "medmcqa.json", medmcqa_metrics(scores))
    read = json.loads((tmp_path / "medmcqa.json").read_text(encoding="utf-8"))
    london = read["city"]["london"]

    assert [read[name] for name in ("n_cities", "n_total", "n_valid", "n_invalid")] == [1, 3, 2, 1]
    assert london["aggregate"]["prevalence_weighted_accuracy"] == {"n": 2}
    assert london["per_disease"]["respiratory"]["accuracy"] == {"n": 0}
    assert (london["per_disease"]["cancer"]["accuracy"]["estimate"], london["aggregate"]["n_invalid"]) == (0.5, 1)
