"""The lexicon: word lists in YAML that decide what counts as demographic and what it becomes."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.yamlfile import load_yaml
from equipoise.questions.neutral.descriptions import Descriptions
from equipoise.questions.neutral.patterns import phrases
from equipoise.questions.neutral.verbs import plural

Gender = Literal["male", "female"]
Words = frozenset[str]


class Section(BaseModel):
    """One file of the lexicon."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Pronouns(Section):
    """Third-person pronouns and the words that decide how they are read (each list is explained in its file)."""

    subject: dict[str, Gender]
    object: dict[str, str]
    object_gender: dict[str, Gender]
    not_modified: Words
    giving: Words
    received: Words
    finding: Words
    states: Words
    doings: Words
    moving: Words
    adverbs: Words
    adverb_phrases: Words
    not_adverbs: Words
    plural_people: Words
    reporting: Words


class Nouns(Section):
    """Gendered nouns, adjectives and titles with their neutral forms."""

    person: dict[str, Gender]
    people: dict[str, str]
    adjective: dict[str, Gender]
    kin: dict[str, tuple[str, Gender]]
    reciprocal: dict[str, str]
    pairs: dict[str, str]
    occupations: dict[str, str]
    titles: Words
    other_nouns: Words
    qualities: Words
    protected: Words

    @cached_property
    def persons(self) -> Words:
        """Every noun that names a person, gendered or not."""
        gendered = (*self.person, *self.people, *self.kin, *self.occupations)
        neutral = (phrase.split()[-1] for phrase in (*self.people.values(), *self.occupations.values()))
        return self.other_nouns.union(gendered, neutral, (word for word, _ in self.kin.values()))


class Verbs(Section):
    """Third-person singular verbs and what becomes of them after "they"."""

    irregular: dict[str, str]
    inverted: Words
    contracted: Words
    coordinated: Words
    impersonal: Words
    finite: Words

    @cached_property
    def personal(self) -> Words:
        """The plain forms of verbs that only a person can be the subject of."""
        return frozenset(plural(verb, self) or verb for verb in self.coordinated - self.impersonal)


class Race(Section):
    """Words for race and ethnicity."""

    terms: Words
    adjectives: Words
    origins: Words


class Ses(Section):
    """Words for socioeconomic position."""

    adjectives: Words
    places: Words
    predicates: Words
    attached: Words
    filler: str
    rewrites: dict[str, str]


class SelectionRule(Section):
    """One reason to leave a question out.

    It applies where one of `any` occurs and, if `also` is given, one of `also` too; a rule with `absent` applies where
    none of those occurs. A star stands for any letters, `#` for a number, a blank for any white space; case is ignored.
    """

    id: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    why: Annotated[str, Field(min_length=1)]
    read: Literal["question", "options", "both"]
    any: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str] | None, ...]:
        """The word lists `any`, `also` and `absent`, compiled; None for an empty one."""
        return tuple(phrases(words) if words else None for words in (self.any, self.also, self.absent))


class Selection(Section):
    """The rules of selection, in the order in which they are asked."""

    rules: tuple[SelectionRule, ...]


class Lexicon(Section):
    """All word lists of the neutraliser."""

    pronouns: Pronouns
    nouns: Nouns
    verbs: Verbs
    race: Race
    ses: Ses
    selection: Selection

    @cached_property
    def fixed_phrases(self) -> re.Pattern[str]:
        """The phrases of two genders and the gendered trades."""
        return phrases(frozenset((*self.nouns.pairs, *self.nouns.occupations)))

    @cached_property
    def protected(self) -> re.Pattern[str]:
        """The clinical phrases that are never touched."""
        return phrases(self.nouns.protected)

    @cached_property
    def descriptions(self) -> Descriptions:
        """The patterns of race and income words that describe a person."""
        return Descriptions.of(self.nouns, self.verbs, self.race, self.ses)


def load_lexicon(folder: Path) -> Lexicon:
    """Read the lexicon's files from a folder; a fault is an EquipoiseError that names file and field."""
    return Lexicon(
        pronouns=load_yaml(folder / "pronouns.yaml", Pronouns),
        nouns=load_yaml(folder / "nouns.yaml", Nouns),
        verbs=load_yaml(folder / "verbs.yaml", Verbs),
        race=load_yaml(folder / "race.yaml", Race),
        ses=load_yaml(folder / "ses.yaml", Ses),
        selection=load_yaml(folder / "selection.yaml", Selection),
    )
