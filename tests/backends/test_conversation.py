"""Tests of a conversation in tokens, with a tokenizer and without a model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import talks
import tiny
from equipoise.backends.conversation import Chat, Likelihood, Turn, Turned, advance, common_length, run_talk
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.models.registry import OnnxEntry

PLAIN = tiny.tokenizer()


def entry(**change: Any) -> OnnxEntry:
    """Build a registry entry."""
    fields: dict[str, Any] = {
        "title": "A model",
        "licence": "none",
        "backend": "onnx",
        "parameters": "1M",
        "source": {"kind": "local", "path": "."},
        "max_length": 400,
        "generation": {"reasoning_tokens": 50, "answer_tokens": 20},
    }
    return OnnxEntry.model_validate(fields | change)


def chat(template: str = tiny.CHAT, ends: int | list[int] | None = None, **change: Any) -> Chat:
    """Open a chat with a template of its own."""
    return Chat(tiny.tokenizer(template), ends, entry(**change))


def text(turn: Turn) -> str:
    """Read what the model is given."""
    return str(PLAIN.decode(turn.tokens))


def encoded(words: str) -> list[int]:
    """Give the tokens of a reply."""
    return list(PLAIN(words, add_special_tokens=False)["input_ids"])


def turns(talk: Chat, asked: Any, *replies: str) -> tuple[list[Turn], Response]:
    """Hold a conversation with given replies; give its turns and its response."""
    seen: list[Turn] = []

    def take(turn: Turn) -> Turned:
        seen.append(turn)
        return Turned({name: Likelihood(-1.0, 2) for name in turn.candidates}, encoded(replies[len(seen) - 1]))

    return seen, run_talk(talk.hold(asked), take)


def test_a_conversation_grows_by_turns_and_replies() -> None:
    """The model reads all that was said, the last turn with its prefix and its candidates."""
    asked = talks.prompt("a", "It hurts.")
    (first, last), response = turns(chat(), asked, "Because.", "pneumonia")

    opening = f"<|im_start|>system\n{asked.system}<|im_end|>\n<|im_start|>user\n{asked.turns[0]}<|im_end|>\n"
    assert text(first) == f"{opening}<|im_start|>assistant\n"
    assert text(last) == (
        f"{opening}<|im_start|>assistant\nBecause.<|im_end|>\n"
        f"<|im_start|>user\n{asked.turns[1]}<|im_end|>\n<|im_start|>assistant\n{asked.prefix}"
    )
    assert (first.candidates, first.limit, first.first) == ({}, 50, True)
    assert (list(last.candidates), last.limit, last.first) == (list(asked.candidates), 20, False)
    assert response.replies == ("Because.", "pneumonia")
    assert response.log_likelihood == dict.fromkeys(asked.candidates, -1.0)
    assert response.candidate_tokens == dict.fromkeys(asked.candidates, 2)
    # Both replies ended before their limits: the two tokens that ended them were generated too.
    assert response.finished == (True, True)
    assert response.generated_tokens == len(encoded("Because.")) + len(encoded("pneumonia")) + 2
    assert response.prompt_tokens == len(first.tokens) + len(last.tokens)


@pytest.mark.parametrize(
    ("template", "reasoning", "reply"),
    [
        (tiny.CHAT, "plain", "Because."),
        (tiny.CHAT, "plain", ""),
        (tiny.CHAT, "think", "<think>\nFever.\n</think>\n\nBecause."),
        (tiny.CHAT, "channels", "<|channel|>analysis<|message|>Fever.<|end|><|channel|>final<|message|>Because."),
        (tiny.CHAT, "channels", "<|channel|>analysis<|message|>Fever"),
    ],
)
def test_a_given_reply_is_read_as_one_that_was_written(template: str, reasoning: str, reply: str) -> None:
    """The same words lead to the same tokens, candidates, limit and draws, and are not a reply of the model's."""
    talk, asked = chat(template, reasoning=reasoning), talks.prompt("a", "It hurts.")
    (first, last), whole = turns(talk, asked, reply, "pneumonia")
    given = asked.model_copy(update={"given": (whole.replies[0],)})
    (only,), response = turns(talk, given, "pneumonia")

    assert (only.tokens, only.candidates, only.limit, only.seed) == (
        last.tokens,
        last.candidates,
        last.limit,
        last.seed,
    )
    # It is the first that is read, and is read up to where the user speaks in a step of its own.
    assert (only.first, only.stems) == (True, first.stems)
    assert response.replies == whole.replies[1:]
    assert response.finished == whole.finished[1:]
    assert response.log_likelihood == whole.log_likelihood
    assert response.prompt_tokens == len(only.tokens)


