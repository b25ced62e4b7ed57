"""Patterns that find race and income words where they describe a person."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.questions.neutral.patterns import alternatives

if TYPE_CHECKING:
    from equipoise.questions.neutral.lexicon import Nouns, Race, Ses, Verbs

AGE = r"\d+(?:\.\d+)?[\s-]*(?:year|month|week|day)s?[\s-]*old"
LINK = r"(?:is|was|are|were|has\s+been|had\s+been)(?:\s+\w+ly)?"
ADJECTIVE = (
    r"(?!(?:blood|cell|coat|lung|market|matter|plaque|powder|stool|tar|widow)s?\b)"
    r"(?:[^\W_]+(?:[-‐–][^\W_]+)+|(?-i:[A-Z][A-Z0-9]{1,5})(?![a-z])|\w{3,}(?:ed|ive|ic|ous|al|ant|ent|less))"
)
"""What describes a person by its form: a compound (HIV-positive, 80-kg), an acronym (COPD), an ending (hypertensive).

Not what makes a thing of a colour: white blood-cell, black tar.
"""
UNCLEAR = frozenset({"poor", "rich"})
"""Words of income that also tell how much there is (a poor R-wave): only listed words may follow these."""
HE = r"(?:he|she|they)"
"""Subjects whose sentence may be dropped whole."""


@dataclass(frozen=True)
class Descriptions:
    """The patterns; a match's group `race` or `ses` names the rule."""

    sentence: re.Pattern[str]
    """A sentence that says nothing else ("He is homeless.")."""
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
    """What is left of income words: after a verb ("has been homeless for"), or as phrases of their own."""

    @classmethod
    def of(cls, nouns: Nouns, verbs: Verbs, race: Race, ses: Ses) -> Descriptions:
        """Compile the word lists."""
        races, incomes = alternatives(race.terms | race.adjectives), alternatives(ses.adjectives)
        people = nouns.persons | nouns.adjective.keys()
        clear, unclear = alternatives(ses.adjectives - UNCLEAR), alternatives(UNCLEAR)
        known = rf"{AGE}|{races}|{incomes}|{alternatives(nouns.qualities)}"
        listed, between = (rf"(?:[\s,]+(?:and\s+|or\s+)?(?:{one}))*[\s,-]+" for one in (known, rf"{known}|{ADJECTIVE}"))
        someone = alternatives(people | ses.places)
        origin = rf"of\s+{races}(?:(?:\s*,\s*|\s+(?:and|or)\s+|\s+){races})*\s+{alternatives(race.origins)}"
        said = rf"(?:(?P<ses>{alternatives(ses.predicates)})|(?P<race>{alternatives(race.terms)}|{origin}))"
        attached = rf"(?:{alternatives(ses.attached)}|who\s+{LINK}\s+{alternatives(ses.predicates)})"
        subject = rf"(?:{HE}|the\s+(?:patient|man|woman|boy|girl))"
        verb = rf"(?:\w+ly\s+)?{alternatives(verbs.coordinated | verbs.finite)}"
        return cls(
            sentence=_compile(rf"(?<![^\s]){subject}\s+{LINK}\s+{said}\s*\.(?:\s+|$)"),
            joined=_compile(rf"(?<=\s){LINK}\s+{said},?\s+and\s+(?={verb})"),
            before_noun=_compile(
                rf"(?:(?P<race>{races})(?={between}{alternatives(people)})"
                rf"|(?P<ses>{clear}(?={between}{someone})|{unclear}(?={listed}{someone})))"
                rf"(?:\s*,)?(?:\s+(?:and|or))?\s+"
            ),
            origin=_compile(rf",\s+who\s+(?:is|was)\s+{origin},?|\s+(?:who\s+(?:is|was)\s+)?{origin}"),
            as_noun=_compile(rf"(?<![\w-])(?P<race>{alternatives(t + end for t in race.terms for end in ('', 's'))})"),
            attached=_compile(rf",\s+{attached},?(?=\s)|\s+{attached}"),
            stated=_compile(
                rf"(?:(?<=\bis\s)|(?<=\bbe\s)|(?<=\bbeen\s)|(?<=\bwas\s)|(?<=ly\s))(?P<ses>{alternatives(ses.predicates)})"
                rf"|(?P<rewrite>{alternatives(ses.rewrites)})"
            ),
        )


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
