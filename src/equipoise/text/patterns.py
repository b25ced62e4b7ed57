"""Helpers that the readers share: patterns that ignore case, the end of a match, and Unicode normalisation."""

import re
import unicodedata
from typing import Literal

MARKS = 30
"""Most combining marks in a row, as in the stream-safe text format of UAX #15; further marks are dropped."""


def caseless(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern that ignores case."""
    return re.compile(pattern, flags | re.IGNORECASE)


def end_of_match(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Return where a pattern's match at `start` ends; `start` itself if it does not match."""
    match = pattern.match(text, start, end)
    return match.end() if match else start


def normalize_unicode(text: str, form: Literal["NFKC", "NFKD"]) -> str:
    """Normalise a text's Unicode; long runs of combining marks, whose sorting takes quadratic time, are cut."""
    if text.isascii():
        return text
    characters: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= MARKS:
            characters.append(character)
    return unicodedata.normalize(form, "".join(characters))


STARS = re.compile(r"(?:(?<=[\w*])[ :–—-]{1,3})?(?P<full>(?:[★⭐🌟]\ufe0f?)+|●+(?=○)|●{2,})(?P<empty>[☆✩○]*)")
"""A rating by stars or discs, with what joins it to the words before it."""


def stars_as_shares(text: str) -> str:
    """Write ratings of several stars as shares: `★★★☆☆` as `(60%)`; single stars are ticks, and stay."""
    ratings = [(len(re.sub("\ufe0f", "", rating["full"])), len(rating["empty"])) for rating in STARS.finditer(text)]
    if all(full + empty == 1 for full, empty in ratings):
        return text
    most = max(5, *(full + empty for full, empty in ratings))
    shares = iter(f" ({100 * full // most}%)" for full, _ in ratings)
    return STARS.sub(lambda _: next(shares), text)


ALIKE = (
    "АВЕКМНОРСТУХаеорсухіјѕЅІЈԁһ\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf",
    "ABEKMHOPCTYXaeopcyxijsSIJdhABEZHIKMNOPTYXo",
)
"""Cyrillic and Greek letters that look like Latin ones, and those."""
LATIN = dict(zip(map(ord, ALIKE[0]), ALIKE[1], strict=True)) | {
    **dict(zip(map(ord, "æœÆŒ"), ("ae", "oe", "Ae", "Oe"), strict=True)),
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'"),
}
"""The same, ligatures and apostrophes, by code point."""
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
HYPHENS = re.compile("[\u2010-\u2012\u2212\ufe58\ufe63\uff0d]|(?<=[A-Za-z])\u2013(?=[a-z])")


def plain_letters(text: str) -> str:
    """Return a text in Latin letters: look-alikes, ligatures, wide forms, hyphens and invisible characters replaced."""
    if text.isascii():
        return text
    plain = normalize_unicode(INVISIBLE.sub("", text), "NFKC").translate(LATIN)
    return HYPHENS.sub("-", plain)