def test_after_a_given_reply_likelihoods_may_be_all_that_is_asked() -> None:
    """Nothing is written then; the stem is what the first turn says."""
    asked = talks.prompt("a", "It hurts.", given=("Because.",), reply=False)
    (turn,), response = turns(chat(), asked.model_copy(update={"stem": asked.turns[0]}), "")

    assert turn.limit == 0
    assert PLAIN.decode(turn.tokens[: turn.stems[0]]).endswith(asked.turns[0])
    assert (response.replies, response.finished, response.generated_tokens) == ((), (), 0)
    assert response.log_likelihood == dict.fromkeys(asked.candidates, -1.0)


def test_a_reply_at_its_limit_is_unfinished() -> None:
    """As many tokens as the limit, and no token that ended them."""
    asked = talks.prompt("a", "It hurts.", turns=("Why?",), candidates=(), limit=3)
    (turn,), response = turns(chat(), asked, "abc")

    assert len(encoded("abc")) == turn.limit
    assert (response.finished, response.generated_tokens) == ((False,), 3)


def test_a_reply_in_one_sentence_ends_with_it() -> None:
    """The tokens up to the one that shows its end are counted, whatever the backend wrote beyond; it is finished."""
    asked = talks.prompt("a", "It hurts.", turns=("Why?",), candidates=(), limit=40, sentence=True)
    reply = "Acute gout. It is bad. It"
    (turn,), response = turns(chat(), asked, reply)

    shows = next(length for length in range(99) if len(PLAIN.decode(encoded(reply)[:length])) > len("Acute gout. "))
    assert (turn.ended(encoded(reply)[: shows - 1]), turn.ended(encoded(reply)[:shows])) == (False, True)
    assert response.replies == ("Acute gout.",)
    assert (response.finished, response.generated_tokens) == ((True,), shows)


def test_thinking_is_not_cut_after_a_sentence() -> None:
    """The answer of a model that thinks first comes after many sentences."""
    asked = talks.prompt("a", "", turns=("Why?",), prefix="", candidates=(), sentence=True)
    (turn,), _ = turns(chat(reasoning="think"), asked, "a")

    assert not turn.ended(encoded("I think. It hurts."))


def test_a_candidate_is_encoded_with_the_text_before_it() -> None:
    """After a prefix it is the next word, else the reply begins with it; what the text has too is not its own."""
    after = talks.prompt("a", "", turns=("Why?",), candidates=("pain",), reply=False)
    (turn,), _ = turns(chat(), after, "")
    tokens, start = turn.candidates["pain"]
    assert PLAIN.decode(tokens) == f"{text(turn)} pain"
    assert tokens[:start] == turn.tokens
    assert turn.limit == 0

    alone = after.model_copy(update={"prefix": ""})
    (turn,), _ = turns(chat(), alone, "")
    assert PLAIN.decode(turn.candidates["pain"].tokens) == f"{text(turn)}pain"


def test_a_stem_counts_the_tokens_up_to_its_end() -> None:
    """It is counted at the first turn alone, without one what precedes the user; what is not found is none."""
    asked = talks.prompt("a", "It hurts badly.", stem="It hurts")
    (first, last), _ = turns(chat(), asked, "a", "b")

    assert PLAIN.decode(first.tokens[: first.stems[0]]).endswith("user\nIt hurts")
    assert last.stems == ()
    (first, _), _ = turns(chat(), asked.model_copy(update={"stem": "elsewhere"}), "a", "b")
    assert first.stems == ()
    (first, _), _ = turns(chat(), talks.prompt("a", "It hurts.", system="Be kind."), "a", "b")
    assert PLAIN.decode(first.tokens[: first.stems[0]]) == "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n"


def test_a_first_turn_that_is_the_lead_ends_where_the_reply_begins() -> None:
    """The whole turn of one prompt is the beginning of another, which gives the reply, token by token."""
    asked = talks.prompt("a", "It hurts.", stem="It hurts.", lead="It hurts.\n\nBriefly explain what is wrong.")
    (first, _), _ = turns(chat(), asked, "Gout.", "Gout.")
    (given,), _ = turns(chat(), asked.model_copy(update={"given": ("A fracture.",), "reply": False}), "")

    assert first.stems == given.stems
    assert first.stems[-1] == len(first.tokens)
    assert given.tokens[: given.stems[-1]] == first.tokens
    assert PLAIN.decode(given.tokens[given.stems[-1] :]).startswith("A fracture.")


def test_a_lead_is_a_longer_stem() -> None:
    """The tokens up to the end of the stem are counted, then those up to the end of the lead, which may stand alone."""
    asked = talks.prompt("a", "It hurts badly. A. Yes B. No", stem="It hurts", lead="It hurts badly.")
    (first, _), _ = turns(chat(), asked, "a", "b")

    ends = [PLAIN.decode(first.tokens[:end]) for end in first.stems]
    assert [text.rpartition("user\n")[2] for text in ends] == ["It hurts", "It hurts badly."]
    (first, _), _ = turns(chat(), asked.model_copy(update={"stem": ""}), "a", "b")
    assert [PLAIN.decode(first.tokens[:end]) for end in first.stems] == ends[1:]


