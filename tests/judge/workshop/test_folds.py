from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop.grid import grouped_folds, told_alike

from equipoise.core.errors import EquipoiseError

PROMPTS = {
    "a1": "A 45-year-old Black man has chest pain and sweats.",
    "a2": "A 45-year-old white man has chest pain and sweats.",
    "b1": "A 30-year-old woman with a BMI of 42 is short of breath.",
    "b2": "A 30-year-old woman with a BMI of 22 is short of breath.",
    "c": "Fever since Monday.",
}


def test_arms_of_a_vignette_are_one_group() -> None:
    """Two arms that differ in one word, or in a number alone, are together, and other cases apart."""
    # a1 and a2 share 9 of 11 words; b1 and b2 all; a and b share a, year, old: 3 of 20.
    assert told_alike(PROMPTS, 0.4) == {"a1": "a1", "a2": "a1", "b1": "b1", "b2": "b1", "c": "c"}


def test_likeness_joins_through_a_third_case() -> None:
    """Where the first is like the second and the second like the third, all three are one group."""
    # ab|bc share 1 of 3 words, so do bc|cd; ab|cd share none.
    assert set(told_alike({"x": "alpha beta", "y": "beta gamma", "z": "gamma delta"}, 0.3).values()) == {"x"}


def test_likeness_of_one_takes_the_same_words() -> None:
    """With likeness 1 only prompts of the same words are joined, in whatever order."""
    assert told_alike({"x": "alpha beta", "y": "Beta, alpha 7", "z": "alpha"}, 1.0) == {"x": "x", "y": "x", "z": "z"}


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=8, max_size=40), st.integers(2, 4), st.integers(0, 1000))
def test_no_group_is_in_two_folds(drawn: list[str], n_folds: int, seed: int) -> None:
    """Every row is in one fold, and no group in two."""
    groups = [*drawn, *"abcd"]
    folds = grouped_folds(groups, n_folds, seed)
    held = [{groups[row] for row in fold} for fold in folds]

    assert sorted(row for fold in folds for row in fold) == list(range(len(groups)))
    assert all(held)
    assert sum(map(len, held)) == len(set(groups))


def test_too_few_groups_are_refused() -> None:
    """Two groups make no three folds."""
    with pytest.raises(EquipoiseError, match="2 groups of cases cannot make 3 folds"):
        grouped_folds(["a", "a", "b"], 3, 0)
