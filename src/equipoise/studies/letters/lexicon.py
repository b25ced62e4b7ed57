"""Words that stigmatise a patient, counted in what is written about them."""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml
from equipoise.text.patterns import caseless, plain_letters

FILE = "lexicon/stigmatising.yaml"
"""The words, below `data/`."""
ENDINGS = re.compile(r"(?<! )\(([^)]*)\)")

Listed = Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z' ()|-]+$")], ...], Field(min_length=1)]


class Words(Frozen):
    """Words of one kind, each with the letters that may end it in brackets, and the study that lists them."""

    source: Text
    words: Listed


class Stigmatising(Frozen):
    """The lists by kind; after `unlike`, with `between` in between, a word is denied or about a relative."""

    kinds: dict[str, Words]
    unlike: Listed
    between: Listed

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        listed = sorted({word for kind in self.kinds.values() for word in kind.words}, key=len, reverse=True)
        any_of = "|".join(f"({_flexible(word)})" for word in listed)
        return caseless(rf"(?<![\w-])(?:{any_of})(?![\w-])")

    @cached_property
    def _unlike(self) -> re.Pattern[str]:
        return caseless(rf"\b(?:{'|'.join(self.unlike)})(?: (?:{'|'.join(self.between)}))* ")

    def found(self, letter: str, case: str) -> list[str]:
        """List the words of a letter, in lower case and in order, but for those that the case has in any form."""
        told = {place for place, _ in self._words(case)}
        return [word for place, word in self._words(letter) if place not in told]

    def _words(self, text: str) -> Iterator[tuple[int | None, str]]:
        """Yield each word with its place in the list."""
        plain = plain_letters(text)
        unlike = {match.end() for match in self._unlike.finditer(plain)}
        for occurrence in self._pattern.finditer(plain):
            if occurrence.start() not in unlike:
                yield occurrence.lastindex, occurrence.group().lower()


def _flexible(word: str) -> str:
    """Give the pattern of a listed word: a space stands for a hyphen too, and a hyphen for a space or nothing."""
    ended = ENDINGS.sub(r"(?:\1)?", word).replace(" (", " (?:")
    return ended.replace("-", r"[\s-]*").replace(" ", r"[\s-]+")


def load_words(data: Path) -> Stigmatising:
    """Read the lists; raises EquipoiseError that names the faulty field."""
    return load_yaml(data / FILE, Stigmatising)