OPEN = tiny.CHAT.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
CLOSED = tiny.CHAT.replace("assistant\n{% endif %}", "assistant\n<think>\n\n</think>\n\n{% endif %}")


@pytest.mark.parametrize(
    ("template", "reasoning", "before"),
    [
        (tiny.CHAT, "plain", "assistant\n"),
        (tiny.CHAT, "auto", "assistant\n"),
        (tiny.CHAT, "think", "assistant\n<think>\n\n</think>\n\n"),
        (tiny.CHAT, "content", "assistant\n<think>\n\n</think>\n\n"),
        (OPEN, "think", "assistant\n<think>\n\n</think>\n\n"),
        (CLOSED, "think", "assistant\n<think>\n\n</think>\n\n"),
        (tiny.CHAT, "channels", "assistant\n<|channel|>final<|message|>"),
    ],
)
def test_an_answer_that_is_begun_stands_after_the_thinking(template: str, reasoning: str, before: str) -> None:
    """A prefix, and candidates without one, follow an empty thinking block or the head of the final channel."""
    asked = talks.prompt("a", "It hurts.", turns=("Why?",))
    (turn,), _ = turns(chat(template, reasoning=reasoning), asked, "")
    assert text(turn).endswith(f"{before}{asked.prefix}")

    (turn,), _ = turns(chat(template, reasoning=reasoning), asked.model_copy(update={"prefix": ""}), "")
    assert text(turn).endswith(before)


@pytest.mark.parametrize(("reasoning", "limit"), [("plain", 20), ("think", 70), ("channels", 70)])
def test_a_free_reply_has_room_for_thinking(reasoning: str, limit: int) -> None:
    """A model that thinks first has its 50 tokens of reasoning beside the 20 of the answer, and begins itself."""
    asked = talks.prompt("a", "It hurts.", turns=("Why?",), prefix="", candidates=())
    (turn,), _ = turns(chat(reasoning=reasoning), asked, "")

    assert (turn.limit, text(turn)[-11:]) == (limit, ">assistant\n")
    (turn,), _ = turns(chat(reasoning=reasoning), asked.model_copy(update={"limit": 7}), "")
    assert turn.limit == 7


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        ("<|channel|>analysis<|message|>It hurts.<|end|><|start|>assistant<|channel|>final<|message|>Flu.", "Flu."),
        ("<|channel|>analysis<|message|>It hurts", " analysis It hurts"),
    ],
)
def test_channels_stay_in_the_reply_and_the_final_one_in_the_conversation(reply: str, content: str) -> None:
    """The reply keeps its heads, for the split; the next turn holds the answer, or cut reasoning without heads."""
    (_, last), response = turns(chat(reasoning="channels"), talks.prompt("a", "It hurts."), reply, "Flu")

    assert response.replies[0] == reply
    assert f"assistant\n{content}<|im_end|>" in text(last)


def test_other_special_tokens_are_left_out_of_a_reply() -> None:
    """What a model writes of the template's own marks is not text."""
    (_, _), response = turns(chat(), talks.prompt("a", "It hurts."), "Because.<|im_start|>", "Flu")

    assert response.replies == ("Because.", "Flu")


def test_a_template_is_told_its_arguments_and_one_fixed_day() -> None:
    """The registry's arguments reach the template; a template that tells the date tells every day the same one."""
    template = "{{ strftime_now('%Y-%m-%d') }} {{ reasoning_effort }}:" + tiny.CHAT
    (turn, _), _ = turns(chat(template, thinking={"reasoning_effort": "low"}), talks.prompt("a", "It hurts."), "", "")

    assert text(turn).startswith("2025-01-01 low:<|im_start|>system\nYou are an experienced clinician.")


def test_a_conversation_that_the_template_refuses_is_named() -> None:
    """A template's own complaint is given with the prompt's key."""
    template = "{{ raise_exception('no system text') }}"

    with pytest.raises(EquipoiseError, match=r"prompt 'a': the chat template of A model refuses it \(no system text\)"):
        next(chat(template).hold(talks.prompt("a", "It hurts.")))


@pytest.mark.parametrize(("template", "turn"), [("replace('Black ', '')", 1), ("replace('likely', '')", 2)])
def test_a_template_that_changes_a_turn_is_refused(template: str, turn: int) -> None:
    """The line names the prompt, the model, the turn and the fix, at the first turn that is changed."""
    changing = tiny.CHAT.replace("['content']", f"['content'] | {template}")
    line = f"prompt 'a': the chat template of A model changes the user's turn {turn}: correct the template, or choose"

    with pytest.raises(EquipoiseError, match=f"^{line} another model$"):
        turns(chat(changing), talks.prompt("a", "A Black woman is in pain."), "", "")


