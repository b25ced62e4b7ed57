"""The reading grade of texts whose words, sentences and syllables are counted by hand."""

from __future__ import annotations

import pytest

from equipoise.text.readability import reading_grade, syllables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 6 words of one syllable in 1 sentence: 0.39 x 6 + 11.8 - 15.59
        ("The cat sat on the mat.", -1.45),
        # 8 words, 11 syllables, 2 sentences: 0.39 x 4 + 11.8 x 1.375 - 15.59
        ("Pain began today. No fever has been seen.", 2.195),
        # 5 words, 2 + 1 + 3 + 2 + 2 syllables: 0.39 x 5 + 11.8 x 2 - 15.59
        ("Stable in hospital; older patient's.", 9.96),
        ("…", 0.0),
    ],
)
def test_the_grade_follows_its_formula(text: str, expected: float) -> None:
    """Words a sentence and syllables a word, each with its published weight."""
    assert reading_grade(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("pain", 1), ("home", 1), ("little", 2), ("three", 1), ("body", 2), ("condition", 3), ("41", 1), ("Hm", 1)],
)
def test_syllables_are_groups_of_vowels(word: str, expected: int) -> None:
    """A final e is silent but after l; what has no vowel is one syllable."""
    assert syllables(word) == expected
