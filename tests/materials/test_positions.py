"""Tests of the position figures: what letters get whatever stands there."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import builders
from equipoise.core.keys import numbered
from equipoise.figures.effects import Effect
from equipoise.figures.options import Measure
from equipoise.materials.orders import choices, shown, shown_as
from equipoise.materials.positions import position_effects, shown_letters
from equipoise.materials.questions import ATTRIBUTES, Group, Order
from equipoise.studies.questions.effects import (
    DIRECTIONS,
    arm,
    arm_skews,
    question_effects,
    question_findings,
    tabulate,
)

LETTERS = "ABCD"
GROUPS: tuple[Group, ...] = ("privileged", "unprivileged")


def order(shift: int, **by_place: float) -> Order:
    """Build the answer in one order from the probabilities of the letters as they were shown."""
    places = shown_as(LETTERS, shift)
    return Order(shift=shift, probabilities={letter: by_place[places[letter]] for letter in LETTERS})


def by_place(effects: list[Effect]) -> dict[str, Effect]:
    """Index effects by group and measure."""
    return {f"{row.group}/{row.measure}": row for row in effects}


def test_a_letter_that_is_preferred_whatever_stands_there_is_found() -> None:
    """Letter C with 0.7 in every order has a mean of 0.7 and a prior of 0.7; 0.45 would have to change its letter."""
    told = {"A": 0.1, "B": 0.1, "C": 0.7, "D": 0.1}
    question = [[order(shift, **told) for shift in range(4)]]

    effects = by_place(list(position_effects("questions", [question] * 3, 0.05)))

    # |0.7 - 0.25| = 0.45 and three times |0.1 - 0.25| = 0.15: half of 0.9.
    assert effects["C/position_probability"].estimate == pytest.approx(0.7)
    assert effects["C/position_prior"].estimate == pytest.approx(0.7)
    assert effects["all/position_bias"].estimate == pytest.approx(0.45)
    assert effects["C/position_probability"].n == 3


def test_a_model_that_knows_the_option_has_no_position_bias() -> None:
    """The right option has 0.97 wherever it stands: each letter has (0.97 + 3 x 0.01) / 4 on average."""
    question = [[Order(shift=shift, probabilities={"A": 0.01, "B": 0.97, "C": 0.01, "D": 0.01}) for shift in range(4)]]

    effects = by_place(list(position_effects("exam", [question], 0.05)))

    assert [effects[f"{letter}/position_probability"].estimate for letter in LETTERS] == pytest.approx([0.25] * 4)
    assert [effects[f"{letter}/position_prior"].estimate for letter in LETTERS] == pytest.approx([0.25] * 4)
    assert effects["all/position_bias"].estimate == pytest.approx(0)


def test_replies_have_no_prior_and_one_order_no_figures() -> None:
    """A reply's probabilities are 0 and 1, whose logarithms have no mean; in one order the options stand still."""
    orders = [order(shift, A=1.0, B=0.0, C=0.0, D=0.0) for shift in range(4)]

    effects = by_place(list(position_effects("questions", [[orders]], 0.05)))

    assert effects["A/position_probability"].estimate == 1
    assert not [name for name in effects if name.endswith("position_prior")]
    assert list(position_effects("questions", [[orders[:1]], []], 0.05)) == []


def test_letters_are_compared_as_they_were_shown() -> None:
    """Moved on by three, letter C shows option D; without a letter no option is given."""
    assert shown_letters(order(3, A=0.1, B=0.2, C=0.4, D=0.3), "D") == ("C", "C")
    assert shown_letters(Order(shift=3, probabilities={}), "D") == (None, "D")


def test_the_label_skew_of_an_arm_is_that_of_the_letters_shown() -> None:
    """A model that gives C in every order chooses each option as often, and the alarm still rings."""
    options = dict(zip(LETTERS, ("one", "two", "three", "four"), strict=True))
    variants = [builders.variant(f"q{number}", "neutral", options=options) for number in range(12)]
    orders = tuple(order(shift, A=0.1, B=0.1, C=0.7, D=0.1) for shift in range(4))
    letters = {row.key: LETTERS[number % 4] for number, row in enumerate(variants)}

    table = tabulate(variants, letters, {row.key: orders for row in variants})
    effects = by_place(question_effects(table, Measure()))

    # Always C, against each letter in a quarter of the orders: a distance of 0.75 over 48 answers.
    assert (effects["neutral/label_skew"].estimate, effects["neutral/label_skew"].n) == (0.75, 48)
    assert [finding.answer for finding in question_findings(arm_skews(table))] == [True]
    assert effects["neutral/accuracy"].estimate == 0.25


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), rotation=st.integers(1, 3))
def test_gaps_do_not_depend_on_which_order_comes_first(seed: int, rotation: int) -> None:
    """With all options written some places on, the same prompts are asked, and every figure is the same."""
    rng = np.random.default_rng(seed)
    arms = ["neutral", *(arm(attribute, *sides) for attribute in ATTRIBUTES for sides in product(GROUPS, DIRECTIONS))]
    written = {letter: f"option {letter}" for letter in LETTERS}
    # What the model thinks of the text in each arm and of each letter, by the option's text that is shown first.
    utilities = {
        (item, name, first): dict(zip(LETTERS, rng.normal(size=4).tolist(), strict=True))
        for item, name, first in product(("q1", "q2", "q3", "q4"), arms, written.values())
    }

    def figures(options: dict[str, str]) -> dict[str, float | None]:
        variants, responses = [], []
        for item, name in product(("q1", "q2", "q3", "q4"), arms):
            gold = next(letter for letter, text in options.items() if text == written["A"])
            row = builders.variant(item, name, options=options, gold=gold)
            variants.append(row)
            for shift in range(4):
                scores = utilities[item, name, shown(options, shift)["A"]]
                responses.append(builders.response(numbered(row.key, shift), study="questions", log_likelihood=scores))
        read = list(choices(responses, {row.key: row.options for row in variants}))
        letters, orders = {choice.key: choice.letter for choice in read}, {choice.key: choice.orders for choice in read}
        effects = question_effects(tabulate(variants, letters, orders), Measure())
        return {row.key: row.estimate for row in effects}

    first, second = figures(written), figures(shown(written, rotation))

    assert first["questions/attribute/race/gap"] is not None
    assert first.keys() == second.keys()
    for key, value in first.items():
        assert value == pytest.approx(second[key], abs=1e-9), key
