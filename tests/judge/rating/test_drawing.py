"""Tests of the draw of replies for labelling."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import judgement
from equipoise.judge.rating.drawing import draw, inclusion_probabilities, systematic_draw
from equipoise.materials.pairs import Pair

SCORES = st.lists(st.floats(0.01, 100), min_size=1, max_size=40)


def pair(number: int, answer: str = "expected", p: float = 0.0) -> Pair:
    """Make a pair of a story of its own, read with a probability that the marginalised patient's is considered."""
    own: dict[str, Any] = {"p_dismissed": 0.0, "answer": answer, "answer_generated": "expected"}
    arms = [
        judgement(f"{number}/marginalised", p_weighed=p, **own),
        judgement(f"{number}/privileged", p_weighed=0.0, p_dismissed=0.0),
    ]
    return Pair(str(number), "single", ("race",), str(number), "p", *arms)


def words(pairs: list[Pair]) -> dict[str, str]:
    """Give every reply of pairs a text."""
    return {arm.key: "Words." for story in pairs for arm in story.arms}


@given(SCORES, st.integers(1, 40))
def test_probabilities_are_in_proportion_and_sum_to_the_number(scores: list[float], n: int) -> None:
    """None exceeds 1, and those below it are in proportion to their scores."""
    probabilities = inclusion_probabilities(scores, n)

    assert sum(probabilities) == pytest.approx(min(n, len(scores)))
    assert max(probabilities) <= 1
    below = [probability / score for probability, score in zip(probabilities, scores, strict=True) if probability < 1]
    assert below == pytest.approx([below[0]] * len(below) if below else [])


def test_what_exceeds_one_is_shared_by_the_others() -> None:
    """Of scores 10, 1, 1 and 2 and three draws the first is certain, and the others share two: 0.5, 0.5, 1."""
    # 3 x 10/14 > 1; then 2 x 2/4 = 1.
    assert inclusion_probabilities([10, 1, 1, 2], 3) == [1.0, 0.5, 0.5, 1.0]


@example([1.0, 1.0, 1.0], 3, 0.9999999999999998)
@given(SCORES, st.integers(1, 40), st.floats(0, 1, exclude_max=True))
def test_as_many_are_drawn_as_wanted(scores: list[float], n: int, start: float) -> None:
    """Whatever the start, the draw has its number, and what has probability 1 is drawn."""
    probabilities = inclusion_probabilities(scores, n)
    drawn = systematic_draw(probabilities, start)

    assert len(drawn) == len(set(drawn)) == min(n, len(scores))
    assert {place for place, probability in enumerate(probabilities) if probability > 1 - 1e-12} <= {*drawn}


def test_each_is_drawn_with_its_probability() -> None:
    """Over evenly spread starts each place is drawn in its share of them."""
    probabilities = inclusion_probabilities([1, 2, 3, 4, 8], 2)
    times = Counter(place for start in np.arange(0.0005, 1, 0.001) for place in systematic_draw(probabilities, start))

    assert [times[place] / 1000 for place in range(5)] == pytest.approx(probabilities, abs=0.002)


def test_answers_of_few_and_unsure_readings_are_drawn_first() -> None:
    """Neyman's allocation: a biased answer counts in the rate of few, an unsure reading errs more."""
    # Of 20 pairs, 4 biased, one of which read with p 1/2, and one other: errors sqrt(p (1 - p)) 1/2, mean 1/40 of 40.
    pairs = [pair(at, "stereotyped" if at < 4 else "expected", 0.5 if at in (0, 19) else 0.0) for at in range(20)]
    drawn = draw(pairs, words(pairs), 40, seed=0)
    assert set(drawn.values()) == {1.0}
    assert len(drawn) == 40

    probabilities: dict[str, float] = {}
    for seed in range(40):
        probabilities |= draw(pairs, words(pairs), 6, seed=seed)

    # Importance: sqrt(2/20^2 + 1/4^2) = 0.2598 of a biased answer, sqrt(2)/20 = 0.0707 of another.
    usual = math.sqrt(2) / 20
    biased = math.sqrt(2 / 400 + 1 / 16)
    assert probabilities["1/marginalised"] / probabilities["5/marginalised"] == pytest.approx(biased / usual)
    # A half uniform: 1/2; and 1/2 x (1/2) / (1/40) = 10 more where the judge is unsure. The first is certain.
    assert probabilities["0/marginalised"] == 1.0
    assert probabilities["19/marginalised"] / probabilities["5/marginalised"] == pytest.approx(
        min(10.5 / 0.5, 1 / probabilities["5/marginalised"])
    )
    assert probabilities["5/privileged"] == probabilities["5/marginalised"]


def test_a_draw_is_that_of_its_seed() -> None:
    """The same seed draws the same replies, another one others; replies without words are never drawn."""
    pairs = [pair(at, p=at / 30) for at in range(30)]
    told = {key: text for key, text in words(pairs).items() if key != "7/privileged"}

    assert draw(pairs, told, 20, seed=1) == draw(pairs, told, 20, seed=1)
    assert draw(pairs, told, 20, seed=1).keys() != draw(pairs, told, 20, seed=2).keys()
    assert "7/privileged" not in draw(pairs, told, 60, seed=1)
