"""Tests of the split of an output into reasoning and answer."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.text.reasoning import CHANNEL, Form, Split, detect, remove_tags, split, visible_text

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<[>]|\x1c\x1d\x1e\x1f\x85"), max_size=30)
TAGS = ("<think>", "</think>", "<content>", "</content>", "<THINK>", "[/think]")
HEADS = (
    "<|start|>assistant<|channel|>analysis<|message|>",
    "<|channel|>analysis<|message|>",
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>commentary to=functions.look <|constrain|>json<|message|>",
    "<|end|>",
    "<|return|>",
    "<|start|>",
)


def letters(text: str) -> Counter[str]:
    """Count the characters of a text but white space."""
    return Counter("".join(text.split()))


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>Chest pain.</think>Infarction", "Chest pain.", "Infarction"),
        ("<think>\nChest pain.\n</think>\n\n**Infarction**", "Chest pain.", "**Infarction**"),
        ("<thinking>Chest pain.</thinking>Infarction", "Chest pain.", "Infarction"),
        ("[THINK]Chest pain.[/THINK]Infarction", "Chest pain.", "Infarction"),
        # The chat template has put the opening tag in the prompt.
        ("Chest pain.</think>Infarction", "Chest pain.", "Infarction"),
        # Repeated: every block is reasoning, what is between and after them is answer.
        ("<think>a</think>one<think>b</think>two", "a\n\nb", "one\n\ntwo"),
        # Nested, and nested with one closing tag too few: after the last closing tag comes the answer.
        ("<think>a<think>b</think>c</think>one", "a\n\nb\n\nc", "one"),
        ("<think><think>a</think>one", "a", "one"),
        # A second closing tag ends more reasoning where an answer follows it; where none does it is an echo.
        ("<think>a</think>b</think>one", "a\n\nb", "one"),
        ("<think>a</think>one</think>", "a", "one"),
        # A block that the length limit cut off leaves the answer given before it.
        ("<think>a</think>one<think>b", "a\n\nb", "one"),
        # Thinking that never closes, with an answer under a heading of its own.
        (
            "<think>It hurts. Is it reflux?\n\n**Final Answer:** Infarction.",
            "It hurts. Is it reflux?",
            "**Final Answer:** Infarction.",
        ),
    ],
)
def test_think(text: str, reasoning: str, answer: str) -> None:
    """Reasoning is between the thinking tags, however they are written, and the answer outside them."""
    assert Split(reasoning, answer, finished=True, form="think") == split(text)


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>a</think>\n<content>one</content>", "a", "one"),
        # Either tag is left open, or both.
        ("<think>a\n<content>one</content>", "a", "one"),
        ("<think>a</think><content>one", "a", "one"),
        ("<think>a<content>one", "a", "one"),
        ("a</think><content>one</content>", "a", "one"),
        # What is said before the content tag leads up to the answer; what comes after it belongs to the answer.
        ("<think>a</think>b<content>one</content>two", "a\n\nb", "one\n\ntwo"),
        ("<content>one</content><content>two</content>", "", "one\n\ntwo"),
        ("<content>one<think>a</think>two</content>", "a", "one\n\ntwo"),
    ],
)
def test_content(text: str, reasoning: str, answer: str) -> None:
    """The answer is in the content tags, which also end thinking that was left open."""
    assert Split(reasoning, answer, finished=True, form="content") == split(text)


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>one<|return|>",
        "<|start|>assistant<|channel|>analysis<|message|>a<|end|>\n<|start|>assistant<|channel|>final<|message|>one",
        # A head without its message token, and heads whose special tokens decoding has dropped.
        "<|channel|>analysis\na<|end|><|channel|>final\none<|return|>",
        "analysisAassistantfinalOne",
    ],
)
def test_channels(text: str) -> None:
    """The final channel is the answer, the analysis the reasoning."""
    parts = split(text)

    assert (parts.reasoning.lower(), parts.answer.lower(), parts.finished, parts.form) == ("a", "one", True, "channels")


def test_channels_other_than_final_are_reasoning() -> None:
    """A call of a tool is part of the way to the answer."""
    text = (
        "<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}<|call|><|channel|>final<|message|>one"
    )

    assert Split("{}", "one", finished=True, form="channels") == split(text)


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        (
            "Step 1: pain.\nStep 2: ST elevation.\n\nFinal Answer: infarction",
            "Step 1: pain.\nStep 2: ST elevation.",
            "Final Answer: infarction",
        ),
        (
            "Pain in the chest.\n\n**Diagnosis:** infarction.\n\nCall help.",
            "Pain in the chest.\n\nCall help.",
            "**Diagnosis:** infarction.",
        ),
        ("It hurts.\n\n**Answer**\n\nInfarction.", "It hurts.", "**Answer**\n\nInfarction."),
        ("It hurts. The most likely diagnosis is infarction.", "It hurts.", "The most likely diagnosis is infarction."),
        # No mark at all: the last paragraph.
        ("It hurts.\n\nInfarction", "It hurts.", "Infarction"),
        ("Infarction", "", "Infarction"),
    ],
)
def test_plain(text: str, reasoning: str, answer: str) -> None:
    """Without tags the conclusion is the answer and the rest is reasoning."""
    assert Split(reasoning, answer, finished=True, form="plain") == split(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "<think>Is it reflux? The most likely diagnosis is infarction, but I am not sure. Hmm.",
        "<think>It hurts.</think>",
        # Nobody sees the diagnosis of thinking that ends without a word after it.
        "<think>Final diagnosis: infarction.</think>",
        "It hurts.</think>\n",
        "<think>It hurts.</think><content></content>",
        "<|channel|>analysis<|message|>It hurts.",
        "<|channel|>analysis<|message|>It hurts.<|end|><|start|>assistant",
    ],
)
def test_an_output_without_an_answer_is_unfinished(text: str) -> None:
    """What the reasoning considers likely on the way is not an answer."""
    parts = split(text)

    assert (parts.finished, parts.answer) == (False, "")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("<think>a</think>b", "think"),
        ("a</think>b", "think"),
        ("<think>a<content>b", "content"),
        ("<|channel|>final<|message|>b", "channels"),
        ("analysisWe look.assistantfinalB", "channels"),
        ("analysis of the case", "plain"),
        ("It hurts.", "plain"),
        ("a < b and b > c", "plain"),
    ],
)
def test_form_is_recognised(text: str, form: Form) -> None:
    """The tags tell the form."""
    assert form == detect(text)


@given(st.lists(st.tuples(WORDS, st.sampled_from(TAGS)), max_size=8), WORDS)
def test_nothing_but_tags_is_lost(pieces: list[tuple[str, str]], last: str) -> None:
    """However tags are placed, every character outside them is in the reasoning or in the answer, once."""
    parts = split("".join(text + tag for text, tag in pieces) + last, "content")

    assert letters("".join(text for text, _ in pieces) + last) == letters(parts.reasoning + parts.answer)


@given(st.lists(st.one_of(WORDS, st.sampled_from(HEADS)), max_size=10))
def test_nothing_but_heads_is_lost(pieces: list[str]) -> None:
    """The same of channels: only the heads and the ends of messages are taken out."""
    text = "".join(pieces)
    parts = split(text, "channels")

    assert letters(CHANNEL.sub("", text) if "<|" in text else text) == letters(parts.reasoning + parts.answer)


@given(st.text(max_size=200))
def test_nothing_of_a_plain_text_is_lost(text: str) -> None:
    """Every character of a plain text is in the reasoning or in the answer, and a text with words has an answer."""
    parts = split(text, "plain")

    assert letters(text) == letters(parts.reasoning + parts.answer)
    assert parts.finished == any(character.isalnum() or character == "_" for character in text) == bool(parts.answer)


@given(
    WORDS.filter(lambda text: any(character.isalnum() for character in text)),
    WORDS.filter(lambda text: any(character.isalnum() for character in text)),
)
def test_a_well_formed_output_is_split_at_its_tags(thought: str, reply: str) -> None:
    """Whatever is thought and said, the tags alone decide which is which."""
    for text in (
        f"<think>{thought}</think>{reply}",
        f"{thought}</think>{reply}",
        f"<think>{thought}</think><content>{reply}</content>",
        f"<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant<|channel|>final<|message|>{reply}<|return|>",
    ):
        assert (thought.strip(), reply.strip()) == split(text)[:2]


@pytest.mark.parametrize(
    ("reply", "finished", "form", "expected"),
    [
        ("Tell me more.", True, "plain", "Tell me more."),
        # Cut off by the limit, it is still what the client reads.
        ("Tell me", False, "auto", "Tell me"),
        ("<think>They sleep badly.</think> Tell me more.", True, "think", "Tell me more."),
        ("<think>They sleep", False, "auto", ""),
        # The template opened the thinking, and the limit ended it: nothing in the text tells it from an answer.
        ("They sleep badly", False, "think", ""),
        ("Tell me more.", True, "think", "Tell me more."),
    ],
)
def test_the_reader_sees_the_answer(reply: str, finished: bool, form: Form | Literal["auto"], expected: str) -> None:  # noqa: FBT001
    """Thinking is taken off; a reply that never came to an answer has none."""
    assert visible_text(reply, form, finished=finished) == expected


@pytest.mark.parametrize(
    "text", ["It hurts. Infarction.", "<think>It hurts.</think>Infarction.", "It hurts.</think>Infarction."]
)
def test_every_word_is_read_without_the_tags(text: str) -> None:
    """Thinking and answer are joined, and the tags are gone."""
    assert remove_tags(text).split() == ["It", "hurts.", "Infarction."]