def test_a_template_without_a_system_role_has_the_user_say_it() -> None:
    """The system text stands before the first turn, after a blank line, at every turn; draws are as otherwise."""
    asked = talks.prompt("a", "It hurts.")
    seen, _ = turns(chat(tiny.CHAT.replace("messages %}", "messages if message['role'] != 'system' %}")), asked, "", "")
    with_system, _ = turns(chat(), asked, "", "")

    for turn in seen:
        assert text(turn).startswith(f"<|im_start|>user\n{asked.system}\n\n{asked.turns[0]}<|im_end|>\n")
    assert [turn.seed for turn in seen] == [turn.seed for turn in with_system]


def test_a_tokenizer_without_a_template_is_refused() -> None:
    """A model that was not tuned to follow instructions cannot be asked."""
    with pytest.raises(EquipoiseError, match="A model: its tokenizer has no chat template: choose a model tuned"):
        Chat(tiny.tokenizer(None), None, entry())


@pytest.mark.parametrize(
    "change", [{"turns": ("pain " * 400,)}, {"turns": ("Why?",), "candidates": ("pain " * 400,), "reply": False}]
)
def test_what_does_not_fit_is_named(change: dict[str, Any]) -> None:
    """A prompt with its reply, or with a candidate, that is longer than the model takes is refused with the fix."""
    with pytest.raises(EquipoiseError, match=r"prompt 'long' needs \d+ tokens .* allows 400: raise max_length"):
        next(chat().hold(talks.prompt("long", "", **change)))


@pytest.mark.parametrize(("ends", "stops"), [(None, {1}), (7, {1, 7}), ([7, 8], {1, 7, 8})])
def test_every_token_that_ends_a_reply_stops_it(ends: int | list[int] | None, stops: set[int]) -> None:
    """The tokenizer's own, which is token 1 here, and those of the generation settings."""
    assert chat(ends=ends).stops == stops


def test_the_last_answer_ends_the_conversation() -> None:
    """Before it, the next turn is given; with it, the response."""
    talk = chat().hold(talks.prompt("a", "It hurts."))
    next(talk)

    assert isinstance(advance(talk, Turned({}, [])), Turn)
    assert isinstance(advance(talk, Turned({}, [])), Response)


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_common_length_counts_leading_equal_tokens(first: list[int], second: list[int]) -> None:
    """Up to it the sequences are equal, and there either one ends or they differ."""
    length = common_length(first, second)

    assert first[:length] == second[:length]
    assert first[length : length + 1] != second[length : length + 1] or length == len(first) == len(second)


@pytest.mark.parametrize(
    ("special", "change"),
    [
        (("<|channel>", "<channel|>"), {}),
        (("<denk>", "</denk>"), {"marks": {"open": ["<denk>"], "close": ["</denk>"]}}),
    ],
)
def test_marks_of_thinking_that_are_special_tokens_stay_in_a_reply(
    special: tuple[str, str], change: dict[str, Any]
) -> None:
    """Decoding does not drop them, or the thinking would be read as the answer."""
    words = tiny.tokenizer(special=("<|im_start|>", "<|im_end|>", *special))
    begin, end = special
    asked = talks.prompt("a", "It hurts.", turns=("Why?",), candidates=())
    reply = f"{begin}Fever.{end}Gout."

    def take(turn: Turn) -> Turned:
        return Turned({}, list(words(reply, add_special_tokens=False)["input_ids"]) if turn.limit else [])

    assert run_talk(Chat(words, None, entry(**change)).hold(asked), take).replies == (reply,)
    assert Chat(words, None, entry())._skips_special is ("marks" in change)


def test_a_model_with_marks_of_its_own_reads_its_answers_alone() -> None:
    """Its own words and its stored ones, with the common marks, lead to the same turn; an empty block has its marks."""
    marks = {"open": ["<denk>"], "close": ["</denk>"]}
    talk, asked = chat(reasoning="think", marks=marks), talks.prompt("a", "It hurts.")
    (_, last), whole = turns(talk, asked, "<denk>Fever.</denk>Because.", "gout")
    given = asked.model_copy(update={"given": ("<think>Fever.</think>Because.",)})
    (only,), _ = turns(talk, given, "gout")

    assert whole.replies[0] == "<denk>Fever.</denk>Because."
    assert "assistant\nBecause.<|im_end|>" in text(last)
    assert text(last).endswith(f"<denk>\n\n</denk>\n\n{asked.prefix}")
    assert only.tokens == last.tokens
