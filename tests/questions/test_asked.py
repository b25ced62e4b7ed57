"""Tests of the prompts for multiple-choice questions and of the letter read from a response."""

from __future__ import annotations

from pathlib import Path

import pytest

import builders
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Prompt, Response
from equipoise.questions.asked import evaluator, exam_prompt, letter_of, letters, question_prompt
from equipoise.questions.rows import Item, Neutralised, Variant
from equipoise.questions.variants.templates import load_templates

TEMPLATE = load_templates(Path(__file__).parents[2] / "data" / "templates").evaluation
OPTIONS = {"A": "asthma", "B": "pneumonia", "C": "pulmonary embolism", "D": "heart failure"}
HEAD = "A 60-year-old patient has fever and a cough."
ASKED = "Which diagnosis is most likely?"
ITEM = Neutralised(
    key="i1",
    question=f"{HEAD} {ASKED}",
    options=OPTIONS,
    gold="B",
    neutral=f"{HEAD} {ASKED}",
    excluded=None,
    changes=(),
)


def variant(name: str, text: str) -> Variant:
    """Build a variant of the item."""
    return builders.variant("i1", name, text=text, options=OPTIONS, gold="B")


def response(key: str, *replies: str, **log_likelihood: float) -> Response:
    """Build a response with replies, or with likelihoods of letters."""
    return builders.response(key, *replies, study="questions", log_likelihood=log_likelihood)


def test_by_likelihood_every_letter_is_a_candidate_and_nothing_is_generated() -> None:
    """The prompt asks for the options' letters after `Answer:`, and holds question and options."""
    prompt = question_prompt(variant("neutral", ITEM.neutral), ITEM, TEMPLATE, "likelihood")

    assert (prompt.candidates, prompt.reply, prompt.prefix) == (("A", "B", "C", "D"), False, "Answer:")
    assert all(text in prompt.turns[0] for text in (HEAD, ASKED, *OPTIONS.values()))


def test_generated_answers_need_no_candidates() -> None:
    """Asked to generate, the model replies and no likelihood is read."""
    prompt = question_prompt(variant("neutral", ITEM.neutral), ITEM, TEMPLATE, "generate")

    assert (prompt.candidates, prompt.reply, prompt.prefix) == ((), True, "")


def test_variants_share_the_neutral_vignette_as_their_stem() -> None:
    """A text that begins as the neutral one does has its vignette as stem; the original, which does not, has none."""
    race = variant("race", f"{HEAD} The patient is Black. {ASKED}")
    original = variant("original", f"A 60-year-old man has fever and a cough. {ASKED}")

    assert question_prompt(race, ITEM, TEMPLATE, "likelihood").stem == HEAD
    assert question_prompt(original, ITEM, TEMPLATE, "likelihood").stem == ""


def test_the_likeliest_letter_is_read_and_a_tie_goes_to_the_first() -> None:
    """-1 is likelier than -2; of two equal ones the first by name."""
    assert letter_of(response("a", A=-2.0, B=-1.0), OPTIONS) == "B"
    assert letter_of(response("a", D=-1.0, C=-1.0), OPTIONS) == "C"


def test_a_reply_is_parsed() -> None:
    """A reply outranks likelihoods; one that names no option gives no letter."""
    assert letter_of(response("a", "The answer is C because the leg is swollen."), OPTIONS) == "C"
    assert letter_of(response("a", "I cannot say."), OPTIONS) is None


def test_a_response_with_nothing_to_read_is_named() -> None:
    """Neither reply nor likelihoods is a fault, not an unparsed answer."""
    with pytest.raises(EquipoiseError, match="response 'i1/neutral' has neither a reply nor likelihoods"):
        letter_of(response("i1/neutral"), OPTIONS)


def test_letters_are_read_one_a_response() -> None:
    """Each response has its letter, under its key and its study; one that names none of its options has None."""
    rows = [response("i1/neutral", A=-1.0, B=-2.0), response("i1/original", "I cannot say.")]

    read = letters(rows, {"i1/neutral": OPTIONS, "i1/original": OPTIONS})

    assert [(row.key, row.study, row.letter) for row in read] == [
        ("i1/neutral", "questions", "A"),
        ("i1/original", "questions", None),
    ]


def test_the_evaluator_gives_letters_in_the_order_asked() -> None:
    """Each variant gets its own letter, whatever the model does with the prompts."""
    favourite = {"i1/neutral": "B", "i1/other": "D"}

    def ask(prompts: list[Prompt]) -> list[Response]:
        return [response(prompt.key, **{favourite[prompt.key]: -1.0}) for prompt in prompts]

    evaluate = evaluator([ITEM], TEMPLATE, "likelihood", ask)  # type: ignore[arg-type]

    assert evaluate([variant("other", ITEM.neutral), variant("neutral", ITEM.neutral)]) == ["D", "B"]


def test_an_exam_question_is_asked_unchanged() -> None:
    """The same template and reading as for a neutral variant, under the exam's own key and without a stem."""
    text = f"A 60-year-old Black man has fever and a cough. {ASKED}"
    item = Item(key="i1", question=text, options=OPTIONS, gold="B", reference="", source="test", licence="none")
    for answering in ("likelihood", "generate"):
        prompt = exam_prompt(item, TEMPLATE, answering)
        other = question_prompt(variant("original", text), ITEM, TEMPLATE, answering)

        assert (prompt.key, prompt.study, prompt.stem) == ("i1/exam", "exam", "")
        assert prompt.model_copy(update={"key": other.key, "study": other.study}) == other
