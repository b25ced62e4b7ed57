"""Rewrite names of diagnoses, and the phrases around them, in English, so that one set of rules reads every language.

The tables are in the lexicon data/diagnoses.yaml. Words that are not listed stay as they are.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from equipoise.text.patterns import caseless, normalize_unicode, plain_letters

IDEOGRAPHS = "\u3400-\u9fff"
IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")
SPACED_STOP = re.compile(r"(?<=\w)[ ](?=[.,;:!?)])")
ENGLISH = caseless(r"\b(?:the|is|are|of|with|and|this|not|was|has|it|by|to|for)\b")
"""Words of an English text, in which a name alone does not tell a language."""
SENTENCE = re.compile(r"(?<=[.!?])\s+[a-z]")
STOPS = str.maketrans({"。": ". ", "、": ", ", "【": "(", "】": ") ", "「": '"', "」": '"'})
SHORTEST_FOLDED = 3
"""Letters from which a word is also read without its accents: `é` and `e` differ."""


class Translator:
    """Replaces wordings by their English ones."""

    def __init__(
        self, names: Mapping[str, Sequence[str]], phrases: Mapping[str, Mapping[str, Sequence[str]]], cues: str
    ) -> None:
        """Compile the tables.

        Args:
            names: The wordings of each diagnosis, by its English name.
            phrases: For each language, the phrases by their English wording.
            cues: The row of a language's phrases that tell that a text is in it.
        """
        self._names = _Table(names)
        self._languages = [
            (_Table({cues: rows[cues]}), _Table({english: own for english, own in rows.items() if english != cues}))
            for rows in phrases.values()
        ]

    def to_english(self, text: str) -> str:
        """Rewrite a text's names, and the phrases of the language of which it has the most cues."""
        named = self._names.replace(text)
        is_foreign = named != text and not ENGLISH.search(text)
        counts = [table.count(named) if cues.count(named) or is_foreign else 0 for cues, table in self._languages]
        if any(counts):
            named = self._languages[counts.index(max(counts))][1].replace(named.translate(STOPS))
            if IDEOGRAPH.search(text):
                named = SENTENCE.sub(lambda first: first[0].upper(), named)
        return named


class _Table:
    """Wordings and what each becomes; the longest that matches counts."""

    def __init__(self, rows: Mapping[str, Iterable[str]]) -> None:
        self._english = {
            key: english
            for english, own in rows.items()
            for wording in own
            for key in _keys(plain_letters(wording).lower())
        }
        # The longest first; by their first letter, so that few are tried at each place.
        longest = sorted(self._english, key=len, reverse=True)
        ideographs = [wording for wording in longest if IDEOGRAPH.search(wording)]
        letters = {
            wording[0]: [other for other in longest if other[0] == wording[0]]
            for wording in longest
            if wording not in ideographs
        }
        groups = [f"(?={re.escape(letter)})(?:{'|'.join(map(_expression, own))})" for letter, own in letters.items()]
        alternatives = [rf"(?<![^\W\d_])(?:{'|'.join(groups)})"] if groups else []
        if ideographs:
            alternatives.append(f"(?=[{IDEOGRAPHS}A-Za-z])(?:{'|'.join(map(_expression, ideographs))})")
        self._pattern = caseless("|".join(alternatives))

    def count(self, text: str) -> int:
        """Return the number of letters in a text's matches."""
        return sum(len(match[0]) for match in self._pattern.finditer(text))

    def replace(self, text: str) -> str:
        return SPACED_STOP.sub("", self._pattern.sub(self._english_of, text)) if self._pattern.search(text) else text

    def _english_of(self, match: re.Match[str]) -> str:
        english = self._english[_key(match[0])]
        if match[0][0].isupper():
            # A sentence begins with a capital.
            english = english[0].upper() + english[1:]
        return f" {english} " if IDEOGRAPH.search(match[0]) else f"{english} " if match[0].endswith("'") else english


def _keys(wording: str) -> set[str]:
    return {
        _key(wording),
        _key(wording.replace("-", "")),
        _key(_fold(wording) if len(wording) >= SHORTEST_FOLDED else wording),
    }


def _key(wording: str) -> str:
    return re.sub(r"[\s\-]+", " ", wording.lower()).strip()


def _fold(text: str) -> str:
    return "".join(normalize_unicode(character, "NFKD")[0] for character in text)


def _expression(wording: str) -> str:
    """Match a wording, with spaces or hyphens between its words, that is not part of a longer word."""
    words = r"[\s\-]+".join(map(re.escape, wording.split(" ")))
    if IDEOGRAPH.search(wording):
        return words
    end = "" if wording.endswith("'") else r"(?![^\W\d_])"
    return f"{words}{end}"
