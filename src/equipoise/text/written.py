"""Read a written reply's answer from a case's set by meaning, with the lexicon data/diagnoses.yaml.

The diagnosis that the reply names first counts, not one that it sets aside, that the patient had before, or that is one
of several alternatives. It is read as an answer of the set if it means the same as one of the answer's wordings:

- a more exact name counts (`acute appendicitis`, `vascular dementia` for dementia), a broader one does not
  (`anaemia` for iron deficiency anaemia), unless the case lists it;
- a case's wording that is broader than the answer's label counts only by itself: if `dementia` is accepted for
  Alzheimer's disease, `vascular dementia` is still another diagnosis;
- if the same words name several answers, the answer with the most of these words is meant: vestibular migraine, not
  migraine.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from equipoise.text.answer import AnswerSet
from equipoise.text.answers import Given
from equipoise.text.conclusions import REFUSAL, UNDECIDED
from equipoise.text.diagnoses import Diagnoses, Meaning
from equipoise.text.naming import TAIL, Named, final_diagnosis
from equipoise.text.patterns import caseless, plain_letters

ASKED = "Diagnosis: "
"""Text that a reply continues: the model's prompt ends in `diagnosis is`."""
WITHOUT = caseless(r"(?<!or )\bwithout\b[^,;.]*")
EITHER = caseless(r"\b(?:or|versus|vs)\b|/")
"""Separators of alternatives, none of which is the diagnosis."""
NOT_NOW = caseless(
    r"\b(?:histor(?:y|ies)|previous(?:ly)?|prior|past|risks?|fears?|worr\w+|no|not|non|absen(?:t|ce)|negative|exclu\w+"
    r"|unlikely|mimic\w*|resolved|family|familial|rul(?:ed?|ing) out)\b"
)
"""Words of a name for a disease that the patient does not have, or no longer has."""
CAUSE = caseless(r"\b(?:due to|secondary to|caused by|resulting from|as a result of|from|related to)\b")
"""Words that introduce the disease behind a symptom."""


class _Wording(NamedTuple):
    """One wording of an answer of the set."""

    given: Given
    meaning: Meaning
    label: Meaning
    groups: frozenset[str]
    """All diagnoses that the answer's wordings name."""
    exact: bool
    """Whether it counts only by itself: it is broader than the label, or not in the lexicon."""


def read_written(text: str, answers: AnswerSet, diagnoses: Diagnoses) -> Given:
    """Read a reply's answer to the question for the single most likely diagnosis.

    Args:
        text: The part of the reply that its reader sees.
        answers: The case's set, by kind; any wording of an answer counts.
        diagnoses: The lexicon, which has further wordings.

    Returns:
        The answer of the set that the named diagnosis means; `other` if it means none of them, `refusal` if the reply
        declines to answer and `unparsed` if it leaves the answer open.
    """
    return _read_answer(text, _wordings(answers, diagnoses), diagnoses)


def misread_wordings(answers: AnswerSet, diagnoses: Diagnoses) -> Iterator[tuple[str, str, str]]:
    """Yield the wordings of a case's answers that are not read as their own answer: label, wording and reading."""
    wordings = _wordings(answers, diagnoses)
    for kind, group in answers.items():
        for answer in group:
            for wording in (answer.label, *answer.synonyms, *diagnoses.wordings(answer.label)):
                reading = _read_answer(wording, wordings, diagnoses)
                if reading != Given(kind, answer.label):
                    yield answer.label, wording, reading.label or reading.kind


def _wordings(answers: AnswerSet, diagnoses: Diagnoses) -> list[_Wording]:
    """Read the wordings of a case's answers."""
    wordings = []
    for kind, group in answers.items():
        for answer in group:
            meanings = [diagnoses.meaning(wording) for wording in (answer.label, *answer.synonyms)]
            label, groups = meanings[0], frozenset().union(*map(diagnoses.diagnoses_in, meanings))
            for meaning in meanings:
                broader = meaning.concepts < label.concepts or diagnoses.is_narrower(label, meaning)
                exact = meaning.concepts != label.concepts and (broader or not diagnoses.diagnoses_in(meaning))
                wordings.append(_Wording(Given(kind, answer.label), meaning, label, groups, exact=exact))
    return [wording for wording in wordings if wording.meaning.concepts]


def _read_answer(text: str, wordings: list[_Wording], diagnoses: Diagnoses) -> Given:
    """Read a text's answer from a set of wordings."""
    text = plain_letters(text)
    if not re.search(r"\w", text):
        return Given("unparsed")
    named = final_diagnosis(f"{ASKED}{WITHOUT.sub('', text)}")
    if named and (reading := _read_named(named, wordings, diagnoses)):
        return reading
    if REFUSAL.search(text):
        return Given("refusal")
    return Given("unparsed" if UNDECIDED.search(text) else "other")


def _read_named(named: Named, wordings: list[_Wording], diagnoses: Diagnoses) -> Given | None:
    """Read a split diagnosis: as a whole, by its first name, by a gloss, or by the cause of a symptom."""
    whole = diagnoses.meaning(named.whole)
    if reading := _same_answer(whole, wordings, diagnoses):
        return reading
    heads = [_most_exact(part, named.whole, wordings, diagnoses) for part in named.joint]
    if len(heads) > 1 and EITHER.search(TAIL.split(named.whole)[0]):
        return heads[0] if len(set(heads)) == 1 else None
    if first := next(filter(None, heads), None):
        return first
    head = diagnoses.meaning(named.joint[0])
    if len(heads) == 1 and not named.tails:
        for gloss in named.glosses:
            meaning = diagnoses.meaning(TAIL.split(gloss)[0])
            if diagnoses.may_gloss(head, meaning) and (reading := _same_answer(meaning, wordings, diagnoses)):
                return reading
    if not diagnoses.diagnoses_in(head):
        for cause in CAUSE.split(named.whole)[1:]:
            name = TAIL.split(cause)[0]
            if reading := _most_exact(name, name, wordings, diagnoses):
                return reading
    return None


def _same_answer(meaning: Meaning, wordings: list[_Wording], diagnoses: Diagnoses) -> Given | None:
    """Find the answer with a wording of exactly this meaning."""
    for wording in wordings:
        if wording.meaning.concepts == meaning.concepts and not diagnoses.are_opposed(meaning, wording.label):
            return wording.given
    return None


def _most_exact(name: str, within: str, wordings: list[_Wording], diagnoses: Diagnoses) -> Given | None:
    """Find the answer that a name means: the same diagnosis, else the most specific one that includes it.

    `within` is the whole name, whose other parts make it more exact: `a seizure due to alcohol withdrawal`.
    """
    head, whole = diagnoses.meaning(name), diagnoses.meaning(within)
    if reading := _same_answer(head, wordings, diagnoses):
        return reading
    if NOT_NOW.search(within):
        return None
    fitting = [
        wording
        for wording in wordings
        if wording.meaning.concepts <= (whole if diagnoses.share_diagnosis(head, wording.meaning) else head).concepts
        and not wording.exact
        and not diagnoses.are_opposed(whole, wording.label)
        # Another name may be part of the name of another disease; the label is the kind that the answer asks for.
        and (wording.label.concepts <= whole.concepts or not diagnoses.diagnoses_in(head) - wording.groups)
    ]
    return max(fitting, key=lambda wording: len(wording.meaning.concepts)).given if fitting else None
