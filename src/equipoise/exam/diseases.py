"""The group of diseases that a MedMCQA question is about, read from the names of its topic and subject.

The rules are in `data/medmcqa_diseases.yaml`, in order; the first that fits decides.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from equipoise.core.records import Frozen
from equipoise.core.yamlfile import load_yaml
from equipoise.questions.rows import Disease

FILE = Path("data/medmcqa_diseases.yaml")
Words = Annotated[str, Field(pattern=r"^[a-z0-9]+\*?( [a-z0-9]+\*?)*$")]
"""Words as `plain` leaves them, in lower case; a star at the end of a word matches any ending."""


class Rule(Frozen):
    """A group of diseases, or none, and what a question's topic and subject hold where the rule fits.

    It fits where the topic holds any of `topics` and the subject any of `subjects`; a list left out fits every name.
    """

    disease: Disease | None
    topics: tuple[Words, ...] = ()
    subjects: tuple[Words, ...] = ()

    @model_validator(mode="after")
    def _fits_something(self) -> Self:
        if not self.topics and not self.subjects:
            message = "a rule without topics and subjects would fit every question: give some of either"
            raise ValueError(message)
        return self

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        return _any_of(self.topics), _any_of(self.subjects)

    def fits(self, topic: str, subject: str) -> bool:
        """Whether the rule is about a topic of a subject, both as `plain` gives them."""
        topics, subjects = self._patterns
        return bool(topics.search(topic) and subjects.search(subject))


class DiseaseMap(Frozen):
    """The rules in the order in which they are tried."""

    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]

    def disease_of(self, topic: str | None, subject: str | None = None) -> Disease | None:
        """Give the group of diseases of the first rule that fits; None where that is none, or where no rule fits."""
        names = plain(topic or ""), plain(subject or "")
        return next((rule.disease for rule in self.rules if rule.fits(*names)), None)


def load_diseases(path: Path = FILE) -> DiseaseMap:
    """Read the rules; a fault is an EquipoiseError that names the file and the field."""
    return load_yaml(path, DiseaseMap)


def plain(name: str) -> str:
    """Reduce a name to lower-case words one space apart: full stops go, other punctuation divides words."""
    text = unicodedata.normalize("NFKC", name).casefold().replace(".", "")
    return " ".join(re.findall(r"[^\W_]+", text))


def _any_of(entries: tuple[str, ...]) -> re.Pattern[str]:
    """Match any of the entries as whole words; without entries, everything."""
    words = "|".join(re.escape(entry).replace(r"\*", r"\w*") for entry in entries)
    return re.compile(rf"\b(?:{words})\b" if words else "")
