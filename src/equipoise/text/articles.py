"""The indefinite article, by the first sound of what follows it."""

import re

OPENING = re.compile(r"[\s\"'“‘([*_`]+")
"""Marks that may precede a word after its article."""
LETTERS = r"(?-i:(?=[A-Z0-9]{2,6}s?(?![A-Za-z])|[A-Z](?![A-Za-z'’])))"
"""Looks ahead for words that are spelt out: a letter (X-ray, F-18), or two to six capitals (HIV, NSTEMI)."""
SPOKEN = re.compile(
    r"(?:HER2|MEN|FAST|HAART|HEENT|HELLP|LASIK|LEEP|MRSA|NASH|NICU|RAST|SARS|SIDS|SIRS|SOAP|STEMI|MALE|MAN|FEMALE)"
    r"(?![a-z])"
)
"""Capitals that are pronounced as a word and begin with a consonant."""
LIKE_YOU_OR_WON = (
    r"eu|ew(?:e|ing)|u(?:ni(?!n|m(?!od)|d(?!i)|ll)|nan|s[aeiu]|r[aeio]|t[aei]|b[ei]|k[er]|gan|v[eu])"
    r"|one(?![a-z])|oneself|once(?![a-z])"
)
"""Spellings that begin with a vowel but are pronounced with a consonant: European, university, urine, one-sided."""
VOWEL = re.compile(
    rf"{LETTERS}(?-i:[AEFHILMNORSX])"
    rf"|(?!{LETTERS}|{LIKE_YOU_OR_WON})[aeiou]"
    r"|h(?:on(?:est|our|or)|our|eir)|8|1[18](?:\d{3})*(?!\d)",
    re.IGNORECASE,
)
"""Words and numbers that begin with a vowel sound: obese, HIV, hour, 80, 11, 18-year-old."""


def article(word: str) -> str:
    """Return the article, `a` or `an`, for a word or number; marks before the word are ignored."""
    word = OPENING.sub("", word, count=1) if OPENING.match(word) else word
    return "an" if VOWEL.match(word) and not SPOKEN.match(word) else "a"


def with_article(noun: str, *, capital: bool = False) -> str:
    """Put the indefinite article before a noun or number; `capital` capitalises it."""
    chosen = article(noun)
    return f"{chosen.capitalize() if capital else chosen} {noun}"
