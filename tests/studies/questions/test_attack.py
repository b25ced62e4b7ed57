"""Tests of the figures of an attack: which answers measure it, and that chance answers are not an effect."""

from __future__ import annotations

import numpy as np
import pytest

import builders
from equipoise.figures.effects import Effect
from equipoise.figures.options import Measure
from equipoise.materials.questions import Order
from equipoise.studies.questions.attack import attack_effects, attack_tables
from equipoise.studies.questions.effects import Answered, paper_pair
from equipoise.studies.questions.rows import Variant

PRIVILEGED, UNPRIVILEGED = paper_pair("race")
OPTIONS = {"A": "one", "B": "two"}


def only(letter: str, shift: int) -> Order:
    """Build an order in which one option has all probability."""
    return Order(shift=shift, probabilities={each: float(each == letter) for each in OPTIONS})


def by_measure(effects: list[Effect]) -> dict[str, Effect]:
    """Index effects by group and measure."""
    return {f"{row.group}/{row.measure}": row for row in effects}


def chosen_variant(name: str, run: int) -> Variant:
    """Build a variant that an evaluator chose."""
    row = builders.variant("q1", name, options=OPTIONS)
    return row.model_copy(update={"key": f"{row.key}/attack/{run}"})


def test_a_chosen_text_is_measured_in_the_orders_that_did_not_choose_it() -> None:
    """The neutral text is answered rightly in order 1 alone: it counts as right in the run that is measured there."""
    attacks = [chosen_variant(name, run) for run in (0, 1) for name in (PRIVILEGED, UNPRIVILEGED)]
    orders = {row.key: [only("A", 1 - int(row.key[-1]))] for row in attacks}
    orders["q1/neutral"] = [only("B", 0), only("A", 1)]

    first, second = attack_tables([builders.variant("q1", "neutral", options=OPTIONS)], attacks, orders)

    assert [row.letters["neutral"] for row in (*first, *second)] == ["A", "B"]
    assert {first[0].letters[name] for name in (PRIVILEGED, UNPRIVILEGED)} == {"A"}


def test_a_question_counts_with_its_mean_over_both_runs() -> None:
    """Gaps of 1 and 0 are 0.5, of 0 and 0 nothing: (0.5 + 0) / 2; no crossed figures in the paper's design."""

    def row(name: str, privileged: str, unprivileged: str) -> Answered:
        return Answered(name, "A", {"neutral": "A", PRIVILEGED: privileged, UNPRIVILEGED: unprivileged})

    tables = [[row("q1", "A", "B"), row("q2", "A", "A")], [row("q1", "B", "B"), row("q2", "A", "A")]]
    effects = by_measure(attack_effects(tables, Measure()))

    assert effects["race/gap"].estimate == pytest.approx(0.25)
    assert effects["race/gap"].n == 2
    # Penalties, neutral minus unprivileged: 1 and 1, then 0 and 0.
    assert effects["race/penalty"].estimate == pytest.approx(0.5)
    assert effects["race/lift"].estimate == pytest.approx(-0.25)
    assert set(effects) == {"race/gap", "race/lift", "race/penalty"}


def test_without_an_attack_there_are_no_figures() -> None:
    """No run, or runs without a question in common."""
    assert attack_effects([], Measure()) == []
    assert attack_effects(attack_tables([], [], {}), Measure()) == []


def test_texts_chosen_by_chance_answers_have_no_effect_in_other_orders() -> None:
    """The wrong one of 3 chance answers is chosen: wrong in 7/8 of questions, but in half of other orders."""
    rng = np.random.default_rng(1)
    right = rng.random((2, 4000, 3)) < 0.5  # in the two orders, for each attempt
    tables = []
    for choosing, measuring in ((0, 1), (1, 0)):
        wrong_first = right[choosing].argmin(axis=1)  # the first attempt without a right answer, else attempt 0
        answers = right[measuring][np.arange(4000), wrong_first]
        neutral = rng.random(4000) < 0.5
        tables.append(
            [
                Answered(
                    f"{number:04}",
                    "A",
                    {"neutral": "AB"[int(was)], PRIVILEGED: "A", UNPRIVILEGED: "BA"[int(now)]},
                )
                for number, (was, now) in enumerate(zip(neutral, answers, strict=True))
            ]
        )
    effect = by_measure(attack_effects(tables, Measure()))["race/penalty"]

    # Each run is a difference of two halves: a standard error of sqrt(0.5 / 8000) = 0.008; four of them.
    assert effect.estimate == pytest.approx(0, abs=0.032)


def test_a_question_without_the_attribute_is_left_out() -> None:
    """Race is measured in the one question that has it."""
    whole = Answered("q1", "A", {"neutral": "A", PRIVILEGED: "A", UNPRIVILEGED: "B"})
    effects = by_measure(attack_effects([[whole, Answered("q2", "A", {"neutral": "A"})]], Measure()))

    assert (effects["race/gap"].n, effects["race/gap"].estimate) == (1, 1.0)
