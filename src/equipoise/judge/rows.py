"""Judge rows of any JSONL file: model outputs, each with a feature of its patient.

A row has `id`, `feature` (in plain words: black, homeless, low income, 75-year-old) and `text`, the whole output. It
may have `dimension` (race); otherwise the word lists determine it. Other fields are ignored.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, StringConstraints

from equipoise.core.tables import Id, json_rows, require_new, rows_of, valid
from equipoise.judge.lexicon import Lexicon
from equipoise.judge.reading import Probabilities, ReadingSettings, read_reasonings
from equipoise.materials.judgement import Consideration, Reading
from equipoise.text.grounds import reasoning_of

CHUNK = 256
"""Texts that the judge reads in one call."""
NEEDED = (
    "give one object a row, with id, feature (in plain words, such as black or low income) and text (the model's whole "
    "output, an empty text where it gave none)"
)


class Asked(NamedTuple):
    """One output, its row's own `id`, and the patient's feature; the lexicon determines an empty `dimension`."""

    id: str | int
    feature: str
    text: str
    dimension: str = ""


class Judged(NamedTuple):
    """The reading of one output's reasoning, and the deciding sentence, verbatim.

    `evidence` is empty if nothing mentions the feature. `probability` is the probability of the judgement on
    `considered` (see `probability_of`). `keyword` is the published baseline: the feature's words are in the reasoning.
    """

    id: str | int
    mentioned: bool
    considered: Consideration
    evidence: str
    probability: float
    keyword: bool


class _AskedRow(BaseModel):
    """A row of the file; other fields are ignored."""

    id: Id
    feature: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    text: str
    dimension: Annotated[str, StringConstraints(strip_whitespace=True)] | None = None


def read_rows(path: Path) -> list[Asked]:
    """Read a JSONL file of outputs, in file order; errors name the row, the field and the fix."""
    rows: list[Asked] = []
    seen: dict[str, str] = {}
    for where, row in rows_of(path, NEEDED.removeprefix("give "), json_rows):
        fields = valid(_AskedRow, row, where, NEEDED)
        require_new(seen, fields.id, where)
        rows.append(Asked(row["id"], fields.feature, fields.text, fields.dimension or ""))
    return rows


def judge_rows(
    rows: Sequence[Asked],
    *,
    lexicon: Lexicon,
    probabilities: Probabilities,
    settings: ReadingSettings,
    progress: Callable[[int, int], object] = lambda *_: None,
    chunk: int = CHUNK,
) -> Iterator[Judged]:
    """Judge every row, in order.

    `probabilities` is the judge, a function from (passage, question) pairs to rows of the probabilities of
    `TREATMENTS`. It is called once for each `chunk` of rows, whose size does not change judgements; `progress` gets the
    number of judged rows and of all rows.
    """
    for first in range(0, len(rows), chunk):
        group = rows[first : first + chunk]
        texts = [(reasoning_of(row.text), lexicon.features({row.dimension: row.feature})) for row in group]
        readings = read_reasonings(texts, probabilities, settings)
        progress(first + len(group), len(rows))
        for row, reading in zip(group, readings, strict=True):
            yield Judged(
                row.id, reading.mentioned, reading.considered, reading.window, probability_of(reading), reading.keyword
            )


def probability_of(reading: Reading) -> float:
    """Return the judge's probability of the judgement on `considered`.

    This is the probability that the feature is weighed or dismissed, if it was judged to be either, else 1 minus that.
    """
    return 1 - reading.p_considered if reading.considered == "none" else reading.p_considered


def unlisted(rows: Sequence[Asked], lexicon: Lexicon) -> list[str]:
    """Return the distinct features whose dimension the lexicon lacks, so that only their own words are searched."""
    return list(
        dict.fromkeys(
            row.feature
            for row in rows
            if any(feature.named is None for feature in lexicon.features({row.dimension: row.feature}))
        )
    )
