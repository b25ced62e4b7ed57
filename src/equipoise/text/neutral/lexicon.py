"""The neutraliser's word lists (YAML) with their patterns, the tokens of a text, and edits.

The lists decide which words count as demographic and what replaces them. Two rounds of edits compose into one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, get_type_hints

from pydantic import BaseModel, Field

from equipoise.core.row import Frozen, Text
from equipoise.core.yamlfile import load_yaml
from equipoise.text.patterns import caseless
from equipoise.text.sentences import sentence_spans

TOKEN = re.compile(r"[^\W_]+n['’]t\b|[^\W_]+|['’](?:s|d|ll|re|ve|m)\b|\S", re.IGNORECASE)
"""A negated auxiliary, a word or number, a clitic, or a single mark."""
CLOSING = " \n\t\"'”’)]"
"""Characters that may follow the mark at the end of a sentence."""
ARTICLES = frozenset({"a", "an"})

Gender = Literal["male", "female"]
Words = frozenset[str]

SIBILANTS = ("sses", "shes", "ches", "xes", "zzes", "oes")
"""Endings of verbs that take "es" instead of "s": misses, washes, itches, fixes, buzzes, echoes."""
NOT_THIRD_PERSON = ("ss", "us", "is")
"""Endings of words in -s that are not third-person verbs: discuss, thus, this."""
SHORTEST = 3
AGE = r"\d+(?:\.\d+)?[\s-]*(?:year|month|week|day)s?[\s-]*old"
LINK = r"(?:is|was|are|were|has\s+been|had\s+been)(?:\s+\w+ly)?"
ADJECTIVE = (
    r"(?!(?:blood|cell|coat|lung|market|matter|plaque|powder|stool|tar|widow)s?\b)"
    r"(?:[^\W_]+(?:[-‐–][^\W_]+)+|(?-i:[A-Z][A-Z0-9]{1,5})(?![a-z])|\w{3,}(?:ed|ive|ic|ous|al|ant|ent|less))"
)
"""A word whose form marks it as describing a person: a compound (HIV-positive, 80-kg), an acronym (COPD), an ending
(hypertensive).

Words that make a colour describe a thing are excluded: white blood-cell, black tar.
"""
UNCLEAR = frozenset({"poor", "rich"})
"""Words of income that also describe amounts (a poor R-wave): only listed words may follow these."""
MOST = 10
"""Most descriptions between a race or income word and its noun."""
HE = r"(?:he|she|they)"
"""Subjects of sentences that may be dropped entirely."""


class Change(Frozen):
    """One replacement that the neutraliser made in the original text (half-open range), and the rule behind it."""

    start: int
    end: int
    before: str
    after: str
    rule: Text


class Pronouns(Frozen):
    """Third-person pronouns and the words that decide how they are read (the file explains each list)."""

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

    @cached_property
    def genders(self) -> dict[str, Gender]:
        """Every gendered pronoun with its gender."""
        return self.subject | self.object_gender


class Nouns(Frozen):
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


class Verbs(Frozen):
    """Third-person singular verbs and their forms after "they"."""

    irregular: dict[str, str]
    inverted: Words
    contracted: Words
    coordinated: Words
    impersonal: Words
    finite: Words

    @cached_property
    def listed(self) -> Words:
        """Every verb in any of the lists."""
        return self.coordinated | self.finite

    @cached_property
    def personal(self) -> Words:
        """The plain forms of verbs whose subject can only be a person."""
        return frozenset(plural(verb, self) or verb for verb in self.coordinated - self.impersonal)


class Race(Frozen):
    """Words for race and ethnicity."""

    terms: Words
    adjectives: Words
    origins: Words


class Ses(Frozen):
    """Words for socioeconomic position."""

    adjectives: Words
    places: Words
    predicates: Words
    attached: Words
    filler: str
    rewrites: dict[str, str]


class SelectionRule(Frozen):
    """One reason to exclude a question.

    It applies if one of `any` occurs and, if `also` is given, one of `also` too; a rule with `absent` applies if none
    of those occurs. `*` matches any letters, `#` a number, a blank any white space; case is ignored.
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


class Selection(Frozen):
    """The selection rules, in the order in which they are tried."""

    rules: tuple[SelectionRule, ...]


