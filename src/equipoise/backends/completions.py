"""The part of a server's completion that is read: its text, its thinking, why it ended, and its token counts."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

UNKNOWN = "unknown"
"""The ending of a reply whose server gives no reason."""
ENDINGS = {
    "stop": (
        "", "stop", "stopped", "stop_sequence", "stop_token", "stop_str", "eos", "eos_token", "eod", "eot", "end",
        "end_turn", "end_of_turn", "end_of_text", "endoftext", "complete", "completed", "done", "finish", "finished",
        "normal", "success",
    ),
    "length": (
        "length", "max_tokens", "max_new_tokens", "max_output_tokens", "max_completion_tokens", "max_length",
        "model_length", "token_limit", "context_length", "model_context_window_exceeded",
    ),
    "content_filter": (
        "content_filter", "content_filtered", "content_moderation", "safety", "prohibited_content", "blocklist", "spii",
        "recitation", "refusal", "sensitive", "guardrail_intervened", "error_toxic", "moderation", "blocked",
        "image_safety", "censored",
    ),
}  # fmt: skip
"""What servers write for each ending, without case; other reasons stay as they are."""
_ENDINGS = {word: ending for ending, words in ENDINGS.items() for word in words}
_PREFIX = re.compile(r"^(?:finish|stop)_?reason[_.:]+")

_THOUGHTS = ("thinking", "reasoning", "thought", "summary")
"""Beginnings of the types of parts with thinking."""
_SPOKEN = ("text", "output_text", "refusal")
_HOLDS = ("text", "thinking", "reasoning", "refusal", "content", "summary", "value")
"""Fields of a part that may hold its text, or parts in turn."""


class Part(NamedTuple):
    """A part of a message: text, or thinking."""

    thinking: bool
    text: str


def read_parts(value: object) -> list[Part]:
    """Read a message's text: a text, or parts of several types, of which pictures, calls and the like are left out."""
    match value:
        case None:
            return []
        case str():
            return [Part(thinking=False, text=value)]
        case Mapping():
            kind = str(value.get("type") or "text").lower()
            thinking = kind.startswith(_THOUGHTS) or value.get("thought") is True
            return [Part(thinking, text) for text in _texts(value)] if thinking or kind in _SPOKEN else []
        case list() | tuple():
            return [part for inner in value for part in read_parts(inner)]
        case _:
            raise ValueError("neither a text nor a list of parts")


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a part."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(next((value[name] for name in _HOLDS if value.get(name)), None))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def join_parts(parts: list[Part]) -> str:
    """Join parts; one that begins with a word directly after another gets a line of its own."""
    joined = ""
    for _, text in parts:
        glued = joined and text and not joined[-1].isspace() and text[0].isalnum()
        joined += f"\n{text}" if glued else text
    return joined


def ending_of(reason: str | None) -> str:
    """Return the common name of a finish reason; a reply without any has an unknown ending."""
    if reason is None:
        return UNKNOWN
    word = _PREFIX.sub("", re.sub(r"[\s-]+", "_", reason.strip().casefold()))
    known = _ENDINGS.get(word)
    return known or ("content_filter" if word.startswith("content_filter") else reason)


class _Read(BaseModel):
    """The part of a server's JSON that is read; the rest is ignored."""

    model_config = ConfigDict(from_attributes=True)


def _or_empty(value: object) -> object:
    return () if value is None else value


Parts = Annotated[list[Part], BeforeValidator(read_parts)]
Tokens = Annotated[int | None, Field(ge=0, lt=2**53)]


class Message(_Read):
    """A message, or a piece of it: its parts, and the thinking that is given separately."""

    content: Parts = []
    refusal: str | None = None
    reasoning_content: Parts = []
    reasoning: Parts = []
    thinking: Parts = []
    reasoning_details: Parts = []

    @property
    def spoken(self) -> list[Part]:
        """The parts that are not thinking, else the refusal."""
        parts = [part for part in self.content if not part.thinking]
        return parts if any(part.text for part in parts) else read_parts(self.refusal)

    @property
    def thoughts(self) -> list[Part]:
        """The thinking, from the first field that has any."""
        apart = (self.reasoning_content, self.reasoning, self.thinking, self.reasoning_details)
        fields = (*apart, [part for part in self.content if part.thinking])
        return next((field for field in fields if any(part.text for part in field)), [])


class Choice(_Read):
    """A reply, and why it ended; some providers put an error in its place."""

    message: Message | None = None
    finish_reason: str | None = None
    error: Any = None


class Usage(_Read):
    """Token counts, where the server gives them."""

    prompt_tokens: Tokens = None
    completion_tokens: Tokens = None


class Completion(_Read):
    """A completion, or an error in its place."""

    choices: Annotated[tuple[Choice, ...], BeforeValidator(_or_empty)]
    model: str | None = None
    usage: Usage | None = None
    error: Any = None


class PieceChoice(_Read):
    """A piece of a streamed reply."""

    delta: Message | None = None
    finish_reason: str | None = None
    error: Any = None


class Piece(_Read):
    """A chunk of a stream."""

    choices: Annotated[tuple[PieceChoice, ...], BeforeValidator(_or_empty)] = ()
    model: str | None = None
    usage: Usage | None = None


class Whole(NamedTuple):
    """A complete reply: its text, its thinking, why it ended, the model that the server names, and its counts."""

    text: str
    thinking: str
    ending: str
    model: str
    prompt_tokens: int
    generated_tokens: int


def whole(text: str, thinking: str, reason: str | None, model: str | None, usage: Usage | None) -> Whole:
    """Put a reply together; counts that the server does not give are 0."""
    prompt, generated = (usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else (0, 0)
    return Whole(text, thinking, ending_of(reason), model or "", prompt, generated)
