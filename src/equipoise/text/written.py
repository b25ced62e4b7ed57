"""The answer of a case's set that a written reply gives, read by meaning with the lexicon data/diagnoses.yaml.

The diagnosis that the reply names first counts, not one that it sets aside, that the patient had before, or that is one
of several alternatives. It is read as an answer of the set where it means the same as one of the answer's wordings:

- a more exact naming counts (`acute appendicitis`, `vascular dementia` for dementia), a broader one does not
  (`anaemia` for iron deficiency anaemia), unless the case lists it;
- a wording of a case that is broader than the answer's label counts only by itself: where `dementia` is accepted for
  Alzheimer's disease, `vascular dementia` is still another diagnosis;
- of answers that the same words name, that with the most of the words is meant: vestibular migraine, not migraine.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from equipoise.text.answer import Answer, AnswerKind
from equipoise.text.answers import Given
from equipoise.text.conclusions import REFUSAL, UNDECIDED
from equipoise.text.diagnoses import Diagnoses, Meaning
from equipoise.text.naming import TAIL, Named, final_diagnosis
from equipoise.text.patterns import caseless

ASKED = "Diagnosis: "
"""What a reply continues: the words that the model is given end in `diagnosis is`."""
WITHOUT = caseless(r"(?<!or )\bwithout\b[^,;.]*")
EITHER = caseless(r"\b(?:or|versus|vs)\b|/")
"""What separates alternatives, of which none is the diagnosis."""
NOT_NOW = caseless(
    r"\b(?:histor(?:y|ies)|previous(?:ly)?|prior|past|risks?|fears?|worr\w+|no|not|non|absen(?:t|ce)|negative|exclu\w+"
    r"|unlikely|mimic\w*|resolved|family|familial|rul(?:ed?|ing) out)\b"
)
"""What a name has of which the patient does not have the disease, or no longer."""
CAUSE = caseless(r"\b(?:due to|secondary to|caused by|resulting from|as a result of|from|related to)\b")
"""What leads to the disease behind a symptom."""


class _Wording(NamedTuple):
    """One wording of an answer of the set."""

    given: Given
    meaning: Meaning
    label: Meaning
    groups: frozenset[str]
    """All diagnoses that the answer's wordings name."""
    exact: bool
    """Whether it counts only by itself: it is broader than the label, or the lexicon does not know it."""


def read_written(text: str, answers: Mapping[AnswerKind, tuple[Answer, ...]], diagnoses: Diagnoses) -> Given:
    """Read the answer that a reply gives to the question for the single most likely diagnosis.

    Args:
        text: the part of the reply that its reader sees.
        answers: the case's set, by kind; any wording of an answer counts.
        diagnoses: the lexicon, which knows further wordings.

    Returns:
        the answer of the set that the named diagnosis means; `other` where it means none of them, `refusal` where the
        reply declines to answer and `unparsed` where it leaves the answer open.
    """
    return _given(text, _wordings(answers, diagnoses), diagnoses)


def misread(answers: Mapping[AnswerKind, tuple[Answer, ...]], diagnoses: Diagnoses) -> Iterator[tuple[str, str, str]]:
    """Give each wording of a case's answers that is not read as its own answer: label, wording and what is read."""
    wordings = _wordings(answers, diagnoses)
    for kind, group in answers.items():
        for answer in group:
            for wording in (answer.label, *answer.synonyms, *diagnoses.wordings(answer.label)):
                found = _given(wording, wordings, diagnoses)
                if found != Given(kind, answer.label):
                    yield answer.label, wording, found.label or found.kind


def _wordings(answers: Mapping[AnswerKind, tuple[Answer, ...]], diagnoses: Diagnoses) -> list[_Wording]:
    """Read the wordings of a case's answers."""
    found = []
    for kind, group in answers.items():
        for answer in group:
            meanings = [diagnoses.meaning(one) for one in (answer.label, *answer.synonyms)]
            label, groups = meanings[0], frozenset().union(*map(diagnoses.known, meanings))
            for one in meanings:
                broader = one.concepts < label.concepts or diagnoses.narrower(label, one)
                exact = one.concepts != label.concepts and (broader or not diagnoses.known(one))
                found.append(_Wording(Given(kind, answer.label), one, label, groups, exact=exact))
    return [one for one in found if one.meaning.concepts]


def _given(text: str, wordings: list[_Wording], diagnoses: Diagnoses) -> Given:
    """Read the answer of a set of wordings that a text gives."""
    text = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if not re.search(r"\w", text):
        return Given("unparsed")
    named = final_diagnosis(f"{ASKED}{WITHOUT.sub('', text)}")
    if named and (found := _read(named, wordings, diagnoses)):
        return found
    if REFUSAL.search(text):
        return Given("refusal")
    return Given("unparsed" if UNDECIDED.search(text) else "other")


def _read(named: Named, wordings: list[_Wording], diagnoses: Diagnoses) -> Given | None:
    """Read a diagnosis taken apart: as a whole, by what it names first, as glossed, or by the cause of a symptom."""
    whole = diagnoses.meaning(named.whole)
    if found := _same(whole, wordings, diagnoses):
        return found
    heads = [_one(part, named.whole, wordings, diagnoses) for part in named.joint]
    if len(heads) > 1 and EITHER.search(TAIL.split(named.whole)[0]):
        return heads[0] if len(set(heads)) == 1 else None
    if first := next(filter(None, heads), None):
        return first
    head = diagnoses.meaning(named.joint[0])
    if len(heads) == 1 and not named.tails:
        for gloss in named.glosses:
            meaning = diagnoses.meaning(TAIL.split(gloss)[0])
            unknown = not head.groups or diagnoses.shared(head, meaning) or diagnoses.akin(head, meaning)
            if unknown and (found := _same(meaning, wordings, diagnoses)):
                return found
    if not diagnoses.known(head):
        for cause in CAUSE.split(named.whole)[1:]:
            name = TAIL.split(cause)[0]
            if found := _one(name, name, wordings, diagnoses):
                return found
    return None


def _same(said: Meaning, wordings: list[_Wording], diagnoses: Diagnoses) -> Given | None:
    """Find the answer of which a wording means just what is said."""
    for one in wordings:
        if one.meaning.concepts == said.concepts and not diagnoses.opposed(said, one.label):
            return one.given
    return None


def _one(name: str, within: str, wordings: list[_Wording], diagnoses: Diagnoses) -> Given | None:
    """Find the answer that a name means: the same, else the one of which it is the most exact naming.

    What the name has `within` it, or is said to come with or from, makes it more exact: `a seizure due to alcohol
    withdrawal`.
    """
    head, whole = diagnoses.meaning(name), diagnoses.meaning(within)
    if found := _same(head, wordings, diagnoses):
        return found
    if NOT_NOW.search(within):
        return None
    fitting = [
        one
        for one in wordings
        if one.meaning.concepts <= (whole if diagnoses.shared(head, one.meaning) else head).concepts
        and not one.exact
        and not diagnoses.opposed(whole, one.label)
        # Another name may be part of the name of another disease; the label is the kind that the answer asks for.
        and (one.label.concepts <= whole.concepts or not diagnoses.known(head) - one.groups)
    ]
    return max(fitting, key=lambda one: len(one.meaning.concepts)).given if fitting else None