@dataclass(frozen=True)
class Descriptions:
    """Patterns of race and income descriptions; a match's group `race` or `ses` names the rule."""

    sentence: re.Pattern[str]
    """A sentence with no other content ("He is homeless.")."""
    joined: re.Pattern[str]
    """Up to the next verb ("is unemployed and" before "lives")."""
    before_noun: re.Pattern[str]
    """Before a person noun, with the white space or comma after it ("white, " before "obese man")."""
    origin: re.Pattern[str]
    """After a person noun ("of African descent")."""
    as_noun: re.Pattern[str]
    """In place of a person noun ("a 30-year-old Hispanic presents"), or before any other noun."""
    attached: re.Pattern[str]
    """After a noun or verb ("on a low income")."""
    stated: re.Pattern[str]
    """Remaining income words: after a verb ("has been homeless for"), or phrases of their own."""

    @classmethod
    def of(cls, nouns: Nouns, verbs: Verbs, race: Race, ses: Ses) -> Self:
        """Compile the word lists."""
        races, incomes = alternatives(race.terms | race.adjectives), alternatives(ses.adjectives)
        people = nouns.persons | nouns.adjective.keys()
        clear, unclear = alternatives(ses.adjectives - UNCLEAR), alternatives(UNCLEAR)
        description = rf"{AGE}|{races}|{incomes}|{alternatives(nouns.qualities)}"
        person = alternatives(people | ses.places)
        # Each description matches in one way only, and their number is limited, which keeps matching linear.
        listed, between = (
            rf"(?:[\s,]+(?:and\s+|or\s+)?(?>(?:{words})(?=[\s,]|[\s,-]+{person}))){{0,{MOST}}}[\s,-]+"
            for words in (description, rf"{description}|{ADJECTIVE}")
        )
        origin = rf"of\s+{races}(?:(?:\s*,\s*|\s+(?:and|or)\s+|\s+){races})*\s+{alternatives(race.origins)}"
        predicate = rf"(?:(?P<ses>{alternatives(ses.predicates)})|(?P<race>{alternatives(race.terms)}|{origin}))"
        attached = rf"(?:{alternatives(ses.attached)}|who\s+{LINK}\s+{alternatives(ses.predicates)})"
        subject = rf"(?:{HE}|the\s+(?:patient|man|woman|boy|girl))"
        verb = rf"(?:\w+ly\s+)?{alternatives(verbs.listed)}"
        return cls(
            sentence=caseless(rf"(?<![^\s]){subject}\s+{LINK}\s+{predicate}\s*\.(?:\s+|$)"),
            joined=caseless(rf"(?<=\s){LINK}\s+{predicate},?\s+and\s+(?={verb})"),
            before_noun=caseless(
                rf"(?<![\w-])(?:(?P<race>{races})(?={between}{alternatives(people)})"
                rf"|(?P<ses>{clear}(?={between}{person})|{unclear}(?={listed}{person})))"
                rf"(?:\s*,)?(?:\s+(?:and|or))?\s+"
            ),
            origin=caseless(rf",\s+who\s+(?:is|was)\s+{origin},?|(?<!\s)\s+(?:who\s+(?:is|was)\s+)?{origin}"),
            as_noun=caseless(rf"(?<![\w-])(?P<race>{alternatives(t + end for t in race.terms for end in ('', 's'))})"),
            attached=caseless(rf",\s+{attached},?(?=\s)|(?<!\s)\s+{attached}"),
            stated=caseless(
                rf"(?:(?<=\bis\s)|(?<=\bbe\s)|(?<=\bbeen\s)|(?<=\bwas\s)|(?<=ly\s))(?P<ses>{alternatives(ses.predicates)})"
                rf"|(?P<rewrite>{alternatives(ses.rewrites)})"
            ),
        )


class Lexicon(Frozen):
    """All word lists of the neutraliser."""

    pronouns: Pronouns
    nouns: Nouns
    verbs: Verbs
    race: Race
    ses: Ses
    selection: Selection

    @cached_property
    def closed(self) -> Words:
        """Words that a preceding noun or adjective cannot describe: closed word classes, and verbs."""
        return self.pronouns.not_modified | self.verbs.listed

    @cached_property
    def fixed_phrases(self) -> re.Pattern[str]:
        """The phrases of two genders and the gendered trades."""
        return phrases(frozenset((*self.nouns.pairs, *self.nouns.occupations)))

    @cached_property
    def protected(self) -> re.Pattern[str]:
        """The clinical phrases that are never changed."""
        return phrases(self.nouns.protected)

    @cached_property
    def descriptions(self) -> Descriptions:
        """The patterns of race and income words that describe a person."""
        return Descriptions.of(self.nouns, self.verbs, self.race, self.ses)


def load_lexicon(folder: Path) -> Lexicon:
    """Read the lexicon's files from a folder; raises EquipoiseError that names the faulty file and field."""
    kinds: dict[str, type[BaseModel]] = get_type_hints(Lexicon)
    return Lexicon(**{name: load_yaml(folder / f"{name}.yaml", kinds[name]) for name in Lexicon.model_fields})


