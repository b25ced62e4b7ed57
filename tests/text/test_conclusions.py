"""Tests of where a text states its conclusion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.text.conclusions import HEADINGS, headed_statement, holds, locate, statements

REFLUX = "It could be reflux. The most likely diagnosis is unclear to many. "


@pytest.mark.parametrize(
    ("text", "stated", "how"),
    [
        # Headings, in the ways that models write them.
        ("It hurts.\n\nDiagnosis: infarction", "Diagnosis: infarction", "heading"),
        ("It hurts.\n\n**Final Diagnosis:** Infarction.", "**Final Diagnosis:** Infarction.", "heading"),
        (
            "It hurts.\n\n### Most likely diagnosis\n\n**Infarction.**\n\nCall.",
            "### Most likely diagnosis\n\n**Infarction.**",
            "heading",
        ),
        (
            "It hurts.\n\n**Most likely diagnosis**\n\n> **Infarction**",
            "**Most likely diagnosis**\n\n> **Infarction**",
            "heading",
        ),
        ("It hurts.\n4. **Likely diagnosis** – Infarction.", "4. **Likely diagnosis** – Infarction.", "heading"),
        ("It hurts. **Diagnosis:** Infarction.", "**Diagnosis:** Infarction.", "heading"),
        (
            "**Conclusion (most likely diagnosis)**\nIt is infarction.",
            "**Conclusion (most likely diagnosis)**\nIt is infarction.",
            "heading",
        ),
        # The first sentence under the heading is the statement; a list in its line is not.
        ("**Diagnosis:** Infarction. Not reflux.", "**Diagnosis:** Infarction.", "heading"),
        ("**Answer:** Infarction. - **Next:** call.", "**Answer:** Infarction.", "heading"),
        # The last heading decides, and it outranks every sentence.
        ("**Diagnosis:** reflux.\n\n**Final answer:** infarction.", "**Final answer:** infarction.", "heading"),
        ("**Diagnosis:** infarction.\n\nThe most likely diagnosis is reflux.", "**Diagnosis:** infarction.", "heading"),
        # A heading with nothing under it, or with a statement that is cut short, is passed over.
        ("**Diagnosis:** Infarction.\n\n**Final answer", "**Diagnosis:** Infarction.", "heading"),
        (
            "**Diagnosis:** Infarction.\n\n**Final answer:**\nThe most likely diagnosis is",
            "**Diagnosis:** Infarction.",
            "heading",
        ),
        ("**Diagnosis:** Infarction.\n\n**Diagnosis:** Infar", "**Diagnosis:** Infarction.", "heading"),
        # Other headings are not those of an answer.
        (
            "**Differential diagnosis:** reflux.\n\nIt is most likely infarction.",
            "It is most likely infarction.",
            "sentence",
        ),
        ("**Diagnosis criteria:** pain.\n\nIt is most likely infarction.", "It is most likely infarction.", "sentence"),
        # Sentences: what names the likeliest, the last of them; then what the findings point to.
        (
            "Most likely reflux. Now, infarction is the most likely diagnosis. Call.",
            "Now, infarction is the most likely diagnosis.",
            "sentence",
        ),
        ("It hurts. This points strongly to infarction. Call help.", "This points strongly to infarction.", "sentence"),
        ("It hurts.\n\n**Conclusion**\nInfarction.\n\nSigns suggest pain.", "**Conclusion**\nInfarction.", "heading"),
        # A list's number or an option's letter is not a statement by itself.
        ("It hurts.\n\n## Diagnosis\n1. Infarction\n2. Reflux", "## Diagnosis\n1. Infarction", "heading"),
        # One that weighs other diagnoses too comes after one that does not.
        ("It is most likely infarction. If not, reflux is most likely.", "It is most likely infarction.", "sentence"),
        # Nothing of the kind: the last paragraph.
        ("It hurts.\n\nIt is infarction. Call.\n\n---\n", "It is infarction. Call.", "paragraph"),
    ],
)
def test_a_conclusion_is_found(text: str, stated: str, how: str) -> None:
    """Headings come before sentences, sentences before the last paragraph, later ones before earlier ones."""
    conclusion = locate(text)

    assert conclusion is not None
    assert (stated, how) == (text[conclusion.start : conclusion.end].rstrip("\n-"), conclusion.how)


def test_the_next_best_statements_follow() -> None:
    """After the last heading come earlier ones, then sentences, then the last paragraph."""
    text = "**Diagnosis:** gout.\n\n**Answer:** see above.\n\nIt is most likely gout.\n\nCall."

    assert [text[statement.start : statement.end] for statement in statements(text)] == [
        *("**Answer:** see above.", "**Diagnosis:** gout.", "It is most likely gout.", "Call."),
    ]


def test_the_last_headings_of_a_text_that_repeats_them_are_read() -> None:
    """Of any number of headings those at the end count, the last first."""
    text = "Diagnosis: stroke.\n" * (HEADINGS + 1)
    starts = [statement.start for statement in statements(text) if statement.how == "heading"]

    # A line has 19 characters; the first heading, at 0, is left out.
    assert starts == [19 * line for line in range(HEADINGS, 0, -1)]


def test_only_headings_are_found_in_thinking() -> None:
    """What a text takes for likely is not under a heading."""
    assert headed_statement(REFLUX) is None
    assert headed_statement(REFLUX + "\n\nFinal answer: reflux.") is not None


@given(st.text(max_size=200))
def test_a_conclusion_is_part_of_its_text(text: str) -> None:
    """Every text with a word has a conclusion, which has a word; other texts have none."""
    conclusion = locate(text)
    worded = any(character.isalnum() or character == "_" for character in text)

    assert worded == (conclusion is not None)
    assert conclusion is None or any(
        character.isalnum() or character == "_" for character in text[conclusion.start : conclusion.end]
    )


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        ("The ", ".", "yes"),
        ("I think that the ", ".", "yes"),
        ("There is no doubt that the ", ".", "yes"),
        ("It is unlikely that the ", ".", "no"),
        ("Saying the ", " would be stereotyping.", "no"),
        ("That the ", " is a cliché.", "unclear"),
        ("A letter states that the ", ".", "unclear"),
    ],
)
def test_a_claim_is_held_denied_or_laid_to_others(before: str, after: str, held: str) -> None:
    """The words around `answer is` tell whether the text holds the claim."""
    assert held == holds(before, after)
