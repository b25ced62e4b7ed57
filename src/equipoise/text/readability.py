"""Readability of a text."""

import re

from equipoise.text.sentences import sentence_spans

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_VOWELS = re.compile(r"[aeiouyáéèêëïöüç]+")


def reading_grade(text: str) -> float:
    """Return the Flesch-Kincaid grade level, in years of school; 0 for a text without words.

    0.39 words / sentences + 11.8 syllables / words - 15.59 (Kincaid et al. 1975, Research Branch Report 8-75).
    """
    words = _WORD.findall(text)
    if not words:
        return 0.0
    sentences = len(sentence_spans(text, longest=len(text) + 1))
    return 0.39 * len(words) / sentences + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def syllables(word: str) -> int:
    """Estimate the syllables of an English word: its groups of vowels without a silent final e, and at least one."""
    word = word.casefold()
    groups = len(_VOWELS.findall(word))
    silent = word.endswith("e") and not re.search(r"[aeiouy]e$|[^aeiouy]le$", word)
    return max(1, groups - silent)
