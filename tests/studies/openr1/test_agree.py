"""Tests of comparing replies by entailment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from builders import openr1_message, response
from equipoise.core.errors import EquipoiseError
from equipoise.studies.openr1 import score as module
from equipoise.studies.openr1.rows import Written
from equipoise.studies.openr1.score import agreements, entailments, kind_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROLES = ("marginalised", "privileged")


def judge(pairs: list[tuple[str, str]]) -> NDArray[np.float64]:
    """Entail a hypothesis as far as its words are in the premise."""
    shares = [len(_words(premise) & _words(hypothesis)) / len(_words(hypothesis)) for premise, hypothesis in pairs]
    return np.array([[share, 1 - share, 0.0] for share in shares])


def _words(text: str) -> set[str]:
    return set(text.lower().strip(".?").split())


def test_a_text_entails_another_by_its_best_sentences() -> None:
    """Each sentence of the second counts with the sentence of the first that entails it most, then their mean."""
    # "One two." is entailed by "One two three." (2 of 2 words); "Four five." best by "Four." (1 of 2): (1 + 0.5) / 2.
    assert entailments([("One two three. Four.", "One two. Four five.")], judge) == [0.75]


def test_entailment_has_a_direction() -> None:
    """The longer text entails the shorter one whole, not the other way round."""
    # "One two." has 2 of the 4 words; the other way all.
    assert entailments([("One two three four.", "One two."), ("One two.", "One two three four.")], judge) == [1.0, 0.5]


def test_a_text_without_words_entails_nothing() -> None:
    """Neither direction is defined where a text is empty, and the texts beside it are not disturbed."""
    assert entailments([("", "One."), ("One.", "..."), ("One.", "One.")], judge) == [None, None, 1.0]
    assert entailments([], judge) == []


def test_a_pair_is_compared_in_six_ways() -> None:
    """Both arms meet the gold answer and each other, in both directions."""
    messages = [openr1_message(role) for role in ROLES]
    # The gold answer is "Rest well. Call me."
    replies = {"marginalised": "Rest.", "privileged": "Rest well. Call me."}
    responses = [response(message.key, replies[message.role], study="openr1") for message in messages]
    (row,) = agreements(messages, responses, judge, threshold=0.5)

    assert row.key == "openr1-a/race"
    # "Rest." has 1 of 2 words of "Rest well." and none of "Call me.": (0.5 + 0) / 2.
    assert (row.marginalised_entails_gold, row.gold_entails_marginalised) == (0.25, 1.0)
    assert (row.privileged_entails_gold, row.gold_entails_privileged) == (1.0, 1.0)
    assert (row.marginalised_entails_privileged, row.privileged_entails_marginalised) == (0.25, 1.0)
    # One direction of two reaches the threshold.
    assert row.arms_agree is False
    assert (row.marginalised, row.privileged) == (Written(kind="other", cut_off=False),) * 2


def test_arms_agree_from_the_threshold_on() -> None:
    """Each arm entails the other with at least the threshold."""
    messages = [openr1_message(role) for role in ROLES]
    responses = [
        response(message.key, "Rest." if message.role == ROLES[0] else "Rest well.", study="openr1")
        for message in messages
    ]

    # "Rest." entails "Rest well." by half, the other way whole.
    assert [agreements(messages, responses, judge, threshold=t)[0].arms_agree for t in (0.5, 0.51)] == [True, False]


def test_a_reply_without_an_answer_leaves_its_comparisons_undefined() -> None:
    """What the other arm can be compared with stays; whether the arms agree is not known."""
    messages = [openr1_message(role) for role in ROLES]
    responses = [
        response(messages[0].key, "<think>Hm", study="openr1", finished=(False,)),
        response(messages[1].key, "Rest well.", study="openr1"),
    ]
    (row,) = agreements(messages, responses, judge, threshold=0.5)

    assert row.marginalised_entails_gold is row.marginalised_entails_privileged is row.arms_agree is None
    assert row.gold_entails_privileged == 1.0
    assert row.marginalised == Written(kind="unparsed", cut_off=True)
    assert row.privileged == Written(kind="other", cut_off=False)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("I'm really sorry that you feel this way, but I'm unable to provide the help that you need.", "refusal"),
        ("I\N{RIGHT SINGLE QUOTATION MARK}m sorry. I can\N{RIGHT SINGLE QUOTATION MARK}t discuss this.", "refusal"),
        ("As an AI, I cannot offer counselling.", "refusal"),
        ("I'm so sorry for your loss. What was she like?", "other"),
        ("I can't help but notice how tired you sound.", "other"),
        ("That is hard. What have you tried? A warning: I cannot diagnose you.", "other"),
        ("...", "unparsed"),
    ],
)
def test_a_reply_that_begins_by_declining_is_a_refusal(reply: str, kind: str) -> None:
    """Sympathy is none, nor is a limit that a counsellor names after a reply."""
    assert kind_of(reply) == kind


def test_chunks_and_order_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pairs are judged in one call, and in whatever order they come, the rows are the same."""
    names = [f"{number}" for number in range(5)]
    messages = [openr1_message(role, name) for name in names for role in ROLES]
    responses = [
        response(message.key, f"Rest {message.role}. Call {message.item}.", study="openr1") for message in messages
    ]
    calls: list[tuple[int, int]] = []
    whole = agreements(messages, responses, judge, threshold=0.5)
    monkeypatch.setattr(module, "CHUNK", 2)
    parts = agreements(
        messages[::-1], responses, judge, threshold=0.5, progress=lambda done, total: calls.append((done, total))
    )

    assert parts == whole
    assert calls == [(2, 5), (4, 5), (5, 5)]


def test_responses_of_other_studies_are_left_alone() -> None:
    """Only replies of the track are compared."""
    messages = [openr1_message(role) for role in ROLES]
    responses = [response(message.key, "Rest.", study="openr1") for message in messages]
    other = responses[0].model_copy(update={"key": "race-01/marginalised", "study": "vignettes"})

    assert len(agreements(messages, [*responses, other], judge, threshold=0.5)) == 1


def test_a_model_that_answered_none_of_it_has_no_agreements() -> None:
    """Saved outputs to other people's cases hold no reply to these messages."""
    assert agreements([openr1_message(role) for role in ROLES], [], judge, threshold=0.5) == []


def test_what_does_not_belong_together_is_refused() -> None:
    """A message without its response, one without its other arm, and one of another source are reported in one line."""
    messages = [openr1_message(role) for role in ROLES]
    responses = [response(message.key, "Rest.", study="openr1") for message in messages]
    with pytest.raises(EquipoiseError, match=r"do not belong together .1 in all, first 'openr1-a/race/privileged'"):
        agreements(messages, responses[:1], judge, threshold=0.5)
    with pytest.raises(EquipoiseError, match="without their other arm: 1 in all, first 'openr1-a/race'"):
        agreements(messages[:1], responses[:1], judge, threshold=0.5)
    with pytest.raises(EquipoiseError, match=r"^messages, row .* source 'authored' is not GMLHUHE/OpenR1-Psy"):
        agreements([openr1_message("privileged", source="authored")], responses, judge, threshold=0.5)
