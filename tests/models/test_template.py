"""Tests of chat templates: what alters a conversation is refused, what real templates do is not, and none hangs."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import templates
import tiny
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.models import template as module
from equipoise.models.template import RefusedError, Template

CASE = "A 45-year-old Black woman has had chest pain & sweating for an hour.\nShe is afraid.\n\nBriefly explain why."
SYSTEM = "You are an experienced clinician."
FIX = ": correct the template, or choose another model"
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


def conversation(*turns: str, system: str = SYSTEM) -> list[dict[str, str]]:
    """Write a conversation that the user begins."""
    messages = [{"role": "assistant" if place % 2 else "user", "content": turn} for place, turn in enumerate(turns)]
    return [{"role": "system", "content": system}, *messages] if system else messages


def opened(text: str, **thinking: Any) -> Template:
    """Open a template."""
    return Template("A model", SimpleNamespace(chat_template=text, special_tokens_map=SPECIAL), thinking)


def of_transformers(text: str, messages: list[dict[str, str]], **more: Any) -> str:
    """Render a conversation in transformers."""
    tokenizer = tiny.tokenizer(text)
    tokenizer.add_special_tokens(SPECIAL)
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **more))


CONVERSATIONS = {
    "one turn": conversation("It hurts.", system=""),
    "a system text": conversation(CASE),
    "a reply": conversation(CASE, "Because.", "What is it?"),
    "margins": conversation(f"\n {CASE}\n\n", " \nBecause.\n", " What is it? ", system=f" {SYSTEM}\n"),
    "thinking": conversation(CASE, "<think>\nHer pain.\n</think>\n\nBecause.", "What is it?"),
    "thinking that the template began": conversation(CASE, "Her pain.\n</think>\n\nBecause.", "What is it?"),
    "thinking that was cut": conversation(CASE, "<think>\nHer pain and", "What is it?"),
    "thinking closed twice": conversation(CASE, "Her pain.</think>More.</think>\nBecause.", "What is it?"),
    "an answer in tags": conversation(
        CASE, "<think>\nHer pain.\n</think>\n<answer>\nBecause.\n</answer>", "What is it?"
    ),
    "no reply": conversation(CASE, "", "What is it?"),
    "three turns": conversation("One.", "<think>Two</think>", "Three.", "<think>Four.</think>Five.", "Six.", system=""),
    "the same words": conversation("Yes?", "Yes?", "Yes?", system="Yes?"),
}


@pytest.mark.parametrize("name", templates.FAMILIES)
def test_templates_of_real_models_are_accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each conversation is written as transformers writes it; without a system role the user says its text first."""
    templates.tell_the_day(monkeypatch)
    text = templates.FAMILIES[name]
    template = opened(text)
    assert template.has_system == (name not in templates.WITHOUT_SYSTEM)

    for messages in CONVERSATIONS.values():
        adapted = messages
        if messages[0]["role"] == "system" and name in templates.WITHOUT_SYSTEM:
            first = {"role": "user", "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
            adapted = [first, *messages[2:]]
        assert template.write(messages) == of_transformers(text, adapted)


@pytest.mark.parametrize("name", templates.ALTERING)
def test_a_template_that_alters_what_is_said_is_refused(name: str) -> None:
    """Whatever changes, drops, moves or reverses words, or says more of some than of others, is one line."""
    with pytest.raises(
        EquipoiseError,
        match=r"^the chat template of A model (changes|does not write|depends on the words of) "
        r"(the system text|the user's turn [12]|the reply to turn 1)( in its place)?" + FIX,
    ):
        opened(templates.ALTERING[name]).write(conversation(CASE, "Because.", "What is it?"))


@pytest.mark.parametrize(
    ("content", "turn"),
    [
        ("{{ turn.content | replace('Black ', '') }}", "changes the user's turn 1"),
        ("{{ turn.content | replace('clinician', 'clown') }}", "changes the system text"),
        ("{{ turn.content | replace('Because', 'Perhaps') }}", "changes the reply to turn 1"),
        ("{{ turn.content | replace('What', 'Who') }}", "changes the user's turn 2"),
        ("{{ turn.content }}{{ '!' if 'Black' in turn.content }}", "depends on the words of the user's turn 1"),
        ("{{ turn.content if turn.content | length < 60 }}", "changes the user's turn 1"),
        ("{{ turn.content if turn.role != 'assistant' }}", "does not write the reply to turn 1 in its place"),
    ],
)
def test_the_error_names_the_turn(content: str, turn: str) -> None:
    """It is the first one that is not as it was said."""
    with pytest.raises(EquipoiseError) as refused:
        opened(templates.chatml(content)).write(conversation(CASE, "Because.", "What is it?"))

    assert str(refused.value) == f"the chat template of A model {turn}{FIX}"


def test_a_template_is_judged_by_the_words_that_are_said() -> None:
    """A conversation without the word that it takes out passes, and the next one with it does not."""
    template = opened(templates.ALTERING["a word is taken out"])

    assert "White woman" in template.write(conversation("A White woman."))
    with pytest.raises(EquipoiseError, match="changes the user's turn 1"):
        template.write(conversation("A Black woman."))


@given(st.lists(st.text(max_size=30), min_size=1, max_size=4).filter(lambda turns: turns[0].strip() != ""))
def test_any_words_stand_in_the_text(turns: list[str]) -> None:
    """A template that changes nothing is accepted whatever is said, marks and words of templates included."""
    messages = conversation(*turns, "words0said {{ 1 + 1 }} words3said")
    written = "".join(f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n" for message in messages)

    assert CHATML.write(messages) == f"{written}<|im_start|>assistant\n"


CHATML = opened(templates.chatml())


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less for a template than otherwise."""
    monkeypatch.setattr(module, "SECONDS", 1.0)


@pytest.mark.parametrize("name", templates.ENDLESS)
@pytest.mark.usefixtures("hasty")
def test_a_template_without_end_is_stopped(name: str) -> None:
    """Neither loops nor a single endless operation hold up a run."""
    with pytest.raises(EquipoiseError, match=f"^the chat template of A model takes more than .*{FIX}"):
        opened(templates.ENDLESS[name]).write(conversation(CASE))


@pytest.mark.parametrize("name", templates.HUGE)
@pytest.mark.usefixtures("hasty")
def test_a_template_that_takes_much_memory_is_stopped(name: str) -> None:
    """The process that renders gets no more than its limit, and no text is longer than its own."""
    with pytest.raises(EquipoiseError, match=r"^the chat template of A model (takes|writes) more than|fails"):
        opened(templates.HUGE[name]).write(conversation(CASE))


@pytest.mark.parametrize("name", templates.FAILING)
def test_a_template_that_fails_is_one_line(name: str) -> None:
    """An error of any kind, of the sandbox too, is reported with the template's name."""
    with pytest.raises(EquipoiseError, match=f"^the chat template of A model (refuses it|fails) \\(.*{FIX}") as failed:
        opened(templates.FAILING[name]).write(conversation(CASE))

    assert "\n" not in str(failed.value)


def test_a_long_complaint_is_cut() -> None:
    """What a template says is reported, up to a length that fits a terminal."""
    with pytest.raises(RefusedError) as refused:
        opened("{{ raise_exception('no ' * 100000) }}").write(conversation(CASE))

    assert len(str(refused.value)) < 400


def test_a_complaint_cannot_command_a_terminal() -> None:
    """Control characters and marks of direction, which a terminal obeys, are not printed."""
    with pytest.raises(RefusedError, match=r"refuses it \(\[2J no system text\)"):
        opened("{{ raise_exception('\x1b[2J\u202e no system text\x07') }}").write(conversation(CASE))


def test_a_template_that_writes_where_it_runs_is_refused() -> None:
    """The address of a function, or the order of a set, would make the same prompt another text the next day."""
    with pytest.raises(EquipoiseError, match=f"^the chat template of A model depends on the words of .*{FIX}"):
        opened("{{ raise_exception }}" + templates.chatml()).write(conversation(CASE))
    keys = "{{ (messages[-1].keys() - []) | list }}"
    written = {opened(keys + templates.chatml()).write(conversation(CASE)) for _ in range(4)}

    assert len(written) == 1


@pytest.mark.usefixtures("hasty")
def test_a_template_is_stopped_where_the_alarm_is_ignored() -> None:
    """A shell or a supervisor may have its children ignore SIGALRM, which the process that renders sets again."""
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with pytest.raises(EquipoiseError, match="takes more than 1 seconds"):
            opened(templates.ENDLESS["a power"]).write(conversation(CASE))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_long_reply_of_spaces_is_read_at_once() -> None:
    """The margins of the marks of thinking are not searched anew at every space."""
    messages = conversation(CASE, f"Because{' ' * 20000}of pain.", "What is it?")

    assert messages[-2]["content"] in CHATML.write(messages)


@pytest.mark.usefixtures("hasty")
def test_the_next_conversation_is_written_after_one_that_was_stopped() -> None:
    """The process is started again; words that make a template hang do not end what others ask."""
    template = opened(templates.ENDLESS["loops for a word"])
    calm = conversation("A White woman.")
    written = template.write(calm)
    with pytest.raises(EquipoiseError, match="takes more than 1 seconds"):
        template.write(conversation(CASE))

    assert template.write(calm) == written


def test_a_process_that_was_ended_is_named() -> None:
    """The line has its code, here that of SIGKILL."""
    template = opened(templates.chatml())
    template.write(conversation(CASE))
    process = template._renderer._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)

    with pytest.raises(EquipoiseError, match=f"^the chat template of A model ends its process with code -9{FIX}"):
        template.write(conversation(CASE))
    assert template.write(conversation(CASE))


def test_the_process_ends_with_the_template() -> None:
    """None is left when nobody uses it."""
    renderer = module.Renderer("a template", templates.chatml(), {})
    renderer.render(conversation(CASE))
    process = renderer._process
    assert process is not None
    del renderer

    assert process.wait(timeout=60) != 0


def test_threads_share_a_template() -> None:
    """Each gets the text of what it asked."""
    conversations = [conversation(f"It hurts {number} times.") for number in range(40)]
    with ThreadPoolExecutor(4) as threads:
        written = list(threads.map(CHATML.write, conversations))

    assert written == [CHATML.write(messages) for messages in conversations]


def test_variables_reach_the_template() -> None:
    """Special tokens, arguments that switch thinking, and one fixed day; tools and documents are none."""
    text = "{{ bos_token }}{{ mood }}{{ strftime_now('%d %b %Y') }}{{ tools is none }}{{ documents is none }}"
    written = opened(text + templates.chatml(), mood=" <wary> ").write(conversation("It hurts.", system=""))

    assert written.startswith("<s> <wary> 01 Jan 2025TrueTrue<|im_start|>")


def test_the_manifest_says_so_where_the_user_says_the_system_text() -> None:
    """It is part of what decides answers then, and is not written for other models."""
    manifest = Manifest(model="some", repo="r", revision="1", licence="x")
    folded = manifest.model_copy(update={"system_in_user": True})

    assert "system_in_user" not in manifest.written()
    assert folded.tracked()["system_in_user"] is True
    assert folded.identity != manifest.identity


def test_the_default_of_named_templates_is_used() -> None:
    """Some tokenizers have several: for conversations, and for tools."""
    named: Any = {"tool_use": "{{ raise_exception('no tools') }}", "default": templates.chatml()}

    assert opened(named).write(conversation(CASE)) == CHATML.write(conversation(CASE))
    with pytest.raises(EquipoiseError, match="A model: its tokenizer has no chat template: choose a model tuned"):
        opened({"tool_use": ""})  # type: ignore[arg-type]
