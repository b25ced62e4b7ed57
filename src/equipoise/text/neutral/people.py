"""The people of a text: descriptions by race and income, titles and phrases, and the neutral noun for each person."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from equipoise.core.keys import grouped
from equipoise.text.neutral.lexicon import Edit, Gender, Lexicon, Token, match_case

NEXT_WORD = re.compile(r"\s*([\w'’-]*)")
BOTH_SEXES = re.compile(r"\b(?:male\s+(?:and|or)\s+female|female\s+(?:and|or)\s+male)\s+(?=\w)", re.IGNORECASE)
NAME = r"\.?\s+(?-i:[A-Z][\w'’]*(?:-[A-Z]\w*)?(?:\s+(?!(?:Is|Has|Was)\b)[A-Z][a-z]+)?)"
AFTER_VERB = re.compile(r"(?<!\S)(?:is|was|as|be|been|are|were)\s+$", re.IGNORECASE)
BEFORE = 50
"""Characters before a race word that are searched for a preceding verb."""
NOUN_PHRASE = 7
"""Most tokens between an age and its noun ("67-year-old previously healthy right-handed man")."""
GENERIC = frozenset(
    {"baby", "infant", "newborn", "neonate", "toddler", "child", "adult", "adolescent", "teenager", "teen", "patient"}
)
"""Nouns that need no second noun beside them ("baby boy", "adult male", "man patient")."""
DEFINITE = frozenset({"the", "this", "that"})
DETERMINERS = DEFINITE | {"a", "an", "another", "any", "every", "one"}


def description_edits(text: str, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield edits in order of precedence; the caller drops those that overlap an earlier one."""
    patterns = lexicon.descriptions
    # Before the adjectives: if "affluent" were removed first, "from an affluent area" would become "from an area".
    yield from (Edit(*match.span(), "", "ses") for match in patterns.attached.finditer(text))
    for pattern in (patterns.sentence, patterns.joined, patterns.before_noun):
        for match in pattern.finditer(text):
            if not (pattern is patterns.sentence and re.search(r"\d", match[0])):
                yield _drop_range(text, *match.span(), "ses" if match["ses"] else "race")
    for match in patterns.origin.finditer(text):
        predicate = re.search(r"\b(?:is|was|are|were|be|been)$", text[max(0, match.start() - 6) : match.start()])
        yield Edit(match.start(), match.end(), " a patient" if predicate else "", "race")
    for match in patterns.as_noun.finditer(text):
        yield _race_noun(text, match, lexicon)
    for match in patterns.stated.finditer(text):
        phrase = " ".join(match[0].lower().split()).replace("’", "'")
        yield Edit(*match.span(), match_case(match[0], lexicon.ses.rewrites.get(phrase, lexicon.ses.filler)), "ses")


