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
