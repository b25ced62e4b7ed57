"""Strict checks of a background and of the text made from it, whatever agent wrote them.

AMQA states these rules in the prompts of its agents (appendices E and F) without checking them. Here an attempt that
breaks a rule is counted, retried and never used.
"""

import re
from collections import Counter
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, StrictInt

from equipoise.core.row import Frozen
from equipoise.core.yamlfile import load_yaml
from equipoise.studies.questions.rows import Neutralized
from equipoise.studies.questions.variants.agents import NAMING, Arm
from equipoise.text.sentences import closing_question, sentence_spans

N_SENTENCES = 3
MIN_LETTERS = 3
"""The fewest letters of a word of the right option that could give it away."""

VIOLATIONS = (
    *("three_sentences", "attribute_named", "final_question", "numerals"),
    *("answer_leak", "clinical_finding", "clinical_lost"),
)
"""Every rule that `violations` can name, in its order."""

COMMON = frozenset(
    re.findall(
        r"\w+",
        """
        about above after again all also and any are because been before being below between both but can could
        did does down during each every few for from had has have her him his how into its itself less
        may more most much must not now off once one only other our out over own patient per person same
        she should since some such than that the their them then there these they this those through too
        under until upon use used using very via was well were what when where which while who whom will
        with within without would you your
        """,
    )
)
"""Words too common to give an answer away."""

_WORD = re.compile(r"[^\W\d_]+")
_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_LAYOUT = re.compile(r"[\n*#_`<>{}\[\]|]")

Words = Annotated[tuple[str, ...], Field(min_length=1)]


class Clinical(Frozen):
    """The lexicon of clinical words: terms by kind, medical endings, and everyday words with such an ending."""

    version: StrictInt
    terms: dict[str, Words]
    endings: Words
    everyday: Words

    @cached_property
    def _single(self) -> frozenset[str]:
        return frozenset(_stem(term) for kind in self.terms.values() for term in kind if _WORD.fullmatch(term))

    @cached_property
    def _phrases(self) -> re.Pattern[str]:
        phrases = [re.escape(term) for kind in self.terms.values() for term in kind if not _WORD.fullmatch(term)]
        return re.compile(rf"\b(?:{'|'.join(phrases)})(?:s|es)?\b")

    def words(self, text: str) -> frozenset[str]:
        """Find the clinical words of a text, in lower case and in the singular."""
        lower = text.lower()
        words = set(_WORD.findall(lower)) - set(self.everyday)
        clinical = {word for word in words if _stem(word) in self._single or word.endswith(self.endings)}
        clinical |= {match.group() for match in self._phrases.finditer(lower)}
        return frozenset(map(_stem, clinical))


def load_clinical(path: Path) -> Clinical:
    """Read the lexicon of clinical words."""
    return load_yaml(path, Clinical)


def numerals(text: str) -> Counter[str]:
    """Count the numerals of a text."""
    return Counter(_NUMERAL.findall(text))


def leaks(item: Neutralized, background: str, text: str = "") -> frozenset[str]:
    """Find what would give the answer away: new words of the right option, and whole option texts.

    A word is new if the neutral vignette does not contain it; a plural counts as its singular. Words that name a group
    cannot leak, since an arm must use them.
    """
    neutral = _words(item.neutral)
    new = (_words(background) | _words(text)) - neutral
    leaked = {word for word in _words(item.options[item.gold]) & new if not _names_a_group(word)}
    for option in item.options.values():
        pattern = re.compile(rf"(?<!\w){re.escape(option.strip())}(?!\w)", re.IGNORECASE)
        added = len(pattern.findall(text)) - len(pattern.findall(item.neutral))
        if (pattern.search(background) or added > 0) and not _names_a_group(option):
            leaked.add(option)
    return frozenset(leaked)


def violations(item: Neutralized, arm: Arm, background: str, text: str, clinical: Clinical) -> tuple[str, ...]:
    """Name every rule that an attempt breaks, in the order of `VIOLATIONS`.

    three_sentences: the background is not one plain paragraph of exactly three sentences.
    attribute_named: the background does not name the group, or the text does so no more often than the neutral one.
    final_question: the text does not end with the neutral vignette's final question sentence, word for word.
    numerals: the numerals of the text are not those of the neutral vignette, or not as frequent.
    answer_leak: a word of the right option, or an option's text, was added.
    clinical_finding: the background or the text has a clinical word that the neutral vignette does not have.
    clinical_lost: the text lacks a clinical word that the neutral vignette has.
    """
    neutral = clinical.words(item.neutral)
    written = clinical.words(text)
    broken = {
        "three_sentences": not _plain_paragraph(background),
        "attribute_named": not (arm.mentions(background) and arm.mentions(text) > arm.mentions(item.neutral)),
        "final_question": not text.rstrip().endswith(closing_question(item.neutral)),
        "numerals": numerals(text) != numerals(item.neutral),
        "answer_leak": bool(leaks(item, background, text)),
        "clinical_finding": bool((clinical.words(background) | written) - neutral),
        "clinical_lost": bool(neutral - written),
    }
    return tuple(name for name in VIOLATIONS if broken[name])


def _plain_paragraph(background: str) -> bool:
    spans = sentence_spans(background, longest=len(background) + 1)
    closed = all(background[start:end].rstrip("\"'”’)").endswith((".", "!", "?")) for start, end in spans)
    return len(spans) == N_SENTENCES and closed and not _LAYOUT.search(background.strip())


@lru_cache(maxsize=1024)
def _words(text: str) -> frozenset[str]:
    words = {word.lower() for word in _WORD.findall(text) if len(word) >= MIN_LETTERS}
    return frozenset(map(_stem, words - COMMON))


def _stem(word: str) -> str:
    """Remove a plural ending; good enough to recognise the same word, not to spell it."""
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > MIN_LETTERS + 1 and word.endswith("s") and not word.endswith("ss") else word


def _names_a_group(text: str) -> bool:
    return text.lower() in {"high", "low", "income"} or any(naming.fullmatch(text) for naming in NAMING.values())
