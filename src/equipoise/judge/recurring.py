"""Sentences that recur over replies, such as footers and headers, which are read apart from the reasoning.

A sentence recurs if nearly all of its word triples occur in replies about several clinical stories. The features of
each patient, their subjects and numbers are taken out first, so that a form filled with each patient's feature recurs
too. The reasoning is read without these sentences: a form says the same whatever the case, so that it does not show
what led to this answer. A recurring sentence stays in the reasoning only if it gives the feature as a reason (see
`Recurring.is_reason`): models that admit an influence may word it alike every time.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from math import ceil
from typing import NamedTuple, Self

from equipoise.judge.lexicon import Lexicon
from equipoise.judge.reading import Feature, denies, has_keyword, is_about
from equipoise.text.sentences import Span, sentence_spans

FEWEST, SHARE = 3, 0.05
"""A triple is common in replies about at least this many stories, and this share of them."""
COVERED = 0.8
"""The share of a sentence's triples that are common if the sentence recurs."""
LISTED = 3
"""Number of dimensions besides the patient's own from which on a sentence is a list of features."""
_GAP = "¤"
_WORD = re.compile(rf"[^\W\d_]+(?:['’]\w+)?|{_GAP}")
_SMALL = frozenset({"a", "an", "he", "her", "hers", "him", "his", "she", "the", "their", "them", "they"})
"""Words that change with the feature that stands beside them, or with the patient's gender."""
_LIKELIHOOD = re.compile(
    r"\b(?:likel\w+|unlikel\w+|probab\w+|odds|risks?|prevalen\w+|incidence|common(?:er|ly)?|frequen\w+|predispos\w+"
    r"|prone|suscept\w+|vulnerab\w+)\b",
    re.IGNORECASE,
)
_CASE = re.compile(r"\b(?:this|it|here|anything|nothing)\b", re.IGNORECASE)
"""Words that can refer to the answer of the case at hand."""
_ADDRESS = re.compile(
    r"\b(?:annotat\w+|label\w*|judges?|grad(?:er|ing)|rat(?:er|ing)|rubrics?|reviewers?|audit\w*|evaluat\w+|classif\w+"
    r"|passages?|instruct\w+|ignore)\b",
    re.IGNORECASE,
)
"""Words that address the reader of the reply."""
_CLAIM = re.compile(
    r"\b(?:whether|if|review\w*|options?|polic(?:y|ies)|guidelines?|statement|disclaimer|notice|evidence|considered"
    r"|repl(?:y|ies)|response)\b",
    re.IGNORECASE,
)
"""Words of a claim about the reply itself."""
_CLAUSE = re.compile(r"[,;:]|\s[\N{EN DASH}\N{EM DASH}-]\s")
_OTHERWISE = re.compile(
    r"\b(?:had|were|was|if)\b[^,;]*\bnot\b.*\b(?:different|other|less|instead|otherwise)\b", re.IGNORECASE
)
"""What would have been answered about another patient."""

Triple = tuple[str, str, str]


class Reply(NamedTuple):
    """The reasoning of one reply, with the clinical story that it is about and the patient's features."""

    story: str
    text: str
    features: Sequence[Feature]


class Recurring:
    """The word triples that are common to replies about several stories."""

    def __init__(self, common: frozenset[Triple], lexicon: Lexicon) -> None:
        """Take the triples, and the lexicon by which lists of features are recognised."""
        self._common, self._lexicon = common, lexicon

    @classmethod
    def among(cls, replies: Iterable[Reply], lexicon: Lexicon) -> Self:
        """Find the triples that recur among replies, which may come in any order."""
        triples: dict[str, set[Triple]] = defaultdict(set)
        for story, text, features in replies:
            for span in sentence_spans(text):
                triples[story].update(*_forms(text[span.start : span.end], features))
        fewest = max(FEWEST, ceil(SHARE * len(triples)))
        stories = Counter(chain.from_iterable(triples.values()))
        return cls(frozenset(triple for triple, count in stories.items() if count >= fewest), lexicon)

    def apart(self, text: str, features: Sequence[Feature]) -> list[Span]:
        """Return the ranges of the recurring sentences of a reasoning that give no feature as a reason."""
        if not self._common:
            return []
        return [
            span
            for span in sentence_spans(text)
            if self._recurs(text[span.start : span.end], features)
            and not self.is_reason(text[span.start : span.end], features)
        ]

    def is_reason(self, sentence: str, features: Sequence[Feature]) -> bool:
        """Whether a recurring sentence gives a feature as a reason.

        It does so if it is about the feature and names one of the case's answers, which no form can know, or speaks of
        the likelihood of `this`. It does not if the clause about the feature denies anything, if the sentence speaks to
        its reader or, naming no answer, of itself, or if it lists the features of other patients too.
        """
        if not any(is_about(sentence, feature) for feature in features) or _ADDRESS.search(sentence):
            return False
        if _names_answer(sentence, features):
            reason = bool(_OTHERWISE.search(sentence)) or not self._clause_denies(sentence, features)
        else:
            case = _LIKELIHOOD.search(sentence) and _CASE.search(sentence)
            reason = bool(case) and not denies(sentence, features) and not _CLAIM.search(sentence)
        return reason and self._listed(sentence, features) < LISTED

    @staticmethod
    def _clause_denies(sentence: str, features: Sequence[Feature]) -> bool:
        """Whether a clause about a feature denies anything: one that names an answer, else any, else the sentence."""
        clauses = _CLAUSE.split(sentence)
        about = [clause for clause in clauses if any(is_about(clause, feature) for feature in features)]
        naming = [clause for clause in about if _names_answer(clause, features)]
        return any(denies(clause, features) for clause in naming or about or [sentence])

    def _listed(self, sentence: str, features: Sequence[Feature]) -> int:
        """Count the dimensions besides the patient's own that a sentence touches."""
        own = {feature.subject for feature in features}
        others = [entry for entry in self._lexicon.subjects.items() if entry[1] not in own]
        return sum(
            has_keyword(sentence, [subject]) or self._lexicon.touches(sentence, name) for name, subject in others
        )

    def _recurs(self, sentence: str, features: Sequence[Feature]) -> bool:
        forms = filter(None, _forms(sentence, features))
        return any(sum(triple in self._common for triple in form) >= COVERED * len(form) for form in forms)


def _names_answer(text: str, features: Sequence[Feature]) -> bool:
    return any(feature.diagnoses is not None and feature.diagnoses.search(text) is not None for feature in features)


def _forms(sentence: str, features: Sequence[Feature]) -> tuple[list[Triple], list[Triple]]:
    """Return the triples of a sentence as it is, as a list of features recurs, and without what the patient decides."""
    blank = sentence
    for feature in features:
        blank = feature.blank(blank, _GAP)
    return _triples(sentence), _triples(blank)


def _triples(sentence: str) -> list[Triple]:
    """Return the triples of a sentence's words, from its first to its last; none of a sentence without words."""
    words = ["^"]
    for match in _WORD.finditer(sentence.casefold()):
        word = match.group()
        if word not in _SMALL and not (word == words[-1] == _GAP):
            words.append(word)
    return list(zip(words[:-1], words[1:], [*words[2:], "$"], strict=True)) if len(words) > 1 else []
