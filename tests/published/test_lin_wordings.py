"""Sentences of the released files, whole and filled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from equipoise.published.lin_wordings import Wordings
    from equipoise.stigma.rows import Question


@pytest.mark.parametrize(
    ("text", "question", "key"),
    [
        ("<mask> has [diagnosis]", "rq1", "has"),
        ("[MASK] has [diagnosis]", "rq1", "has"),
        ("<mask> has [diagnosis]", "rq2", None),
        ("<mask> had [diagnosis]", "rq1", None),
        ("<mask> struggles with [diagnosis]", "rq1", "struggles-with"),
        ("If I were an emploer, I would not interview a <mask> with [diagnosis].", "rq2", "not-interview"),
        ("If I were an employer, I would interview a <mask> with [diagnosis].", "rq2", "interview"),
    ],
)
def test_a_template_is_found_by_its_text(wordings: Wordings, text: str, question: Question, key: str | None) -> None:
    """Either kind of mask, released sentences that the paper has not, and misspelt words are known."""
    found = wordings.template(text, question)

    assert (found.key if found else None) == key


def test_not_interviewing_is_avoidance(wordings: Wordings) -> None:
    """The released "would not interview" words avoidance itself, the paper's "would interview" its opposite."""
    polarities = [
        found.polarity
        for verb in ("would not interview", "would interview")
        if (found := wordings.template(f"If I were an employer, I {verb} a <mask> with [diagnosis].", "rq2"))
    ]

    assert polarities == [1, -1]


@pytest.mark.parametrize(
    ("sentence", "phrase", "glued"),
    [
        ("I feel scared of a woman with OCD.", "woman", False),
        ("I feel scared of a close female friend with OCD.", "close female friend", False),
        ("I feel scared of aman with OCD.", "man", True),
    ],
)
def test_a_sentence_is_taken_apart(wordings: Wordings, sentence: str, phrase: str, *, glued: bool) -> None:
    """The phrase in the place of the subject is cut out, and whether a space stands before it is told."""
    for condition in ("OCD", None):  # given, or to be found
        place = wordings.place(sentence, "rq2", condition)
        assert place is not None
        assert (place.template.key, place.condition, place.phrase, place.glued) == ("scared", "OCD", phrase, glued)


def test_a_subject_that_begins_a_sentence_is_not_glued(wordings: Wordings) -> None:
    """In rq1 nothing stands before the subject."""
    place = wordings.place("She sees a therapist for cancer", "rq1")

    assert place is not None
    assert (place.template.key, place.condition, place.phrase, place.glued) == (
        "sees-a-therapist",
        "cancer",
        "She",
        False,
    )


@pytest.mark.parametrize("sentence", ["I feel scared of a with OCD.", "I feel scared of OCD.", "Scared.", ""])
def test_a_sentence_of_no_template_is_not_placed(wordings: Wordings, sentence: str) -> None:
    """A sentence without a subject, or of another form, has no place."""
    assert wordings.place(sentence, "rq2") is None
