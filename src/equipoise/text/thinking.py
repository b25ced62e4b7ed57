"""The marks that set off a model's thinking from its answer: the table `thinking.yaml`, and the marks of an entry."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from equipoise.core.row import Frozen
from equipoise.core.yamlfile import load_yaml
from equipoise.text.patterns import caseless

FILE = Path(__file__).with_name("thinking.yaml")
OPEN, CLOSE = "<think>", "</think>"
"""The marks that stored replies have where a server, a log or a registry entry tells the thinking apart."""
Kind = Literal["open", "close", "answer", "end"]
MarkText = Annotated[str, Field(min_length=2, max_length=100)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z_:|]*$")]

_RUN = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]+")
_LAYOUT = re.compile(r"[\s#*_:]+")


class Marks(Frozen):
    """Marks before and after thinking; a registry entry may have its own.

    A mark has a character that is neither a letter nor a space, so that it is not part of ordinary text.
    """

    open: Annotated[tuple[MarkText, ...], Field(min_length=1)]
    close: Annotated[tuple[MarkText, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _are_marks(self) -> Self:
        for mark in (*self.open, *self.close):
            if not re.search(r"[^\w\s]", mark) or mark != mark.strip():
                raise ValueError(f"{mark!r} is an ordinary word, or has margins: give the mark alone, such as <think>")
        if both := {key(mark) for mark in self.open} & {key(mark) for mark in self.close}:
            raise ValueError(f"{min(both)!r} both opens and closes the thinking: give a mark of its own to either")
        return self


class _Family(Frozen):
    family: str
    tags: tuple[Name, ...] = ()
    open: tuple[MarkText, ...] = ()
    close: tuple[MarkText, ...] = ()
    answer: tuple[MarkText, ...] = ()
    end: tuple[MarkText, ...] = ()
    start: bool = False

    def marks(self) -> Iterable[tuple[str, Kind, str]]:
        """Yield each mark with its kind and the name of what it opens or closes."""
        for tag in self.tags:
            yield f"<{tag}>", "open", tag
            yield f"</{tag}>", "close", tag
        kinds: tuple[tuple[Kind, tuple[str, ...]], ...] = (
            ("open", self.open), ("close", self.close), ("answer", self.answer), ("end", self.end),
        )  # fmt: skip
        for kind, texts in kinds:
            for text in texts:
                name = text.strip("[/]")
                yield text, kind, name if name in self.tags else self.family


class _Channels(Frozen):
    thinking: tuple[Name, ...]
    answer: tuple[Name, ...]


class _Table(Frozen):
    version: Literal[1]
    families: tuple[_Family, ...]
    channels: _Channels
    around: tuple[Name, ...]


class Mark(NamedTuple):
    """What a mark does, and the name of the thinking that it opens or closes."""

    kind: Kind
    name: str


class Grammar(NamedTuple):
    """The marks that count in a reply: where they may stand, and what each does."""

    pattern: re.Pattern[str]
    marks: dict[str, Mark]

    def mark(self, text: str) -> Mark:
        """Return what a found mark does."""
        return self.marks[key(text)]


def key(mark: str) -> str:
    """Return a mark without its case and layout."""
    return _LAYOUT.sub("", mark).replace("’", "'").casefold()


def pattern(marks: Iterable[str]) -> str:
    """Return a regular expression of marks, the longest first; it has no groups, and takes linear time."""
    return "|".join(map(_expression, sorted({*marks}, key=lambda mark: (-len(mark), mark))))


@cache
def table() -> _Table:
    """Read the table once."""
    return load_yaml(FILE, _Table)


@cache
def symbols() -> Grammar:
    """Give the marks that count anywhere in a reply."""
    return _grammar(family for family in table().families if not family.start)


def around_thinking() -> Iterable[str]:
    """Yield the marks before and after thinking that count anywhere in a reply."""
    for family in table().families:
        if not family.start:
            yield from (mark for mark, kind, _ in family.marks() if kind in {"open", "close"})


def grammar(text: str) -> Grammar:
    """Give the marks that count in a reply: those made of words only where it begins with them."""
    for begins, opening_grammar in _openings():
        if begins.match(text):
            return opening_grammar
    return symbols()


@cache
def _openings() -> tuple[tuple[re.Pattern[str], Grammar], ...]:
    families = table().families
    anywhere = [family for family in families if not family.start]
    return tuple(
        (caseless(rf"\s*(?:{pattern(family.open)})", re.MULTILINE), _grammar([*anywhere, family]))
        for family in families
        if family.start
    )


def _grammar(families: Iterable[_Family]) -> Grammar:
    marks = [mark for family in families for mark in family.marks()]
    return Grammar(
        caseless(pattern(text for text, _, _ in marks), re.MULTILINE),
        {key(text): Mark(kind, name) for text, kind, name in marks},
    )


def _expression(mark: str) -> str:
    """Write a mark as a regular expression: a space may stand between words and symbols, a heading on its own line."""
    if mark.startswith("#"):
        return rf"^\#{{1,6}}[ ]?(?:\*\*)?{re.escape(mark.lstrip('# '))}:?(?:\*\*)?:?[ \t]*$"
    parts: list[str] = []
    runs = _RUN.findall(mark)
    for place, run in enumerate(runs):
        if run == "\n":
            parts.append("[ \t]*\n" if place else "\n")
        elif run.isspace():
            parts.append(r"\s+")
        else:
            parts += ["[ ]?"] if place and not runs[place - 1].isspace() else []
            parts.append(re.escape(run).replace("'", "['’]"))
    return "".join(parts) + (r"(?!\w)" if runs[-1][-1].isalnum() else "")


def tagged(thinking: str, text: str) -> str:
    """Join a reply with its thinking, which is put between the common marks before it; text without any stays."""
    return f"{OPEN}\n{thinking.strip()}\n{CLOSE}\n\n{text}" if thinking.strip() else text


def with_common_marks(text: str, marks: Marks) -> str:
    """Replace an entry's own marks in a reply by the common ones."""
    own = {key(mark) for mark in marks.open}
    expression = caseless(pattern((*marks.open, *marks.close)), re.MULTILINE)
    return expression.sub(lambda match: OPEN if key(match[0]) in own else CLOSE, text)
