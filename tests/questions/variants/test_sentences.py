"""Where sentences end, and which is the final question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.questions.variants.sentences import final_question, final_question_start, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there? Three!", ["One here.", "Two there?", "Three!"]),
        ("Seen by Dr. Ames at 37.5 degrees. Then sent on.", ["Seen by Dr. Ames at 37.5 degrees.", "Then sent on."]),
        ("Culture grows E. coli. It is treated.", ["Culture grows E. coli.", "It is treated."]),
        ('They said, "It hurts." Then they left.', ['They said, "It hurts."', "Then they left."]),
        ("Came at 5 p.m. The team was busy.", ["Came at 5 p.m.", "The team was busy."]),
        ("Results:\nSodium 140\nPotassium 4", ["Results:", "Sodium 140", "Potassium 4"]),
        ("Two causes are known: one here. The other there.", ["Two causes are known: one here.", "The other there."]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    """A sentence ends at its mark or line, not at an abbreviation, a decimal point or a colon within a line."""
    actual = sentences(text)

    assert expected == actual


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A patient coughs. Which drug helps?", "Which drug helps?"),
        ("A patient lacks vitamin D. Which drug helps?", "Which drug helps?"),
        ("A patient coughs. The best next step is:", "The best next step is:"),
        ("A patient coughs. What is the dose? Give one letter.", "What is the dose? Give one letter."),
        ("A patient coughs. Leukocytes 9,000/mm3 Which drug helps?", "Which drug helps?"),
        ("A patient coughs.\nSodium 140\nWhich drug helps?", "Which drug helps?"),
        ('They ask, "Why me?" and leave. The cause is most likely:', "The cause is most likely:"),
        ("Which drug helps a patient who coughs?", "Which drug helps a patient who coughs?"),
        ("A patient coughs. The doctor asks: “Which is it?” What is best?", "What is best?"),
    ],
)
def test_final_question(text: str, expected: str) -> None:
    """The final question is the last sentence, or the last that asks, without a table before it."""
    actual = final_question(text)

    assert expected == actual


@given(st.text())
def test_final_question_is_an_end_of_the_text(text: str) -> None:
    """Whatever the text, the final question is what stands from its start to the end."""
    start = final_question_start(text)

    assert 0 <= start <= len(text)
    assert final_question(text) == text[start:].strip()
