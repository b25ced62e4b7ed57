"""Tests of the figures of a reader on annotated passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.judge.passages import Annotation, Passage
from equipoise.judge.rating import agreement
from equipoise.judge.reading import UNREAD
from workshop.benchmark import Item, items, misreading

if TYPE_CHECKING:
    import pytest

    from equipoise.materials.judgement import Consideration


def item(dimension: str, considered: Consideration, kind: str = "weighed") -> Item:
    """One question of a passage of its own, with what a reader found."""
    asked = Annotation.model_validate({"dimension": dimension, "feature": "black", "class": kind, "mentions": 1})
    passage = Passage(id="p", style="short", text="Text.", features=(asked,))
    (question,) = items([passage], [UNREAD.model_copy(update={"considered": considered})])
    return question


def test_right_is_right_three_ways() -> None:
    """To dismiss what is weighed is an error, and to find nothing in what is restated is right."""
    assert not item("race", "dismissed").right
    assert item("race", "none", "restated").right


def test_a_group_that_is_misread_is_found() -> None:
    """Race is misread in all of 20 questions and age in none: p is the least that 9,999 deals can give."""
    asked = [item("race", "none") for _ in range(20)] + [item("age", "weighed") for _ in range(20)]

    assert misreading(asked, [question.annotation.dimension for question in asked], seed=0) == 1e-4


def test_a_harder_class_is_no_misreading() -> None:
    """Where each class is read alike in both groups, their different shares of classes make no difference."""
    # Weighed is always right, dismissed always missed; race has more of the dismissed.
    asked = [item("race", "none", "dismissed") for _ in range(20)] + [item("race", "weighed") for _ in range(5)]
    asked += [item("age", "none", "dismissed") for _ in range(5)] + [item("age", "weighed") for _ in range(20)]

    assert misreading(asked, [question.annotation.dimension for question in asked], seed=0) == 1.0


def test_chance_is_found_as_often_as_the_level_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors that do not depend on the group are found at 0.1 in a tenth of 200 simulations."""
    monkeypatch.setattr(agreement, "DEALS", 199)
    rng = np.random.default_rng(1)
    groups = ["race", "age", "gender"] * 20
    wrong, right = item("race", "none"), item("race", "weighed")
    p_values = [
        misreading([wrong if errs else right for errs in rng.random(60) < 0.3], groups, seed=seed)
        for seed in range(200)
    ]

    # The standard error of a share of 0.1 of 200 is 0.021; ties make the test a little conservative.
    assert 0.03 < np.mean(np.array(p_values) <= 0.1) < 0.165
