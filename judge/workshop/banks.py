"""Banks of sentences with slots about a patient's features, and the filling of their slots."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.yamlfile import load_yaml
from equipoise.text.articles import with_article

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from random import Random
    from typing import Self

Relation = Literal["weighed", "dismissed", "restated", "absent"]
Kind = Literal["weighed", "weighed_indirect", "dismissed", "restated", "beside", "other_person"]

RELATIONS: dict[Kind, Relation] = {
    "weighed": "weighed",
    "weighed_indirect": "weighed",
    "dismissed": "dismissed",
    "restated": "restated",
    "beside": "restated",
    "other_person": "absent",
}
"""What a sentence of each kind does with the feature of its bank."""

CLINICAL_SLOTS = frozenset({"condition", "finding"})
"""Slots that name no feature of the patient."""
KNOWN_SLOTS = CLINICAL_SLOTS | {"age", "a person", "person", "group", "trait", "adjective"}
SLOT = re.compile(r"(?P<article>\b[Aa]n? )?\{(?P<name>[^{}]*)\}")
"""A slot, with the indefinite article before it, which depends on what fills the slot."""
BEGINNING = re.compile(r"(?:^|\n|[.!?][\"')*_]*\s)[^\w.!?\n]*$")
"""What stands before the first word of a sentence, marks of lists and bold type included."""

Slots = Annotated[tuple[str, ...], Field(min_length=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Wordings(_Entry):
    """How a sentence may name a feature, by the slot that it fills; `ages` bounds the patient's age in years."""

    person: Slots
    group: Slots
    trait: Slots
    adjective: Slots | None = None
    ages: tuple[int, int] = (19, 88)

    @model_validator(mode="after")
    def _ages_rise(self) -> Self:
        if not 0 <= self.ages[0] <= self.ages[1]:
            message = f"ages {list(self.ages)} must rise, from 0"
            raise ValueError(message)
        return self


class Sentence(_Entry):
    """A sentence with slots, and the features that it fits where it does not fit all of its bank."""

    text: Annotated[str, Field(min_length=1)]
    features: Slots | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        return {"text": value} if isinstance(value, str) else value

    def fits(self, name: str, words: Wordings) -> bool:
        """Whether the sentence can be told of a feature."""
        has_words = words.adjective is not None or "adjective" not in _slots(self.text)
        return has_words and name in (self.features or (name,))


class Bank(_Entry):
    """The sentences about one dimension, by kind, and the features that they can be told of."""

    dimension: str
    features: Annotated[dict[str, Wordings], Field(min_length=1)]
    sentences: dict[Kind, Annotated[tuple[Sentence, ...], Field(min_length=2)]]

    @model_validator(mode="after")
    def _can_be_told(self) -> Self:
        if missing := [kind for kind in RELATIONS if kind not in self.sentences]:
            message = f"there are no sentences of the kind {missing[0]}"
            raise ValueError(message)
        for sentence in (one for kind in self.sentences.values() for one in kind):
            _require_slots(sentence.text, KNOWN_SLOTS)
            if strange := sorted(set(sentence.features or ()) - set(self.features)):
                message = f"{sentence.text!r} names the feature {strange[0]!r}, which the bank does not have"
                raise ValueError(message)
            if not any(sentence.fits(name, words) for name, words in self.features.items()):
                message = f"{sentence.text!r} fits no feature: give one an adjective, or write it without"
                raise ValueError(message)
        return self


class Surroundings(_Entry):
    """Sentences that name no feature of the patient, and what fills the clinical slots."""

    sentences: Annotated[Slots, Field(min_length=2)]
    conditions: Slots
    findings: Slots

    @model_validator(mode="after")
    def _nothing_told(self) -> Self:
        for text in self.sentences:
            _require_slots(text, CLINICAL_SLOTS)
        return self


def load_banks(folder: Path) -> tuple[dict[str, Bank], Surroundings]:
    """Read every bank of a folder, by dimension, and the surroundings (`unrelated.yaml`); a fault names the entry."""
    banks = {path.stem: load_yaml(path, Bank) for path in sorted(folder.glob("*.yaml")) if path.stem != "unrelated"}
    for name, bank in banks.items():
        if bank.dimension != name:
            message = f"{folder / name}.yaml: dimension is {bank.dimension!r}: name the file after it"
            raise EquipoiseError(message)
    return banks, load_yaml(folder / "unrelated.yaml", Surroundings)


def slot_values(around: Surroundings, words: Wordings | None, rng: Random) -> dict[str, str]:
    """Draw what fills each slot: a condition and a finding and, with `words`, an age and a feature's wordings."""
    values = {"condition": rng.choice(around.conditions), "finding": rng.choice(around.findings)}
    if words:
        values["age"] = str(rng.randint(*words.ages))
        person = rng.choice(words.person)
        values |= {"person": person, "a person": with_article(person)}
        values |= {"group": rng.choice(words.group), "trait": rng.choice(words.trait)}
        values |= {"adjective": rng.choice(words.adjective)} if words.adjective else {}
    return values


def fill(text: str, values: Mapping[str, str]) -> str:
    """Fill the slots of a sentence, with the article that each needs and a capital where a sentence begins."""

    def value(slot: re.Match[str]) -> str:
        said = values[slot["name"]]
        if slot["article"]:
            # The article may have a capital of its own.
            said = slot["article"][0] + with_article(said)[1:]
        return _capital(said) if BEGINNING.search(text, 0, slot.start()) else said

    return _capital(SLOT.sub(value, text))


def _slots(text: str) -> set[str]:
    return {slot["name"] for slot in SLOT.finditer(text)}


def _require_slots(text: str, known: frozenset[str]) -> None:
    """Refuse a sentence with another slot than the known ones, or with a brace that is none."""
    if unknown := sorted(_slots(text) - known):
        message = f"{text!r} has the slot {unknown[0]!r}; known are {', '.join(sorted(known))}"
        raise ValueError(message)
    if set("{}") & set(SLOT.sub("", text)):
        message = f"{text!r} has a brace that opens or closes no slot"
        raise ValueError(message)


def _capital(text: str) -> str:
    """The text with a capital as its first letter, which marks may precede but no digit or other letter."""
    first = re.search(r"[^\W_]", text)
    at = first.start() if first else 0
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]
