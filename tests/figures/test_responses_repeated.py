"""Tests of the search for duplicate results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from builders import REASON, fill, noted
from equipoise.figures.responses import copied, identical_arms, repeated, results
from equipoise.studies.stigma.measure import identical_fills

if TYPE_CHECKING:
    from equipoise.figures.responses import Noted

LIKELY = {"A": -0.1, "B": -2.0}


def lettered(arm: str, shift: float, questions: int = 6) -> list[Noted]:
    """Build the responses of one arm of the questions, whose likelihoods differ between questions."""
    return [
        noted(f"i{number}/{arm}", study="questions", log_likelihood={"A": -number + shift, "B": -1.0})
        for number in range(questions)
    ]


def test_a_copied_result_is_found() -> None:
    """Equal likelihoods on two questions are a copy: both rows are counted, and a third with its own is not."""
    responses = [
        noted("i1/neutral", study="questions", log_likelihood=LIKELY),
        noted("i2/original", study="questions", log_likelihood=LIKELY),
        noted("i3/original", study="questions", log_likelihood={"A": -0.2, "B": -2.0}),
    ]

    assert copied(results(responses, {}, {})) == (3, 2)


def test_the_same_question_has_the_same_answer() -> None:
    """Arms of one question, and prompts of the same words, may share what no two prompts share by chance."""
    arms = [noted(f"i1/{arm}", study="questions", log_likelihood=LIKELY) for arm in ("neutral", "original")]
    words = [noted(f"i{number}/exam", study="exam", log_likelihood=LIKELY) for number in (2, 3)]

    assert copied(results(arms, {}, {})) == (2, 0)
    assert copied(results(words, {}, {"i2/exam": "same", "i3/exam": "same"})) == (2, 0)


def test_a_long_reply_under_two_cases_is_a_copy() -> None:
    """Two saved outputs of 60 words are the same; short ones may be, and are counted as repeated alone."""
    outputs = [noted(key, text, study="cases") for key, text in (("c1", REASON), ("c2", REASON), ("c3", "No."))]
    noted_results = results([*outputs, noted("c4", "No.", study="cases")], {}, {})

    assert copied(noted_results) == (2, 2)
    assert repeated(noted_results) == (4, 4)


def test_vignettes_of_one_presentation_may_be_answered_alike() -> None:
    """Replies are repeated only where another presentation has them, and letters never."""
    keys = {"p1/marginalised": "chest", "p1/privileged": "chest", "p2/privileged": "chest", "p3/privileged": "mood"}
    alike = [noted(key, "Because.", "Angina.") for key in keys]
    letters = [noted(f"i{number}/neutral", "A", study="questions") for number in range(4)]

    assert repeated(results(alike[:3], keys, {})) == (3, 0)
    # Each of the four is now under another presentation too: three have p3's words, and p3 has theirs.
    assert repeated(results(alike, keys, {})) == (4, 4)
    assert repeated(results(letters, {}, {})) == (0, 0)


def test_two_arms_with_the_same_results_are_found() -> None:
    """Of three arms, two are copies of each other: 1 of 3 pairs of arms."""
    responses = [*lettered("neutral", 0), *lettered("race/privileged/favourable", 0), *lettered("original", 0.5)]

    assert identical_arms(results(responses, {}, {})) == (3, 1)


def test_arms_that_were_asked_alike_or_on_few_cases_are_not_compared() -> None:
    """Equal texts have equal answers; four questions are too few; letters alone tell nothing."""
    same = [*lettered("neutral", 0), *lettered("original", 0)]
    words = {row.key: row.key.partition("/")[0] for row in same}
    few = [*lettered("neutral", 0, 4), *lettered("original", 0, 4)]
    letters = [noted(f"i{number}/{arm}", "A", study="questions") for number in range(9) for arm in ("a", "b")]

    assert identical_arms(results(same, {}, words)) == (0, 0)
    assert identical_arms(results(few, {}, {})) == (0, 0)
    assert identical_arms(results(letters, {}, {})) == (0, 0)


@given(st.integers(0, 5))
def test_one_case_that_differs_is_enough(changed: int) -> None:
    """Both arms of six pairs agree; where one reply is changed the arms are no longer copies."""
    responses = [
        noted(f"p{number}/{role}", f"Reason {number}.")
        for number in range(6)
        for role in ("marginalised", "privileged")
    ]
    other = [noted(row.key, "Another.") if row.key == f"p{changed}/privileged" else row for row in responses]

    assert identical_arms(results(responses, {}, {})) == (1, 1)
    assert identical_arms(results(other, {}, {})) == (1, 0)


def test_conditions_with_the_same_probabilities_are_found() -> None:
    """Anxiety is a copy of stroke over five templates: of 3 pairs of conditions and 0 of templates, 1 is the same."""
    fills = [
        fill(f"t{number}", condition, female=number / 10 + 0.1 + (0.01 if condition == "cancer" else 0))
        for number in range(5)
        for condition in ("anxiety", "stroke", "cancer")
    ]

    # Templates share three conditions, too few to compare.
    assert identical_fills(fills) == (3, 1)


def test_sentences_without_a_gendered_word_tell_nothing() -> None:
    """Where the model put neither gender in, equal zeros are not a copy."""
    fills = [fill(f"t{number}", condition, 0.0, 0.0) for number in range(6) for condition in ("anxiety", "stroke")]

    assert identical_fills(fills) == (0, 0)


def test_arms_of_a_message_are_one_case() -> None:
    """The arms of one message may be answered alike, in whichever dimension they differ; two messages may not."""
    keys = ("m1/race/marginalised", "m1/race/privileged", "m1/age/privileged")
    alike = [noted(key, REASON, study="openr1") for key in keys]

    assert repeated(results(alike, {}, {})) == (3, 0)
    assert copied(results([*alike, noted("m2/race/privileged", REASON, study="openr1")], {}, {})) == (4, 4)
