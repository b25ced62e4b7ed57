"""Words, clitics and marks of a text, with the sentence that each stands in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from equipoise.text.sentences import sentence_spans

TOKEN = re.compile(r"[^\W_]+n['’]t\b|[^\W_]+|['’](?:s|d|ll|re|ve|m)\b|\S", re.IGNORECASE)
"""A negated auxiliary, a word or number, a clitic, or one mark."""
CLOSING = " \n\t\"'”’)]"
"""What may stand after the mark that ends a sentence."""
ARTICLES = frozenset({"a", "an"})


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


def tokenise(text: str) -> list[Token]:
    """Split a text into tokens."""
    ranges = sentence_spans(text, longest=len(text) + 1)
    tokens: list[Token] = []
    sentence = 0
    for match in TOKEN.finditer(text):
        while sentence + 1 < len(ranges) and match.start() >= ranges[sentence + 1].start:
            sentence += 1
        tokens.append(Token(match.start(), match.end(), match[0], sentence))
    return tokens


def match_case(model: str, word: str) -> str:
    """Give a word the model's capital first letter, if it has one."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
