"""The chat template of a model, checked: every turn stands word for word in what the model reads, or one clear error.

A template comes with a model's files, and could hide a patient's feature, drop the case or add a hint to some cases,
and a comparison of such cases would still look like a test. So the template is rendered twice: with what is said, and,
once for every outline of a conversation, with marks in the place of all words. The first must be the second with the
words put in; then all that a template adds is the same for all words.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cache, cached_property, lru_cache
from pathlib import Path
from subprocess import DEVNULL, PIPE
from threading import Lock
from typing import Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_text
from equipoise.text import thinking

TODAY = date(2025, 1, 1)
"""The date for templates that state one, so that answers do not depend on the current day."""
SECONDS, MEMORY, LENGTH = 10.0, 1 << 29, 1 << 22
"""The limits of a rendering: seconds, bytes of the process that renders, characters of its text."""
OUTLINES = 256
"""How many outlines are kept; others are rendered again."""
FIX = "correct the template, or choose another model"

_MARK = re.compile(r"words(\d+)said")

Message = Mapping[str, str]


class RefusedError(EquipoiseError):
    """The template's own complaint about a conversation."""


class _Part(NamedTuple):
    """A part of a turn without its margins: all of it, or the thinking or the answer of a reply.

    `turn` is the index of its message; a template may leave out what is not `kept`: a reply's thinking.
    """

    turn: int
    words: str
    kept: bool


class Template:
    """The chat template of a tokenizer; several threads may share it."""

    def __init__(self, title: str, tokenizer: Any, variables: Mapping[str, bool | int | str]) -> None:  # noqa: ANN401
        """Take a tokenizer of transformers or of an export, and further variables of its template.

        Raises:
            EquipoiseError: The tokenizer has no template.
        """
        text = tokenizer.chat_template
        if isinstance(text, dict):  # named templates, of which conversations use this one
            text = text.get("default")
        if text is None:
            message = f"{title}: its tokenizer has no chat template: choose a model tuned to follow instructions"
            raise EquipoiseError(message)
        self._name = f"the chat template of {title}"
        more = {"tools": None, "documents": None, "add_generation_prompt": True, **variables}
        given = {**tokenizer.special_tokens_map, **more}
        # Outlines have a process of their own: an address in its memory, or chance, is not the other's.
        self._renderer, self._outliner = Renderer(self._name, text, given), Renderer(self._name, text, given)
        self._frame = lru_cache(OUTLINES)(self._render_frame)

    @cached_property
    def has_system(self) -> bool:
        """Whether the template writes a system text; another one leaves it out or refuses it.

        A template that refuses even a lone turn of the user says nothing about it, and counts as one that does.
        """
        system, user = ("system", "words0said"), ("user", "words1said")
        return self._writes(system, user) or not self._writes(("user", "words0said"))

    def write(self, messages: Sequence[Message]) -> str:
        """Return a conversation as the model reads it, up to where it replies.

        Without a system text of its own, a template gets it before the user's first words, with a blank line between.

        Raises:
            RefusedError: The template refuses the conversation.
            EquipoiseError: It does not write every turn word for word, or it exceeds its limits.
        """
        if messages[0]["role"] == "system" and not self.has_system:
            first, second, *rest = messages
            messages = [{**second, "content": f"{first['content']}\n\n{second['content']}"}, *rest]
        outline, parts = _outline(messages)
        frame = self._frame(outline)
        self._require_turns(messages, parts, [int(mark) for mark in frame[1::2]])
        text = self._renderer.render(messages)
        self._require_words(messages, parts, frame, text)
        return text

    def _writes(self, *turns: tuple[str, str]) -> bool:
        """Tell whether the template accepts turns of one mark each, and writes them."""
        try:
            return {*self._frame(turns)[1::2]} == {str(number) for number in range(len(turns))}
        except RefusedError:
            return False

    def _render_frame(self, outline: Sequence[tuple[str, str]]) -> list[str]:
        """Return what the template writes: its own text, and the number of a mark in every second place."""
        text = self._outliner.render([{"role": role, "content": content} for role, content in outline])
        marks = sum(len(_MARK.findall(content)) for _, content in outline)
        return re.split(f"words({'|'.join(map(str, range(marks)))})said", text)

    def _require_turns(self, messages: Sequence[Message], parts: Sequence[_Part], marks: Sequence[int]) -> None:
        """Refuse a template that leaves out or reorders turns; the system text may stand anywhere (Mistral's does)."""
        place = 0
        for number, part in enumerate(parts):
            role = messages[part.turn]["role"]
            if number in (marks if role == "system" else marks[place:]):
                place = place if role == "system" else marks.index(number, place) + 1
            elif part.kept:
                raise EquipoiseError(f"{self._name} does not write {_name(messages, part.turn)} in its place: {FIX}")

    def _require_words(self, messages: Sequence[Message], parts: Sequence[_Part], frame: list[str], text: str) -> None:
        """Refuse a text other than the frame with the words in the place of its marks."""
        place = turn = 0
        for number, piece in enumerate(frame):
            expected = piece
            if number % 2:
                turn, expected, _ = parts[int(piece)]
            if not text.startswith(expected, place):
                fault = "changes" if number % 2 else "depends on the words of"
                raise EquipoiseError(f"{self._name} {fault} {_name(messages, turn)}: {FIX}")
            place += len(expected)
        if place < len(text):
            raise EquipoiseError(f"{self._name} depends on the words of {_name(messages, turn)}: {FIX}")


