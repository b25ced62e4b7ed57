"""Race, income, title and two-gender phrases: the edits that need no reading of the sentence around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from equipoise.questions.neutral.edits import Edit
from equipoise.questions.neutral.tokens import match_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equipoise.questions.neutral.lexicon import Lexicon

NEXT_WORD = re.compile(r"\s*([\w'’-]*)")
BOTH_SEXES = re.compile(r"\b(?:male\s+(?:and|or)\s+female|female\s+(?:and|or)\s+male)\s+(?=\w)", re.IGNORECASE)
NAME = r"\.?\s+(?-i:[A-Z][\w'’]*(?:-[A-Z]\w*)?(?:\s+(?!(?:Is|Has|Was)\b)[A-Z][a-z]+)?)"


def description_edits(text: str, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield edits in order of precedence; those that overlap an earlier one are to be dropped."""
    patterns = lexicon.descriptions
    for pattern in (patterns.sentence, patterns.joined, patterns.before_noun):
        for match in pattern.finditer(text):
            if not (pattern is patterns.sentence and re.search(r"\d", match[0])):
                yield _dropped(text, match.start(), match.end(), _rule(match))
    for match in patterns.origin.finditer(text):
        predicate = re.search(r"\b(?:is|was|are|were|be|been)$", text[: match.start()])
        yield Edit(match.start(), match.end(), " a patient" if predicate else "", "race")
    yield from (Edit(*match.span(), "", "ses") for match in patterns.attached.finditer(text))
    for match in patterns.as_noun.finditer(text):
        yield _noun(text, match, lexicon)
    for match in patterns.stated.finditer(text):
        phrase = re.sub(r"\s+", " ", match[0].lower()).replace("’", "'")
        yield Edit(
            match.start(),
            match.end(),
            match_case(match[0], lexicon.ses.rewrites.get(phrase, lexicon.ses.filler)),
            "ses",
        )


def phrase_edits(text: str, lexicon: Lexicon) -> Iterator[Edit]:
    """Yield edits of titles with names, gendered trades, and phrases of two genders."""
    for match in re.finditer(rf"\b(?:{'|'.join(sorted(lexicon.nouns.titles))})(?:{NAME}|\.)", text, re.IGNORECASE):
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


def _rule(match: re.Match[str]) -> str:
    return "ses" if match["ses"] else "race"


def _opening(text: str, place: int) -> str:
    """A capital letter where the place begins a sentence, else a small one: a model for `match_case`."""
    return "A" if not text[:place].strip() or re.search(r"[.?!:][\"'”’)]*\s+$|\n\s*$", text[:place]) else "a"


def _dropped(text: str, start: int, end: int, rule: str) -> Edit:
    """Drop a range; where it began with a capital letter, the next word takes it over."""
    following = text[end : end + 1]
    if text[start].isupper() and following.islower() and _opening(text, start) == "A":
        return Edit(start, end + 1, following.upper(), rule)
    return Edit(start, end, "", rule)


def _noun(text: str, match: re.Match[str], lexicon: Lexicon) -> Edit:
    """A race word that is a noun becomes a person; before any other noun it is dropped."""
    following = NEXT_WORD.match(text, match.end())
    word = following[1].lower() if following else ""
    closed = lexicon.pronouns.not_modified | lexicon.verbs.coordinated | lexicon.verbs.finite
    if word and word not in closed and not word.endswith(("ed", "ing")):
        return _dropped(text, match.start(), match.end() + 1, "race")
    if match[0].lower().endswith("s"):
        return Edit(match.start(), match.end(), match_case(_opening(text, match.start()), "people"), "race")
    before = text[: match.start()].split()[-1:] or [""]
    article = "a " if before[0].lower() in {"is", "was", "as", "be", "been", "are", "were"} else ""
    return Edit(match.start(), match.end(), match_case(_opening(text, match.start()), f"{article}patient"), "race")
