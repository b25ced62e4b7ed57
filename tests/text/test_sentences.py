from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.text.sentences import (
    Span,
    closing_question,
    final_question,
    first_sentence,
    sentence_spans,
    sentences_of,
)

# Prose-like text: words, stops, abbreviations, numbers, line breaks and list marks in any order.
PIECES = st.sampled_from(
    ["He", "is", "45", "y.o.", "Dr.", "e.g.", "1.5", "ill", ".", "! ", "? ", "\n", "\n\n", "- ", "1. "]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map(" ".join))


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He is ill. She is well.", ["He is ill.", "She is well."]),
        ("Is he ill? Yes! He is.", ["Is he ill?", "Yes!", "He is."]),
        ("Troponin is 1.5 ng/mL. It is raised.", ["Troponin is 1.5 ng/mL.", "It is raised."]),
        ("Dr. Shah saw him, e.g. Monday. He slept.", ["Dr. Shah saw him, e.g. Monday.", "He slept."]),
        ("His B.P. 140/90 is raised. See No. 5 below.", ["His B.P. 140/90 is raised.", "See No. 5 below."]),
        ("J. Doe came. So did I. We talked.", ["J. Doe came.", "So did I.", "We talked."]),
        ("It is type 2. Then rest.", ["It is type 2.", "Then rest."]),
        ("1. Chest pain. Severe.\n2. Sweating", ["1. Chest pain.", "Severe.", "2. Sweating"]),
        ("- chest pain\n- sweating", ["- chest pain", "- sweating"]),
        ("* **Age**: old\n\nhe is tired", ["* **Age**: old", "he is tired"]),
        ("A line that is\nwrapped at its end. Next.", ["A line that is\nwrapped at its end.", "Next."]),
        ('He said "no." She left.', ['He said "no."', "She left."]),
        ("First.\n\n---\n\nSecond.", ["First.", "Second."]),
        ("approx. 5 days ... perhaps", ["approx. 5 days ... perhaps"]),
        ("One here. Two there? Three!", ["One here.", "Two there?", "Three!"]),
        ("Seen by Dr. Ames at 37.5 degrees. Then sent on.", ["Seen by Dr. Ames at 37.5 degrees.", "Then sent on."]),
        ("Culture grows E. coli. It is treated.", ["Culture grows E. coli.", "It is treated."]),
        ('They said, "It hurts." Then they left.', ['They said, "It hurts."', "Then they left."]),
        ('They ask, "Why me?" and leave. Then rest.', ['They ask, "Why me?" and leave.', "Then rest."]),
        ("Came at 5 p.m. The team was busy.", ["Came at 5 p.m.", "The team was busy."]),
        ("Results:\nSodium 140\nPotassium 4", ["Results:", "Sodium 140", "Potassium 4"]),
        ("Two causes are known: one here. The other there.", ["Two causes are known: one here.", "The other there."]),
        ("Lacks vitamin D. Which drug?", ["Lacks vitamin D.", "Which drug?"]),
        ("QRS of 130 ms. In shock. Ms. In came.", ["QRS of 130 ms.", "In shock.", "Ms. In came."]),
        (
            "It is 2 mg/L. If so, at 37°C (98°F). MRI is clear.",
            ["It is 2 mg/L.", "If so, at 37°C (98°F).", "MRI is clear."],
        ),
        ("", []),
        (" \n . \n", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    """Sentences end at stops and lines, not at abbreviations, initials, decimals or list numbers."""
    assert expected == sentences(text)


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
        ("He is ill. What is it? \n ", "What is it?"),
        ('Dr. No asks. Growth of E. coli. What is it?"', 'What is it?"'),
        ("It is due to:", "It is due to:"),
        ("", ""),
    ],
)
def test_final_question(text: str, expected: str) -> None:
    """The final question is the last sentence, or the last that asks, without a table before it."""
    assert closing_question(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Acute appendicitis (AA). This", "Acute appendicitis (AA)."),
        # The stop may be that of an abbreviation, and a reply that goes on in the next line has ended its first.
        ("Acute appendicitis (AA).", None),
        ("infection with E. coli", None),
        ("\n**Acute appendicitis**\nor", "**Acute appendicitis**"),
        ("\n\n", None),
    ],
)
def test_first_sentence(text: str, expected: str | None) -> None:
    """It has ended once another sentence or line begins."""
    assert first_sentence(text) == expected


def test_final_question_is_one_sentence() -> None:
    """What follows the final question is not part of it; a text without words has none."""
    text = "He is ill. What is it? One answer only."
    start, end = final_question(text)

    assert text[start:end] == "What is it?"
    assert final_question(" \n") == Span(0, 0)


@given(text=TEXTS)
def test_final_question_is_an_end_of_the_text(text: str) -> None:
    """Whatever the text, the final question is what its end holds from its start on."""
    start, end = final_question(text)

    assert 0 <= start <= end <= len(text)
    assert closing_question(text) == text[start:].strip()


def test_sentences_are_slices_of_the_text() -> None:
    """The sentences of a text are without the white space around them."""
    assert sentences_of(" A b. C d.\n") == ["A b.", "C d."]


def test_long_sentence_is_cut_at_a_clause() -> None:
    """A sentence beyond the longest length is cut after its last clause mark that fits, and no word is lost."""
    # The comma ends at character 8, within the 12 and beyond half of them; what is left has exactly 12 characters.
    text = "aaa bbb, ccc ddd eee."

    assert [text[start:end] for start, end in sentence_spans(text, longest=12)] == ["aaa bbb,", "ccc ddd eee."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What a model says that has lost its thread: read in one pass, not again from each character.
        ("He is ill." + " " * 100_000 + "She is well.", ["He is ill.", "She is well."]),
        ("Ill" + "." * 100_000 + "well", ["Ill" + "." * 100_000 + "well"]),
        ("a" * 100_000 + " b! He is ill.", ["a" * 100_000 + " b!", "He is ill."]),
        ("a" * 100_000 + " (b). He is ill.", ["a" * 100_000 + " (b).", "He is ill."]),
    ],
    ids=["spaces", "stops", "letters", "letters and marks"],
)
def test_long_runs_are_read(text: str, expected: list[str]) -> None:
    """A hundred thousand of one character are cut like any text."""
    assert expected == [text[start:end] for start, end in sentence_spans(text, longest=len(text))]


@given(text=TEXTS, longest=st.integers(1, 60))
def test_sentences_cover_the_text(text: str, longest: int) -> None:
    """Every letter and digit is in a sentence, and no sentence is too long."""
    spans = sentence_spans(text, longest=longest)

    assert all(end - start <= longest for start, end in spans)
    covered = {place for start, end in spans for place in range(start, end)}
    assert {place for place, letter in enumerate(text) if letter.isalnum()} <= covered


@given(text=TEXTS)
def test_sentences_are_in_order(text: str) -> None:
    """Sentences follow one another without overlap and without white space at their ends."""
    spans = sentence_spans(text)

    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
