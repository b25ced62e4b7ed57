"""What the readers share: patterns that ignore case, what a pattern passes over, and Unicode in one form."""

import re
import unicodedata
from typing import Literal

MARKS = 30
"""Combining marks in a row of which the rest are dropped, as many as the stream-safe text format of UAX #15 allows."""


def caseless(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern that takes capitals and small letters for the same."""
    return re.compile(pattern, flags | re.IGNORECASE)


def past(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Where what a pattern passes over ends; its start where it passes over nothing."""
    found = pattern.match(text, start, end)
    return found.end() if found else start


def normalised(text: str, form: Literal["NFKC", "NFKD"]) -> str:
    """A text in one form of Unicode; a long run of combining marks is cut, since sorting it would take the square."""
    if text.isascii():
        return text
    kept: list[str] = []
    run = 0
    for one in text:
        run = run + 1 if unicodedata.combining(one) else 0
        if run <= MARKS:
            kept.append(one)
    return unicodedata.normalize(form, "".join(kept))