def _outline(messages: Sequence[Message]) -> tuple[tuple[tuple[str, str], ...], list[_Part]]:
    """Return a conversation's roles and texts with numbered marks for words, and the parts that they stand for.

    Margins stay, because a template may trim them, and so do the marks of thinking and of the answer, because it may
    leave these out, and the thinking: all that precedes the last closing mark, where templates split a reply, or
    follows an opening one.
    """
    parts: list[_Part] = []

    def mark(words: str, turn: int, *, kept: bool) -> str:
        if not (stripped := words.strip()):
            return words
        parts.append(_Part(turn, stripped, kept))
        before, _, after = words.partition(stripped)
        return f"{before}words{len(parts) - 1}said{after}"

    outline: list[tuple[str, str]] = []
    for turn, message in enumerate(messages):
        pieces = _thoughts().split(message["content"]) if message["role"] == "assistant" else [message["content"]]
        kinds = ["", *map(_kind, pieces[1::2]), ""]
        for number, words in enumerate(pieces[::2]):
            thought = kinds[number] == "open" or "close" in kinds[number + 1 :]
            pieces[2 * number] = mark(words, turn, kept=not thought)
        outline.append((message["role"], "".join(pieces)))
    return tuple(outline), parts


class _Given(NamedTuple):
    """A chat template without its tokenizer."""

    chat_template: str
    special_tokens_map: Mapping[str, str]


def read_template(name: str, title: str, path: Path) -> Template:
    """Read the chat template that a registry entry names, for text completions; the server adds what begins a text."""
    try:
        text = read_text(path)
    except EquipoiseError as error:
        raise EquipoiseError(f"models/{name}.yaml: field template: {error}") from error
    return Template(title, _Given(text, {"bos_token": ""}), {})


@cache
def _thoughts() -> re.Pattern[str]:
    """Match a mark of thinking, or a tag around an answer; its margins are those of the words beside it."""
    mark, around = thinking.symbols().pattern, "|".join(thinking.table().around)
    return re.compile(f"({mark.pattern}|</?(?:{around})>)", mark.flags)


def _kind(mark: str) -> str:
    """Tell what a mark does; nothing if it is a tag around an answer."""
    known = thinking.symbols().marks.get(thinking.key(mark))
    return known.kind if known else ""


def _name(messages: Sequence[Message], turn: int) -> str:
    """Name a turn, for an error."""
    role, users = messages[turn]["role"], sum(message["role"] == "user" for message in messages[: turn + 1])
    return {"system": "the system text", "user": f"the user's turn {users}"}.get(role, f"the reply to turn {users}")


class Renderer:
    """A process that renders one template (`equipoise.models.rendering`); it is started when it is needed."""

    def __init__(self, name: str, text: str, variables: Mapping[str, object]) -> None:
        """Take the name of a template in errors, its text, and the variables of every rendering."""
        self._name = name
        self._variables = variables
        limits = {"seconds": SECONDS, "memory": MEMORY, "length": LENGTH}
        self._task = {"template": text, "today": TODAY.isoformat(), **limits}
        self._alone = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def render(self, messages: Sequence[Message], **more: object) -> str:
        """Render a conversation, with further variables.

        Raises:
            RefusedError: The template refuses it.
            EquipoiseError: The template fails, or exceeds the limits.
        """
        with self._alone:
            answer = self._ask({**self._variables, **more, "messages": messages})
        if "refused" in answer:
            raise RefusedError(f"{self._name} refuses it ({answer['refused']}): {FIX}")
        if "failed" in answer:
            raise EquipoiseError(f"{self._name} {answer['failed']}: {FIX}")
        return answer["text"]

    def _ask(self, variables: Mapping[str, object]) -> dict[str, str]:
        began, lines = time.monotonic(), [variables]
        if self._process is None:
            from equipoise.models import rendering  # needs jinja2, which only models require

            # Without the program's folder on the path, where modules have the names of libraries.
            command = [sys.executable, "-P", rendering.__file__]
            fixed = {**os.environ, "PYTHONHASHSEED": "0"}  # the order of sets is the same in every process
            self._process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=fixed)  # noqa: S603
            weakref.finalize(self, _stop, self._process)
            lines = [self._task, variables]
        process = self._process
        # Both are pipes, as mypy cannot know.
        assert process.stdin  # noqa: S101
        assert process.stdout  # noqa: S101
        with suppress(BrokenPipeError):
            process.stdin.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
            process.stdin.flush()
        if line := process.stdout.readline():
            answer: dict[str, str] = json.loads(line)
            return answer
        self._process = None
        ended = process.wait()
        late = time.monotonic() - began >= SECONDS
        return {"failed": f"takes more than {SECONDS:g} seconds" if late else f"ends its process with code {ended}"}


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()
