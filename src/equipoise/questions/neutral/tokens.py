"""Words, clitics and marks of a text, with the sentence that each stands in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

TOKEN = re.compile(r"[^\W_]+n['’]t\b|[^\W_]+|['’](?:s|d|ll|re|ve|m)\b|\S", re.IGNORECASE)
"""A negated auxiliary, a word or number, a clitic, or one mark."""
# Dr., vs. and the like, initials (E. coli) and decimals end no sentence.
BREAK = re.compile(r"(?<!\b[A-Z])(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)(?<!\bSt)[.?!]+[\"'”’)\]]*\s+|\s*\n\s*")
CLOSING = " \n\t\"'”’)]"
"""What may stand after the mark that ends a sentence."""
ARTICLES = frozenset({"a", "an"})
# Sounds, not letters, choose the article.
CONSONANT_VOWELS = re.compile(r"(?:uni(?![dmn])|use|usu|uti|ure|uro|eu|one|once)", re.IGNORECASE)
VOWEL_NUMERALS = re.compile(r"(?:8\d*|1[18])(?!\d)")
SILENT = ("hour", "honest", "heir")


@dataclass(frozen=True)
class Token:
    """A word, clitic or mark: its half-open range, its text and the number of its sentence."""

    start: int
    end: int
    text: str
    sentence: int

    @cached_property
    def lower(self) -> str:
        """The text in lower case, with a straight apostrophe."""
        return self.text.lower().replace("’", "'")

    @property
    def is_word(self) -> bool:
        """Whether it begins with a letter or a digit."""
        return self.text[0].isalnum()


def sentences(text: str) -> list[tuple[int, int]]:
    """Half-open ranges of the sentences; a line break ends one, as in lists of laboratory values."""
    cuts = [0, *(match.end() for match in BREAK.finditer(text)), len(text)]
    return [(begin, end) for begin, end in pairwise(cuts) if text[begin:end].strip()]


def final_question(text: str) -> tuple[int, int]:
    """The range of the last sentence that ends in a question mark, else of the last; (0, 0) of a blank text."""
    ranges = sentences(text)
    asked = [(begin, end) for begin, end in ranges if text[begin:end].rstrip(CLOSING).endswith("?")]
    return (asked or ranges or [(0, 0)])[-1]


def tokenise(text: str) -> list[Token]:
    """Split a text into tokens."""
    ranges = sentences(text)
    tokens: list[Token] = []
    sentence = 0
    for match in TOKEN.finditer(text):
        while sentence + 1 < len(ranges) and match.start() >= ranges[sentence + 1][0]:
            sentence += 1
        tokens.append(Token(match.start(), match.end(), match[0], sentence))
    return tokens


def match_case(model: str, word: str) -> str:
    """Give a word the model's capital first letter, if it has one."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def article_for(word: str) -> str:
    """The indefinite article before a word or number."""
    if word[:1].isdigit():
        return "an" if VOWEL_NUMERALS.match(word) else "a"
    if word.lower().startswith(SILENT):
        return "an"
    return "an" if word[:1].lower() in set("aeiou") and not CONSONANT_VOWELS.match(word) else "a"
