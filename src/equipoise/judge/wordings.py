"""Search texts for expressions from data files, in time linear in the length of the text.

Expressions have RE2's syntax (https://github.com/google/re2/wiki/Syntax), whose time does not depend on the expression;
RE2 has no look-around, so a wording separates its words from the text that must or must not be next to them.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, NamedTuple, Protocol, Self

import re2
from pydantic import AfterValidator, Field, model_validator

from equipoise.core.jsonl import SURROGATE
from equipoise.core.row import Frozen

NUMBER = "{number}"
"""Placeholder of the number in a form."""
NO_LETTER = r"[^\pL\pN_]"
"""A character that ends a word in any script, like Python's `\\W`; RE2's `\\W` supports only ASCII letters."""
PIECE = 1_000
"""Characters of a text that are searched together for the beginnings of wordings; RE2 may read all of them."""
REACH = 300
"""Longest words, in characters, and the length of the context read on either side."""


class _Match(Protocol):
    """A match of an expression; google-re2 has no types."""

    def span(self, group: int, /) -> tuple[int, int]: ...


class _Compiled(Protocol):
    """An expression compiled by RE2."""

    def search(self, text: str, pos: int = 0, /) -> _Match | None: ...
    def match(self, text: str, /) -> _Match | None: ...


@lru_cache(maxsize=2_048)
def _compile(expression: str) -> _Compiled:
    """Compile an expression that ignores case; raises ValueError if it is invalid."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    try:
        compiled: _Compiled = re2.compile(expression, options)
    except re2.error as error:
        raise ValueError(error.args[0].decode()) from error
    return compiled


def _require_valid(expression: str) -> str:
    try:
        finder = _compile(f"(?:{expression.replace(NUMBER, '1')})")
    except ValueError as error:
        around = any(mark in expression for mark in ("(?=", "(?!", "(?<=", "(?<!"))
        fix = (
            "give what must or must not stand beside the words as after, before, not_after and not_before"
            if around
            else "write it in the syntax of RE2, https://github.com/google/re2/wiki/Syntax"
        )
        raise ValueError(f"{expression!r} is not a valid regular expression ({error}): {fix}") from error
    if finder.search(""):
        raise ValueError(f"{expression!r} matches a text without words: every text would have it")
    return expression


Expression = Annotated[str, Field(min_length=1), AfterValidator(_require_valid)]
Expressions = Annotated[tuple[Expression, ...], Field(min_length=1)]


class Wording(Frozen):
    """Words, matched whole and ignoring case, with conditions on the adjacent text.

    They match if one of `after` ends directly before them, one of `before` begins directly after them, and none of
    `not_after` and `not_before` does. An expression alone is an unconditional wording.
    """

    words: Expression
    after: Expressions | None = None
    before: Expressions | None = None
    not_after: Expressions | None = None
    not_before: Expressions | None = None

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: Any) -> Any:  # noqa: ANN401  (what a file holds)
        if isinstance(value, dict):
            # pydantic does not treat a validator's output as JSON, so lists must be converted to tuples.
            return {
                name: tuple(expressions) if isinstance(expressions, list) else expressions
                for name, expressions in value.items()
            }
        return {"words": value} if isinstance(value, str) else value

    def fill_number(self, numbers: range) -> Self:
        """Return the wording with any of the numbers in place of `NUMBER`, the longest first."""
        either = f"(?:{'|'.join(map(str, reversed(numbers)))})"
        return self.model_copy(update={"words": self.words.replace(NUMBER, either)})


class _Search(NamedTuple):
    """A compiled wording: its words as group 1, between characters that are not part of a word."""

    words: _Compiled
    after: _Compiled | None = None
    before: _Compiled | None = None
    not_after: _Compiled | None = None
    not_before: _Compiled | None = None

    def fits(self, before: str, after: str) -> bool:
        """Whether the words may occur between two texts."""
        return not (
            (self.not_after and self.not_after.search(before))
            or (self.not_before and self.not_before.match(after))
            or (self.after and not self.after.search(before))
            or (self.before and not self.before.match(after))
        )


class Finder:
    """Finds the places that match any of the wordings."""

    def __init__(self, wordings: Sequence[Wording]) -> None:
        """Compile the wordings; raises ValueError if they are too many for RE2."""
        self._wordings = tuple(wordings)
        self._any = _whole([wording.words for wording in wordings])

    @cached_property
    def _searches(self) -> list[_Search]:
        """One search for all unconditional wordings, and one for each of the others."""
        alone = [
            wording.words
            for wording in self._wordings
            if not (wording.after or wording.before or wording.not_after or wording.not_before)
        ]
        others = [wording for wording in self._wordings if wording.words not in alone]
        return ([_Search(_whole(alone))] if alone else []) + [
            _Search(
                _whole([wording.words]),
                _ending(wording.after),
                _either(wording.before),
                _ending(wording.not_after),
                _either(wording.not_before),
            )
            for wording in others
        ]

    def finds(self, text: str) -> bool:
        """Whether the text has any of the wordings."""
        return any(True for _ in self.places(text))

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the half-open ranges of the text that match a wording, unordered and possibly overlapping."""
        text = _utf8(text)
        padded = f" {text} "  # so that words at the ends are also between characters that are not part of a word
        for begin in range(0, len(padded), PIECE):
            first = max(0, begin - 1)
            piece = padded[first : begin + PIECE + REACH]
            if not self._any.search(piece):
                continue
            for search in self._searches:
                at = 0
                while (match := search.words.search(piece, at)) and match.span(1)[0] < begin - first + PIECE:
                    start, end = (offset + first - 1 for offset in match.span(1))
                    fits = search.fits(text[max(0, start - REACH) : start], text[end : end + REACH])
                    if fits:
                        yield start, end
                    at = match.span(1)[1 if fits else 0]


def literal(words: str) -> Wording:
    """Return the wording of plain words, in which no character has a special meaning."""
    return Wording(words=re.escape(_utf8(words)))


def _utf8(text: str) -> str:
    """Convert a text for RE2, which reads UTF-8: replace unpaired surrogates."""
    return SURROGATE.sub("?", text)


def _whole(expressions: Sequence[str]) -> _Compiled:
    return _compile(f"{NO_LETTER}({'|'.join(f'(?:{expression})' for expression in expressions)}){NO_LETTER}")


def _either(expressions: Sequence[str] | None) -> _Compiled | None:
    return _compile("|".join(f"(?:{expression})" for expression in expressions)) if expressions else None


def _ending(expressions: Sequence[str] | None) -> _Compiled | None:
    return _compile(rf"(?:{'|'.join(f'(?:{expression})' for expression in expressions)})\z") if expressions else None
