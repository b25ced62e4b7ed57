from __future__ import annotations

from workshop.scored import similar_cases

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
    assert similar_cases(PROMPTS, 0.4) == {"a1": "a1", "a2": "a1", "b1": "b1", "b2": "b1", "c": "c"}


def test_likeness_joins_through_a_third_case() -> None:
    """Where the first is like the second and the second like the third, all three are one group."""
    # ab|bc share 1 of 3 words, so do bc|cd; ab|cd share none.
    assert set(similar_cases({"x": "alpha beta", "y": "beta gamma", "z": "gamma delta"}, 0.3).values()) == {"x"}


def test_likeness_of_one_takes_the_same_words() -> None:
    """With likeness 1 only prompts of the same words are joined, in whatever order."""
    assert similar_cases({"x": "alpha beta", "y": "Beta, alpha 7", "z": "alpha"}, 1.0) == {"x": "x", "y": "x", "z": "z"}