def phrase_edits(text: str, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield edits of titles with names, gendered trades, and phrases of two genders."""
    titles = "|".join(re.escape(title) for title in sorted(lexicon.nouns.titles))
    for match in re.finditer(rf"\b(?:{titles})(?:{NAME}|\.)", text, re.IGNORECASE):
        if match[0][0].isupper():
            yield Edit(match.start(), match.end(), match_case(_opening(text, match.start()), "the patient"), "title")
    for match in BOTH_SEXES.finditer(text):
        following = NEXT_WORD.match(text, match.end())
        closed = not following or not following[1] or following[1].lower() in lexicon.pronouns.not_modified
        after = match_case(match[0], "people ") if closed else ""
        yield Edit(match.start(), match.end(), after, "adjective")
    for match in lexicon.fixed_phrases.finditer(text):
        phrase = re.sub(r"\s+", " ", match[0].lower())
        neutral = lexicon.nouns.pairs.get(phrase) or lexicon.nouns.occupations[phrase]
        yield Edit(match.start(), match.end(), match_case(match[0], neutral), "noun")


def _opening(text: str, place: int) -> str:
    """Return "A" if the place begins a sentence, else "a", as a model for `match_case`."""
    before = place
    while before and text[before - 1].isspace():
        before -= 1
    if not before or "\n" in text[before:place]:
        return "A"
    end = before
    while end and text[end - 1] in "\"'”’)":
        end -= 1
    return "A" if before < place and end and text[end - 1] in ".?!:" else "a"


def _drop_range(text: str, start: int, end: int, rule: str) -> Edit:
    """Drop a range; if it begins with a capital letter, capitalise the next word."""
    following = text[end : end + 1]
    if text[start].isupper() and following.islower() and _opening(text, start) == "A":
        return Edit(start, end + 1, following.upper(), rule)
    return Edit(start, end, "", rule)


def _race_noun(text: str, match: re.Match[str], lexicon: Lexicon) -> Edit:
    """Replace a race word that is a noun with a person; drop it before any other noun."""
    following = NEXT_WORD.match(text, match.end())
    word = following[1].lower() if following else ""
    if word and word not in lexicon.closed and not word.endswith(("ed", "ing")):
        return _drop_range(text, match.start(), match.end() + 1, "race")
    if match[0].lower().endswith("s"):
        return Edit(match.start(), match.end(), match_case(_opening(text, match.start()), "people"), "race")
    before = AFTER_VERB.search(text[max(0, match.start() - BEFORE) : match.start()])
    article = "a " if before else ""
    return Edit(match.start(), match.end(), match_case(_opening(text, match.start()), f"{article}patient"), "race")


@dataclass(frozen=True)
class Person:
    """A gendered word for a person at a token; `neutral` is empty where the word is only dropped."""

    index: int
    gender: Gender | None
    neutral: str
    other: bool
    """Whether it names somebody other than the patient."""
    again: bool = False
    """Whether it names the patient from a relative's view ("his wife ... her husband"), with the pronoun before it."""


@dataclass(frozen=True)
class Cast:
    """The people of a text: the patient's gender, if stated, and every gendered noun."""

    patient: Gender | None
    persons: tuple[Person, ...]

    @cached_property
    def genders(self) -> dict[int, Gender]:
        """The gender of every gendered noun, by token index."""
        return {person.index: person.gender for person in self.persons if person.gender}

    @cached_property
    def renamed(self) -> frozenset[int]:
        """The indices of tokens that name the patient from a relative's view."""
        return frozenset(person.index for person in self.persons if person.again)

    @cached_property
    def _others(self) -> dict[Gender | None, list[Person]]:
        return grouped((person.gender, person) for person in self.persons if person.other)

    def last_other(self, index: int, gender: Gender) -> Person | None:
        """Return the last other person of a gender named before a token."""
        others = self._others.get(gender, [])
        place = bisect_left(others, index, key=lambda person: person.index)
        return others[place - 1] if place else None


def read_cast(tokens: Sequence[Token], lexicon: Lexicon) -> Cast:
    """Find the gendered nouns and decide for each whether it names the patient."""
    nouns = lexicon.nouns
    genders: dict[str, Gender] = nouns.person | nouns.adjective
    kin: dict[str, Gender] = {word: gender for word, (_, gender) in nouns.kin.items()}
    words = genders | kin
    places = [i for i, token in enumerate(tokens) if token.lower in words or token.lower in nouns.people]
    places = [i for i in places if not tokens[i].text.isupper()]
    aged = {i: i for i in places if tokens[i].lower in words and _has_age(tokens, i, lexicon)}
    plain = [i for i in places if tokens[i].lower in genders]
    first = next(iter((*aged, *plain)), None)
    patient = _commonest_gender(tokens, lexicon) if first is None else words[tokens[first].lower]
    persons: list[Person] = []
    # The last other person of each gender, and the first parent; a text may name any number of people.
    last: dict[Gender | None, Person] = {}
    parent: Person | None = None
    mine = False
    for i in places:
        word = tokens[i].lower
        if word in nouns.people:
            person = Person(i, None, nouns.people[word], other=True)
        elif word in nouns.kin:
            again = patient == kin[word] and _is_patient_again(tokens, i, last, lexicon)
            neutral, gender = nouns.kin[word]
            # A parent of the other gender, mentioned second, is the other parent.
            if neutral == "parent" and not _has_hyphen(tokens, i) and parent and parent.gender != gender:
                neutral = "other parent"
            person = Person(i, gender, neutral, other=i not in aged and not again, again=again)
        else:
            opens = not mine and i == plain[0]
            case = genders[word] == patient and (i in aged or opens or _is_definite(tokens, i))
            neutral = "" if _is_dropped(tokens, i, lexicon) else "patient" if case else "person"
            person = Person(i, genders[word], neutral, other=not case and neutral != "")
        persons.append(person)
        if person.other:
            last[person.gender] = person
            parent = parent or (person if person.neutral == "parent" else None)
        mine = mine or (person.gender is not None and not person.other)
    return Cast(patient, tuple(persons))


def noun_edits(tokens: Sequence[Token], cast: Cast) -> list[Edit]:
    """Replace every gendered noun with its neutral noun."""
    edits: list[Edit] = []
    for person in cast.persons:
        token = tokens[person.index]
        before, after = (tokens[k] if 0 <= k < len(tokens) else None for k in (person.index - 1, person.index + 1))
        if person.again:
            continue
        if before and after and before.text == "(" and after.text == ")":
            # A reference range by sex ("Hematocrit (female) 34%").
            start = tokens[person.index - 2].end if person.index > 1 else before.start
            edits.append(Edit(start, after.end, "", "adjective"))
        elif person.neutral:
            edits.append(Edit(token.start, token.end, match_case(token.text, person.neutral), "noun"))
        elif after and (after.is_word or after.text == "-"):
            edits.append(_drop_word(token, after))
        elif before:
            edits.append(Edit(before.end, token.end, "", "adjective"))
    return edits


def _drop_word(token: Token, after: Token) -> Edit:
    """Drop a word before another word or a hyphen; if it was capitalised, capitalise the next word."""
    if after.text == "-":
        return Edit(token.start, after.end, "", "adjective")
    if token.text[0].isupper() and after.text[0].islower():
        return Edit(token.start, after.start + 1, after.text[0].upper(), "adjective")
    return Edit(token.start, after.start, "", "adjective")


def _has_age(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    for token in reversed(tokens[max(0, index - NOUN_PHRASE) : index]):
        if token.lower == "old":
            return True
        if token.lower in lexicon.pronouns.not_modified or token.text in ".;:()":
            return False
    return False


def _commonest_gender(tokens: Sequence[Token], lexicon: Lexicon) -> Gender | None:
    genders = lexicon.pronouns.genders
    counts = Counter(genders[token.lower] for token in tokens if token.lower in genders)
    return counts.most_common(1)[0][0] if counts else None


def _has_hyphen(tokens: Sequence[Token], index: int) -> bool:
    """Whether a hyphen directly follows ("mother-in-law")."""
    return index + 1 < len(tokens) and tokens[index + 1].text == "-" and tokens[index + 1].start == tokens[index].end


def _is_definite(tokens: Sequence[Token], index: int) -> bool:
    """Whether the noun phrase begins with "the" or "this": the person was mentioned before."""
    determiners = (token.lower for token in reversed(tokens[max(0, index - 4) : index]) if token.lower in DETERMINERS)
    return next(determiners, None) in DEFINITE


def _is_patient_again(
    tokens: Sequence[Token], index: int, last: Mapping[Gender | None, Person], lexicon: Lexicon
) -> bool:
    """Whether "her husband" is the patient: its owner is a person with the reciprocal relation to a husband.

    If owner and patient have the same gender, only reported speech shows it: "the daughter says that her mother".
    """
    owner = tokens[index - 1].lower if index else ""
    gender = lexicon.pronouns.object_gender.get(owner)
    kin, kin_gender = lexicon.nouns.kin[tokens[index].lower]
    named = last.get(gender)
    if gender is None or named is None or lexicon.nouns.reciprocal.get(named.neutral) != kin:
        return False
    here = tokens[named.index].sentence == tokens[index].sentence
    return gender != kin_gender or (here and tokens[index - 2].lower in lexicon.pronouns.reporting)


def _is_dropped(tokens: Sequence[Token], index: int, lexicon: Lexicon) -> bool:
    """Whether a gendered word is dropped without a replacement: beside another noun, it is an adjective."""
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if index and tokens[index - 1].lower in GENERIC:
        return True
    if following is None:
        return False
    if tokens[index].lower in lexicon.nouns.person:
        return following.lower in GENERIC
    return following.text == "-" or (following.is_word and not _ends_phrase(following, lexicon))


def _ends_phrase(token: Token, lexicon: Lexicon) -> bool:
    """Whether a word cannot be a noun described by the word before it."""
    listed = token.lower in lexicon.closed or token.lower in lexicon.pronouns.adverbs or token.lower == "complaining"
    return listed or token.lower.endswith(("ed", "ly")) or token.text.isdigit()
