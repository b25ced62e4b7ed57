"""Read a written reply's answer from a case's set by meaning, with the lexicon data/diagnoses.yaml.

`equipoise.text.stated` finds the answer that the reply states: not one that it sets aside, that the patient had before,
or that is one of several alternatives. Some wordings of a case count only by themselves, because they are broader than
the answer's label: if `dementia` is accepted for Alzheimer's disease, `vascular dementia` is still another diagnosis. A
reply that names several answers without deciding is unread. So is one that decides for what the case says about the
patient anyway, and names another answer beside it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from equipoise.text.answer import Answer, AnswerSet
from equipoise.text.answers import Given, names_pattern
from equipoise.text.conclusions import DECIDES, REFUSAL, UNDECIDED
from equipoise.text.diagnoses import Diagnoses, Meaning
from equipoise.text.naming import final_diagnosis
from equipoise.text.own import own_words
from equipoise.text.patterns import caseless
from equipoise.text.stated import Answers, named_answers, plain_reply, stated_answer

ASKED = "Diagnosis: "
"""Text that a reply continues: the model's prompt ends in `diagnosis is`."""
WITHOUT = caseless(r"(?<!or )\bwithout\b[^,;.]*")


class _Wordings(NamedTuple):
    """The wordings of a case's answers: those that any statement may use, and the broader ones, as the whole name."""

    stated: Answers
    whole: tuple[tuple[Given, Meaning], ...]


def read_written(text: str, answers: AnswerSet, diagnoses: Diagnoses, features: Iterable[str] = ()) -> Given:
    """Read a reply's answer to the question for the single most likely diagnosis.

    Args:
        text: The part of the reply that its reader sees.
        answers: The case's set, by kind; any wording of an answer counts.
        diagnoses: The lexicon, which has further wordings.
        features: What the case says about the patient, which may be the name of an answer: `schizophrenia`.

    Returns:
        The answer of the set that the reply states; `other` if it states none of them, `refusal` if it declines to
        answer and `unparsed` if it leaves the answer open.
    """
    wordings = _wordings(answers, diagnoses)
    reading = _read(text, wordings, diagnoses)
    known = _known_names(reading, tuple(features), wordings, diagnoses)
    rest = known.sub(" ", text) if known else text
    if rest == text or not (beside := _read(rest, wordings, diagnoses)).label:
        return reading
    decides = DECIDES.search(text) and len(named_answers(text, wordings.stated, diagnoses)) > 1
    return Given("unparsed") if decides and reading != beside else beside


def misread_wordings(answers: AnswerSet, diagnoses: Diagnoses) -> Iterator[tuple[str, str, str]]:
    """Yield the wordings of a case's answers that are not read as their own answer: label, wording and reading.

    The reading of a wording that several answers have is the others of these.
    """
    wordings = _wordings(answers, diagnoses)
    for kind, group in answers.items():
        for answer in group:
            for wording in (answer.label, *answer.synonyms, *diagnoses.wordings(answer.label)):
                reading = _read(wording, wordings, diagnoses)
                if reading != (own := Given(kind, answer.label)):
                    others = [
                        given.label for given in named_answers(wording, wordings.stated, diagnoses) if given != own
                    ]
                    yield answer.label, wording, reading.label or " and ".join(others) or reading.kind


def _wordings(answers: AnswerSet, diagnoses: Diagnoses) -> _Wordings:
    """Divide the wordings of a case's answers."""
    stated, whole = {}, []
    for kind, group in answers.items():
        for answer in group:
            given, label = Given(kind, answer.label), diagnoses.meaning(answer.label)
            kept = []
            for wording in answer.synonyms:
                meaning = diagnoses.meaning(wording)
                broader = meaning.concepts < label.concepts or diagnoses.is_narrower(label, meaning)
                if meaning.concepts != label.concepts and (broader or not diagnoses.diagnoses_in(meaning)):
                    whole.append((given, meaning))
                else:
                    kept.append(wording)
            stated[given] = Answer(label=answer.label, synonyms=(*kept, answer.label))
    return _Wordings(stated, tuple(whole))


def _read(text: str, wordings: _Wordings, diagnoses: Diagnoses) -> Given:
    """Read a text's answer from a set of wordings."""
    text = plain_reply(text)
    if not re.search(r"\w", text):
        return Given("unparsed")
    if given := stated_answer(WITHOUT.sub("", text), wordings.stated, diagnoses):
        return given
    named = named_answers(text, wordings.stated, diagnoses)
    if (name := final_diagnosis(f"{ASKED}{text}")) and len(named) <= 1:
        meaning = diagnoses.meaning(name.whole)
        if given := next((answer for answer, own in wordings.whole if own.concepts == meaning.concepts), None):
            return given
    if REFUSAL.search(text):
        return Given("refusal")
    # What seems to be said about others, or by them, may still be the reply's own.
    hidden = len(named) == 1 and not named_answers(own_words(text), wordings.stated, diagnoses)
    return Given("unparsed" if len(named) > 1 or hidden or UNDECIDED.search(text) else "other")


def _known_names(
    reading: Given, features: tuple[str, ...], wordings: _Wordings, diagnoses: Diagnoses
) -> re.Pattern[str] | None:
    """Compile the names of what the patient has anyway; None if the reading is another answer."""
    if not features:
        return None
    names: list[str] = []
    if reading.label:
        known = [diagnoses.meaning(feature) for feature in features]
        own = wordings.stated[reading]
        for name in (own.label, *own.synonyms, *diagnoses.wordings(own.label)):
            meaning = diagnoses.meaning(name)
            if any(diagnoses.share_diagnosis(meaning, known_meaning) for known_meaning in known):
                names.append(name)
        if not names:
            return None
    return names_pattern((*features, *names))