def plural(verb: str, verbs: Verbs) -> str | None:
    """Return the form after "they" of a third-person singular verb; None if it does not change.

    "has" gives "have", "denies" "deny", "itches" "itch", "uses" "use"; past tenses, modals and plain forms give None.
    """
    lower = verb.lower().replace("’", "'")
    if lower in verbs.irregular:
        form = verbs.irregular[lower]
        return match_case(verb, form.replace("'", "’") if "’" in verb else form)
    if len(lower) < SHORTEST or not lower.isalpha() or not lower.endswith("s") or lower.endswith(NOT_THIRD_PERSON):
        return None
    if lower.endswith("ies"):
        return verb[:-3] + "y"
    if lower.endswith(SIBILANTS):
        return verb[:-2]
    return verb[:-1]


def alternatives(words: Iterable[str]) -> str:
    """Join whole words and phrases, longest first; `*` is any letters, `#` a number, a blank any white space."""
    ordered = sorted(set(words), key=lambda word: (-len(word), word))
    bodies = "|".join(re.escape(word) for word in ordered)
    # A sign twice in a row would try all lengths of both.
    for sign, pattern in ((r"\*", r"\w*"), (r"\#", r"\d+"), (r"\ ", r"\s+"), ("'", "['’]")):
        bodies = re.sub(f"(?:{re.escape(sign)})+", pattern.replace("\\", r"\\"), bodies)
    return rf"(?:(?<![\w-])(?:{bodies})(?!\w))"


def phrases(words: Iterable[str]) -> re.Pattern[str]:
    """Compile `alternatives`, ignoring case."""
    return caseless(alternatives(words))


def match_case(model: str, word: str) -> str:
    """Capitalise a word if the model is capitalised."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


class Token(NamedTuple):
    """A word, clitic or mark: its half-open range, its text and the number of its sentence."""

    start: int
    end: int
    text: str
    sentence: int
    lower: str
    """The text in lower case, with a straight apostrophe."""

    @property
    def is_word(self) -> bool:
        """Whether it begins with a letter or a digit."""
        return self.text[0].isalnum()


def tokenise(text: str) -> list[Token]:
    """Split a text into tokens."""
    ranges = sentence_spans(text, longest=len(text) + 1)
    tokens: list[Token] = []
    sentence = 0
    for match in TOKEN.finditer(text):
        while sentence + 1 < len(ranges) and match.start() >= ranges[sentence + 1].start:
            sentence += 1
        lower = match[0].lower().replace("’", "'")
        tokens.append(Token(*match.span(), match[0], sentence, lower))
    return tokens


class Edit(NamedTuple):
    """A half-open range of a text, its replacement, and the rule that requires it."""

    start: int
    end: int
    after: str
    rule: str


def settle(edits: Iterable[Edit]) -> list[Edit]:
    """Order edits and drop any that overlaps an earlier one; at the same place, keep the first in the input."""
    settled: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: edit.start):
        if not settled or edit.start >= settled[-1].end:
            settled.append(edit)
    return settled


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Apply ordered edits that do not overlap."""
    parts: list[str] = []
    place = 0
    for edit in edits:
        parts += (text[place : edit.start], edit.after)
        place = edit.end
    return "".join((*parts, text[place:]))


def compose(text: str, first: Sequence[Edit], second: Sequence[Edit]) -> list[Edit]:
    """Express a second round of edits, made on the text after the first, as one round on the text itself.

    Edits of the two rounds that meet become one edit under the first one's rule.
    """
    middle = apply(text, first)
    spans = [_Span(edit.start, edit.end, edit, late=True) for edit in second]
    shift = 0
    for edit in first:
        spans.append(_Span(edit.start + shift, edit.start + shift + len(edit.after), edit, late=False))
        shift += _growth(edit)
    composed: list[Edit] = []
    shift = 0
    for group in _groups(sorted(spans)):
        begin, end = group[0].begin, max(span.end for span in group)
        late = [span.edit._replace(start=span.begin - begin, end=span.end - begin) for span in group if span.late]
        early = [span.edit for span in group if not span.late]
        inside = sum(map(_growth, early))
        rule = early[0].rule if early else late[0].rule
        composed.append(Edit(begin - shift, end - shift - inside, apply(middle[begin:end], late), rule))
        shift += inside
    return [edit for edit in composed if text[edit.start : edit.end] != edit.after]


class _Span(NamedTuple):
    """Position of an edit, of either round, in the text between the two rounds."""

    begin: int
    end: int
    edit: Edit
    late: bool


def _groups(spans: Iterable[_Span]) -> list[list[_Span]]:
    """Group ordered spans that overlap, or that meet and belong to different rounds."""
    groups: list[list[_Span]] = []
    end, rounds = -1, {False}
    for span in spans:
        if span.begin < end or (span.begin == end and (not span.late) in rounds):
            groups[-1].append(span)
            rounds.add(span.late)
        else:
            groups.append([span])
            end, rounds = span.end, {span.late}
        end = max(end, span.end)
    return groups


def _growth(edit: Edit) -> int:
    """Number of characters by which an edit lengthens the text."""
    return len(edit.after) - (edit.end - edit.start)
