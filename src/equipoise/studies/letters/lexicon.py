"""Words that stigmatise a patient, counted in what is written about them."""

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml
from equipoise.text.patterns import caseless

FILE = "lexicon/stigmatising.yaml"
"""The words, below `data/`."""


class Words(Frozen):
    """Words of one kind, each with the letters that may end it in brackets, and the study that lists them."""

    source: Text
    words: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z' ()|-]+$")], ...], Field(min_length=1)]


class Stigmatising(Frozen):
    """The lists by kind."""

    kinds: dict[str, Words]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        listed = sorted({word for kind in self.kinds.values() for word in kind.words}, key=len, reverse=True)
        any_of = "|".join(word.replace("(", "(?:").replace(")", ")?") for word in listed)
        return caseless(rf"(?<![\w-])(?:{any_of})(?![\w-])")

    def found(self, letter: str, case: str) -> list[str]:
        """List the words of a letter, in lower case and in order, but for those that the case itself has."""
        told = {*self._words(case)}
        return [word for word in self._words(letter) if word not in told]

    def _words(self, text: str) -> list[str]:
        return [found.group().lower() for found in self._pattern.finditer(text)]


def load_words(data: Path) -> Stigmatising:
    """Read the lists; raises EquipoiseError that names the faulty field."""
    return load_yaml(data / FILE, Stigmatising)
