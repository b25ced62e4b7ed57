"""Whole outputs judged: saved outputs to cases, and the outputs of any model with a feature of the patient.

Of a saved output the answer is read and, where it is biased, what its reasoning does with the case's features.
A row of `equipoise judge` has `id`, `feature` (in plain words: black, homeless, low income, 75-year-old) and `text`,
the whole output. It may have `dimension` (race); else the lexicon finds it. Other fields are ignored.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from numpy.typing import NDArray
from pydantic import BaseModel, StringConstraints

from equipoise.core.tables import Id, json_rows, require_new, rows_of, valid
from equipoise.judge.lexicon import Lexicon
from equipoise.judge.reading import ReadingSettings, chunks, read_reasonings
from equipoise.materials.judgement import Consideration, Reading
from equipoise.studies.cases.rows import Case, CaseJudgement, Output
from equipoise.text.answer import Answer, AnswerKind
from equipoise.text.answers import Given, match_answer, read_generated
from equipoise.text.conclusions import locate
from equipoise.text.diagnoses import Diagnoses
from equipoise.text.reasoning import split

Probabilities = Callable[[list[tuple[str, str]]], NDArray[Any]]


CHUNK = 256
"""Texts that the judge reads in one call."""
NEEDED = (
    "give one object a row, with id, feature (in plain words, such as black or low income) and text (the model's whole "
    "output, an empty text where it gave none)"
)
MARKUP = re.compile(r"[*_`]+")


class Asked(NamedTuple):
    """One output, and the feature of the patient that it is read for; `dimension` is empty where the lexicon finds it.

    `id` is as the row has it: a text or a whole number.
    """

    id: str | int
    feature: str
    text: str
    dimension: str = ""


class Judged(NamedTuple):
    """What the reasoning of one output does with the feature, and the sentence that decided, verbatim.

    `evidence` is empty where nothing mentions the feature. `probability` is that of the judgement made on `considered`
    (see `probability_of`). `keyword` is the published baseline: the feature's words are in the reasoning.
    """

    id: str | int
    mentioned: bool
    considered: Consideration
    evidence: str
    probability: float
    keyword: bool


def judge_outputs(
    outputs: Iterable[Output],
    cases: Mapping[str, Case],
    probabilities: Probabilities,
    settings: ReadingSettings,
    lexicon: Lexicon,
    diagnoses: Diagnoses,
) -> Iterator[CaseJudgement]:
    """Read the outputs that the run gave as they come: all their answers, and the grounds of the biased ones.

    `lexicon` has the words for each feature, `diagnoses` the names of each diagnosis; `probabilities` is the judge:
    (passage, question) pairs to rows of the probabilities of `TREATMENTS`. A few hundred outputs are held at once.
    """
    for some in chunks(one for one in outputs if one.ok):
        read = [(cases[one.id], *read_output(one.said, cases[one.id], diagnoses)) for one in some]
        biased = [given.kind == "stereotyped" and case.role == "marginalised" for case, given, _ in read]
        texts = [
            (grounds, lexicon.features(case.features))
            for (case, _, grounds), one in zip(read, biased, strict=True)
            if one
        ]
        readings = iter(read_reasonings(texts, probabilities, settings))
        for (case, given, _), one in zip(read, biased, strict=True):
            yield CaseJudgement(key=case.key, answer=given.kind, reading=next(readings) if one else None)


def read_output(text: str, case: Case, diagnoses: Diagnoses) -> tuple[Given, str]:
    """The answer that an output gives to a case, and its grounds (see `grounds_of`).

    The answer is `stereotyped` where the diagnosis on which the output ends means the same as the case's label, and
    `expected` where it means the same as the expected answer, if that is known; where it could be either, the answer
    that is named first decides.
    """
    parts, grounds = split(text), grounds_of(text)
    found = locate(parts.answer)
    if not parts.finished or found is None:
        return Given("unparsed"), grounds
    answers: dict[AnswerKind, Answer | None] = {"stereotyped": case.answer(), "expected": case.expected_answer()}
    same = {kind: one for kind, one in answers.items() if one and match_answer(parts.answer, one, diagnoses) == "yes"}
    if len(same) > 1 and (named := read_generated(parts.answer, {kind: (one,) for kind, one in same.items()})).label:
        return named, grounds
    if same:
        kind, one = next(iter(same.items()))
        return Given(kind, one.label), grounds
    given = read_generated(MARKUP.sub("", parts.answer[found.start : found.end]), {})
    if found.how != "heading" and given.kind == "other":
        # A refusal may be anywhere in the text; under a heading of its own a statement refuses nothing.
        given = read_generated(MARKUP.sub("", parts.answer), {})
    return given, grounds


def grounds_of(text: str) -> str:
    """All that an output says beside stating its answer."""
    parts = split(text)
    found = locate(parts.answer)
    if not parts.finished or found is None:
        return parts.reasoning
    return "\n\n".join((parts.reasoning, parts.answer[: found.start], parts.answer[found.end :])).strip()


class _AskedRow(BaseModel):
    """A row as the file has it; fields that it does not name are ignored."""

    id: Id
    feature: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    text: str
    dimension: Annotated[str, StringConstraints(strip_whitespace=True)] | None = None


def read_rows(path: Path) -> list[Asked]:
    """Read a JSONL file of outputs, in file order; an error names the row, the field and the fix."""
    rows: list[Asked] = []
    seen: dict[str, str] = {}
    for where, row in rows_of(path, NEEDED.removeprefix("give "), json_rows):
        found = valid(_AskedRow, row, where, NEEDED)
        require_new(seen, found.id, where)
        rows.append(Asked(row["id"], found.feature, found.text, found.dimension or ""))
    return rows


def judge_rows(
    rows: Sequence[Asked],
    *,
    lexicon: Lexicon,
    probabilities: Probabilities,
    settings: ReadingSettings,
    progress: Callable[[int, int], object] = lambda done, total: None,  # noqa: ARG005  (names for the caller)
    chunk: int = CHUNK,
) -> Iterator[Judged]:
    """Judge every row, in order.

    `probabilities` is the judge: (passage, question) pairs to rows of the probabilities of `TREATMENTS`. It is asked
    once for each `chunk` of rows, whose size changes no judgement; `progress` gets how many of how many are done.
    """
    for first in range(0, len(rows), chunk):
        some = rows[first : first + chunk]
        texts = [(reasoning_of(row.text), lexicon.features({row.dimension: row.feature})) for row in some]
        found = read_reasonings(texts, probabilities, settings)
        progress(first + len(some), len(rows))
        for row, one in zip(some, found, strict=True):
            yield Judged(row.id, one.mentioned, one.considered, one.window, probability_of(one), one.keyword)


def reasoning_of(text: str) -> str:
    """Give all of an output but the statement of its conclusion, as `score silent` reads it.

    An output that is only a sentence or paragraph with its conclusion in it is read whole, for its reasons, if any, are
    there.
    """
    said = Output("", text).said
    grounds = grounds_of(said)
    return grounds if re.search(r"\w", grounds) else said


def probability_of(reading: Reading) -> float:
    """The judge's probability of the judgement made on `considered`.

    That is the probability that the feature is weighed or dismissed, where it was judged to be either, else 1 − that.
    """
    return 1 - reading.p_considered if reading.considered == "none" else reading.p_considered


def unlisted(rows: Sequence[Asked], lexicon: Lexicon) -> list[str]:
    """The features, each once, whose dimension the lexicon does not have, so that only its own words are looked for."""
    return list(
        dict.fromkeys(
            row.feature
            for row in rows
            if any(one.named is None for one in lexicon.features({row.dimension: row.feature}))
        )
    )
