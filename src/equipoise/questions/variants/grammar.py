"""The grammar behind the rules generator, as read from `data/templates/background`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints, model_validator

from equipoise.questions.rows import Attribute

Stage = Literal["adult", "teenager", "child", "infant", "newborn"]
Register = Literal["adult", "minor"]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Lines = Annotated[tuple[Line, ...], Field(min_length=2)]
Levels = Annotated[tuple[Lines, ...], Field(min_length=3, max_length=3)]

CHOICE = re.compile(r"\[([^\[\]]*)\]")
SLOTS = frozenset({"group", "person", "a_person", "noun", "life", "one", "One", "obj", "the_patient"})

_AGE = re.compile(r"\b(?P<n>\d+)[- ](?P<unit>year|month|week|day|hour|minute)s?[- ]old\b|\b(?P<word>newborn|neonate)\b")
_YEARS = {"year": 1.0, "month": 1 / 12, "week": 7 / 365, "day": 1 / 365, "hour": 0.0, "minute": 0.0}
_OLDEST: tuple[tuple[Stage, float], ...] = (("newborn", 28 / 365), ("infant", 2), ("child", 13), ("teenager", 18))


class Grammatical(BaseModel):
    """One file of the grammar; unknown fields, and slots in braces that nothing fills, are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: StrictInt

    @model_validator(mode="after")
    def _slots_are_known(self) -> Self:
        if unknown := set(re.findall(r"\{(\w*)\}", self.model_dump_json())) - SLOTS:
            message = f"no such slot: {{{min(unknown)}}}; use {', '.join(sorted(SLOTS))}"
            raise ValueError(message)
        return self


class Naming(BaseModel):
    """How a group is named: by an adjective, and for gender by a noun too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    adjective: Line
    adult: str = ""
    minor: str = ""


class Frame(Grammatical):
    """Openings, by attribute and register, with the nouns and guards that they and the themes need."""

    groups: dict[str, Naming]
    persons: dict[Stage, Line]
    modifiers: dict[Stage, Line]
    openings: dict[Attribute, dict[Register, Lines]]
    guards: dict[Line, Lines]


class Theme(BaseModel):
    """One social circumstance; it is left out where the vignette holds a word of a guard named in `unless`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unless: tuple[Line, ...] = ()
    life: Lines
    care: Levels


class Themes(Grammatical):
    """The themes and closing sentences of one direction, each in three levels of rising strength."""

    themes: dict[Line, Theme]
    closings: Levels

    @model_validator(mode="after")
    def _one_theme_fits_all(self) -> Self:
        if all(theme.unless for theme in self.themes.values()):
            message = "every theme has a guard; leave one without, so that any vignette has a theme"
            raise ValueError(message)
        return self


def stage(text: str) -> Stage:
    """Read a patient's stage of life from the first age that the vignette gives; without one, an adult."""
    match = _AGE.search(text)
    if match is None:
        return "adult"
    years = 0.0 if match["word"] else int(match["n"]) * _YEARS[match["unit"]]
    return next((name for name, limit in _OLDEST if years < limit), "adult")


@lru_cache(maxsize=4096)
def guarded(text: str, words: tuple[str, ...]) -> bool:
    """Tell whether a vignette holds a word that begins with one of `words`, in any case."""
    return re.search(rf"\b(?:{'|'.join(map(re.escape, words))})", text, re.IGNORECASE) is not None
