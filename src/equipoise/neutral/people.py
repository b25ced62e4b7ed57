"""Who is told of: the patient's gender, the other people, and the neutral noun for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.neutral.edits import Edit
from equipoise.neutral.tokens import match_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.neutral.lexicon import Gender, Lexicon
    from equipoise.neutral.tokens import Token

NOUN_PHRASE = 7
"""Tokens between an age and its noun, at most ("67-year-old previously healthy right-handed man")."""
GENERIC = frozenset({"baby", "infant", "newborn", "neonate", "toddler", "child", "adult", "adolescent", "teenager", "teen", "patient"})
"""Nouns that need no second one beside them ("baby boy", "adult male", "man patient")."""
DEFINITE = frozenset({"the", "this", "that"})


@dataclass(frozen=True)
class Person:
    """A gendered word for a person at a token; `neutral` is empty where the word is only dropped."""

    index: int
    gender: Gender | None
    neutral: str
    other: bool
    """Whether it names somebody else than the patient."""


@dataclass(frozen=True)
class Cast:
    """The people of a text: the patient's gender, if told, and every gendered noun."""

    patient: Gender | None
    persons: tuple[Person, ...]

    def before(self, index: int, gender: Gender) -> Person | None:
        """The last other person of a gender who was named before a token."""
        named = [p for p in self.persons if p.index < index and p.other and p.gender == gender]
        return named[-1] if named else None


def read_cast(tokens: Sequence[Token], lexicon: Lexicon) -> Cast:
    """Find the gendered nouns and decide for each whether it is the patient."""
    nouns = lexicon.nouns
    genders: dict[str, Gender] = nouns.person | nouns.adjective
    kin: dict[str, Gender] = {word: gender for word, (_, gender) in nouns.kin.items()}
    known = genders | kin
    found = [i for i, token in enumerate(tokens) if token.lower in known or token.lower in nouns.people]
    found = [i for i in found if not tokens[i].text.isupper()]
    aged = [i for i in found if tokens[i].lower in known and _has_age(tokens, i, lexicon)]
    plain = [i for i in found if tokens[i].lower in genders]
    patient = known[tokens[(aged or plain)[0]].lower] if aged or plain else _commonest(tokens, lexicon)
    persons: list[Person] = []
    for i in found:
        word = tokens[i].lower
        if word in nouns.people:
            persons.append(Person(i, None, nouns.people[word], other=True))
        elif word in nouns.kin:
            persons.append(Person(i, kin[word], _kin_word(word, persons, nouns.kin), other=i not in aged))
        else:
            first = not any(p.gender and not p.other for p in persons) and i == plain[0]
            case = genders[word] == patient and (i in aged or first or (i > 0 and tokens[i - 1].lower in DEFINITE))
            neutral = "" if _dropped(tokens, i, lexicon) else "patient" if case else "person"
            persons.append(Person(i, genders[word], neutral, other=not case and neutral != ""))
    return Cast(patient, tuple(persons))


def noun_edits(tokens: Sequence[Token], cast: Cast) -> list[Edit]:
    """Put the neutral noun for every gendered one."""
    edits: list[Edit] = []
    for person in cast.persons:
        token = tokens[person.index]
        if person.neutral:
            edits.append(Edit(token.start, token.end, match_case(token.text, person.neutral), "noun"))
        elif person.index + 1 < len(tokens) and (tokens[person.index + 1].is_word or tokens[person.index + 1].text == "-"):
            following = tokens[person.index + 1]
            end = following.end if following.text == "-" else following.start
            head = match_case(token.text, following.text[0]) if following.is_word else ""
            # A dropped first word hands its capital letter on.
            edits.append(Edit(token.start, end + len(head), head, "adjective"))
        else:
            edits.append(Edit(tokens[person.index - 1].end, token.end, "", "adjective"))
    return edits


def _has_age(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    for token in reversed(tokens[max(0, index - NOUN_PHRASE) : index]):
        if token.lower == "old":
            return True
        if token.lower in lexicon.pronouns.not_modified or token.text in ".;:()":
            return False
    return False


def _commonest(tokens: Sequence[Token], lexicon: Lexicon) -> Gender | None:
    pronouns = lexicon.pronouns.subject | lexicon.pronouns.object_gender
    counts = Counter(pronouns[token.lower] for token in tokens if token.lower in pronouns)
    return counts.most_common(1)[0][0] if counts else None


def _kin_word(word: str, persons: Sequence[Person], kin: dict[str, tuple[str, Gender]]) -> str:
    """The neutral word; the parent of the other gender, told of second, is the other parent."""
    neutral, gender = kin[word]
    if neutral == "parent":
        first = next((p for p in persons if p.neutral == "parent"), None)
        return "other parent" if first and first.gender != gender else "parent"
    return neutral


def _dropped(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    """Whether a gendered word goes without a noun in its place: beside another noun, it is an adjective."""
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if index and tokens[index - 1].lower in GENERIC:
        return True
    if following is None:
        return False
    if tokens[index].lower in lexicon.nouns.person:
        return following.lower in GENERIC
    return following.text == "-" or (following.is_word and not _ends_phrase(following, lexicon))


def _ends_phrase(token: Token, lexicon: Lexicon) -> bool:
    """Whether a word cannot be a noun that the word before describes."""
    closed = lexicon.pronouns.not_modified | lexicon.verbs.coordinated | lexicon.verbs.finite | lexicon.pronouns.adverbs
    return token.lower in closed or token.lower.endswith(("ed", "ly")) or token.text.isdigit() or token.lower == "complaining"
