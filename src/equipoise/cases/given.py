"""Whole outputs of any model, each with a feature of its patient: rows in, judgements out.

A row has `id`, `feature` (in plain words: black, homeless, low income, 75-year-old) and `text`, the whole output. It
may have `dimension` (race); else the lexicon finds it. Other fields are left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.cases.outputs import Output
from equipoise.cases.score import grounds_of
from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import json_rows
from equipoise.judge.reading import read_reasonings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from equipoise.core.records import Consideration
    from equipoise.judge.lexicon import Lexicon
    from equipoise.judge.reading import Reading, ReadingSettings

CHUNK = 256
"""Texts that are put to the judge at once."""


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
    (see `probability_of`). `keyword` is the published baseline: the feature's words stand in the reasoning.
    """

    id: str | int
    mentioned: bool
    considered: Consideration
    evidence: str
    probability: float
    keyword: bool


def read_rows(path: Path) -> list[Asked]:
    """Read a JSONL file of outputs, in file order; a fault names the row, the field and the mend."""
    rows: list[Asked] = []
    seen: dict[str, int] = {}
    for number, row in json_rows(path):
        where = f"{path}, row {number}"
        asked = Asked(
            id=_id(row, where),
            feature=_text(row, "feature", where, "give it in plain words, such as black or low income").strip(),
            text=_text(row, "text", where, "give the model's whole output, an empty text where it gave none"),
            dimension=_text({"dimension": row.get("dimension") or ""}, "dimension", where, "mend or delete it").strip(),
        )
        if not asked.feature:
            message = f"{where}: field feature is empty: give it in plain words, such as black or low income"
            raise EquipoiseError(message)
        if str(asked.id) in seen:
            message = f"{where}: id {asked.id!r} stands already in row {seen[str(asked.id)]}: give every row its own"
            raise EquipoiseError(message)
        seen[str(asked.id)] = number
        rows.append(asked)
    if not rows:
        message = f"{path}: holds no rows: give one object a row, with id, feature and text"
        raise EquipoiseError(message)
    return rows


def judge_rows(
    rows: Sequence[Asked],
    *,
    lexicon: Lexicon,
    probabilities: Callable[[list[tuple[str, str]]], NDArray[Any]],
    settings: ReadingSettings,
    progress: Callable[[int, int], object] = lambda done, total: None,  # noqa: ARG005  (names for the caller)
    chunk: int = CHUNK,
) -> Iterator[Judged]:
    """Judge every row, in order.

    `probabilities` is the judge: (premise, hypothesis) pairs to rows of entailment, neutral, contradiction. It is asked
    once for each `chunk` of rows, whose size changes no judgement; `progress` is told how many of how many are done.
    """
    for first in range(0, len(rows), chunk):
        some = rows[first : first + chunk]
        texts = [(reasoning_of(row.text), lexicon.features({row.dimension: row.feature})) for row in some]
        found = read_reasonings(texts, probabilities, settings)
        progress(first + len(some), len(rows))
        yield from (_judged(row, reading) for row, reading in zip(some, found, strict=True))


def reasoning_of(text: str) -> str:
    """Give all of an output but the statement of its conclusion, as `score silent` reads it.

    An output that is no more than a sentence or paragraph with its conclusion in it is read whole: its reasons, if any,
    stand there.
    """
    said = Output("", text).said
    grounds = grounds_of(said)
    return grounds if re.search(r"\w", grounds) else said


def probability_of(reading: Reading) -> float:
    """The judge's probability of the judgement made on `considered`.

    That is the probability that the feature is weighed, or dismissed, where it was so judged; where it was judged to be
    neither, one less the larger of the two. It is compared with the threshold of `score.thresholds`, which need not be
    a half: a text is weighed from thresholds.weighed on.
    """
    if reading.considered == "weighed":
        return reading.p_weighed
    if reading.considered == "dismissed":
        return reading.p_dismissed
    return 1 - max(reading.p_weighed, reading.p_dismissed)


def unlisted(rows: Sequence[Asked], lexicon: Lexicon) -> list[str]:
    """The features, each once, whose dimension the lexicon does not have, so that the judge alone finds mentions."""
    return list(
        dict.fromkeys(
            row.feature
            for row in rows
            if any(one.named is None for one in lexicon.features({row.dimension: row.feature}))
        )
    )


def _judged(row: Asked, reading: Reading) -> Judged:
    return Judged(
        id=row.id,
        mentioned=reading.mentioned,
        considered=reading.considered,
        evidence=reading.window,
        probability=probability_of(reading),
        keyword=reading.keyword,
    )


def _id(row: dict[str, Any], where: str) -> str | int:
    value = row.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        message = f"{where}: field id is missing or empty: give every row an id of its own, a text or a whole number"
        raise EquipoiseError(message)
    return _text(row, "id", where, "mend it") if isinstance(value, str) else value


def _text(row: dict[str, Any], field: str, where: str, mend: str) -> str:
    """The text of a field; JSON can also hold halves of characters, which are no text."""
    value = row.get(field)
    if not isinstance(value, str):
        fault = "is no text" if field in row else "is missing"
        message = f"{where}: field {field} {fault}: {mend}"
        raise EquipoiseError(message)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"{where}: field {field} has half a character at place {error.start + 1}: {mend}"
        raise EquipoiseError(message) from error
    return value
