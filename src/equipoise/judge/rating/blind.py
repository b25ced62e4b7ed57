"""Sheets on which people rate reasoning without knowing its source, and their ratings.

A sheet shows a reply's text and the kind of feature in question, but not the model, group, arm or pair. A key, which
raters do not see, joins its rows to the responses. (The text is the model's own, and may name the patient's features.)

A sheet is a CSV file for spreadsheets (`core.sheets.table_text`).
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple, get_args

from pydantic import Field

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import digest
from equipoise.core.prompts import Response
from equipoise.core.row import Row, Text
from equipoise.core.sheets import BOM, restore_cell, table_text
from equipoise.materials.judgement import Consideration, Judgement
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import Vignette
from equipoise.text.reasoning import remove_tags

COLUMNS = ("row", "kind", "reasoning", "mentioned", "considered", "note")
CONSIDERATIONS: tuple[Consideration, ...] = get_args(Consideration)
MENTIONED = {"yes": True, "no": False}
COMPARED = 200
"""Letters of a reasoning that are compared with the response's, since spreadsheets change spaces and cut long texts."""
DELIMITERS = ",;\t"
"""Separators that spreadsheets write between cells, depending on language and format."""


class KeyRow(Row):
    """The response that a row of a sheet shows: `key` is the row's name on the sheet.

    `stratum` is the judge's finding when the sheet was drawn, and `of` the number of responses of the run with that
    finding. `responses_sha256` is the sha256 of the file of responses. On a sheet for the judge's error, `probability`
    is the probability with which the response was drawn.
    """

    response: Text
    pair: Text
    stratum: Consideration
    of: Annotated[int, Field(ge=1)]
    responses_sha256: Text
    probability: Annotated[float, Field(gt=0, le=1)] | None = None


class Rating(NamedTuple):
    """One person's rating of one reasoning."""

    mentioned: bool
    considered: Consideration
    note: str


def rating_sheet(
    vignettes: Sequence[Vignette],
    responses: Iterable[Response],
    judgements: Iterable[Judgement],
    *,
    subjects: Mapping[str, str],
    responses_sha256: str,
    seed: int,
    n: int | None = None,
) -> tuple[str, list[KeyRow]]:
    """Return a sheet, as CSV, and its key: a row for each response to a vignette, in an order drawn with `seed`.

    With `n`, a sample of that size is drawn, as evenly as possible from the judge's findings (none, weighed,
    dismissed), so that rare findings are rated too. `subjects` names each dimension (race). A reply without words has
    no row.

    Raises:
        EquipoiseError: Vignettes, responses and judgements do not belong together, or there is nothing to rate.
    """
    cases = {vignette.key: vignette for vignette in vignettes}
    considered = {judgement.key: judgement.considered for judgement in judgements if _is_rated(judgement.key)}
    shown = reasonings(responses)
    for what, keys in (("responses", shown.keys()), ("judgements", considered.keys())):
        if unmatched := sorted(cases.keys() ^ keys):
            more = f"{len(unmatched)} in all, first {unmatched[0]!r}"
            raise EquipoiseError(f"vignettes and {what} do not belong together ({more}): run `dvc repro score`")
    shown = {key: text for key, text in shown.items() if has_words(text)}
    if not shown:
        raise EquipoiseError(
            "no response to a vignette has any words: run `dvc repro score` with a model that answers them"
        )
    sizes = Counter(considered[key] for key in shown)
    # A digest as random number: the same on every machine, and a larger sample includes a smaller one.
    left = allot(sizes, len(shown) if n is None else n)
    drawn = []
    for response in sorted(shown, key=lambda key: digest(["draw", seed, key])):
        if left[considered[response]]:
            left[considered[response]] -= 1
            drawn.append(response)
    return sheet(drawn, cases, shown, considered, subjects=subjects, responses_sha256=responses_sha256, seed=seed)


def sheet(
    drawn: Iterable[str],
    cases: Mapping[str, Vignette],
    shown: Mapping[str, str],
    considered: Mapping[str, Consideration],
    *,
    subjects: Mapping[str, str],
    responses_sha256: str,
    seed: int,
    probabilities: Mapping[str, float] | None = None,
) -> tuple[str, list[KeyRow]]:
    """Return the sheet of the drawn responses, in an order drawn with `seed`, and its key.

    `cases` has the vignettes by key, `shown` the reasoning of every response that can be drawn, `considered` the
    judge's finding in it, and `probabilities` the probability with which it was drawn, if known.
    """
    sizes = Counter(considered[key] for key in shown)
    # Shuffled, because rare findings of the judge may come last in the order of the draw.
    ordered = sorted(drawn, key=lambda key: digest(["order", seed, key]))
    rows: list[dict[str, str]] = []
    key_rows: list[KeyRow] = []
    width = max(3, len(str(len(ordered))))
    for number, response in enumerate(ordered, start=1):
        name, case = f"r{number:0{width}}", cases[CaseKey.parse(response).case]
        kind = kinds(case.dimensions, subjects)
        rows.append(dict.fromkeys(COLUMNS, "") | {"row": name, "kind": kind, "reasoning": shown[response]})
        key_rows.append(
            KeyRow(
                key=name,
                study=case.study,
                response=response,
                pair=case.pair,
                stratum=considered[response],
                of=sizes[considered[response]],
                responses_sha256=responses_sha256,
                probability=None if probabilities is None else probabilities[response],
            )
        )
    return table_text(COLUMNS, rows), key_rows


def _is_rated(key: str) -> bool:
    """Whether a response is rated: it is the first sample of an arm, not of another case version."""
    case = CaseKey.parse(key)
    return case.is_arm and not case.number


def reasonings(responses: Iterable[Response], *, samples: bool = False) -> dict[str, str]:
    """Return the text that is rated and judged: the first reply to each arm (with `samples`, all), without tags."""
    arms = (
        response
        for response in responses
        if (CaseKey.parse(response.key).is_arm if samples else _is_rated(response.key))
    )
    return {response.key: remove_tags("".join(response.replies[:1])) for response in arms}


def has_words(reasoning: str) -> bool:
    """Whether a reasoning has any words to rate."""
    return re.search(r"\w", reasoning) is not None


def allot(sizes: Mapping[Consideration, int], n: int) -> Counter[Consideration]:
    """Return how many to draw from each stratum: even shares of `n`; the others share a small stratum's deficit."""
    shares: Counter[Consideration] = Counter()
    left = n
    for place, (stratum, size) in enumerate(sorted(sizes.items(), key=lambda item: (item[1], item[0]))):
        shares[stratum] = min(size, -(-left // (len(sizes) - place)))
        left -= shares[stratum]
    return shares


def kinds(dimensions: Iterable[str], subjects: Mapping[str, str]) -> str:
    """Return the kinds of feature of dimensions, in an order that reveals nothing: "gender, housing and race"."""
    *first, last = sorted(subjects.get(dimension, dimension.replace("_", " ")) for dimension in dimensions)
    return f"{', '.join(first)} and {last}" if first else last


def read_ratings(name: str, text: str, shown: Mapping[str, str]) -> dict[str, Rating]:
    """Read a filled sheet: the ratings by row; a row with neither `mentioned` nor `considered` is unrated.

    Args:
        name: The sheet's name in errors.
        text: The sheet, as saved by a spreadsheet.
        shown: The reasoning of each row of the key.

    Raises:
        EquipoiseError: A row is unknown, repeated, of another key or wrongly filled, or none is rated.
    """
    ratings: dict[str, Rating] = {}
    seen: dict[str, int] = {}
    for number, cells in read_table(name, text, COLUMNS):
        row = cells["row"].strip()
        where = f"{name}, row {row!r} (row {number} of the sheet)"
        if row not in shown:
            raise EquipoiseError(f"{where}: the key has no such row: correct its name, or give the key of this sheet")
        if row in seen:
            raise EquipoiseError(f"{where}: duplicate row (first in row {seen[row]} of the sheet): keep one of them")
        seen[row] = number
        if _gist(cells["reasoning"]) != _gist(shown[row]):
            raise EquipoiseError(
                f"{where}: the reasoning differs from the key's: give the key that was made with this sheet"
            )
        if rating := _rating(where, cells):
            ratings[row] = rating
    if not ratings:
        raise EquipoiseError(f"{name}: no row is rated: fill the columns mentioned and considered")
    return ratings


def read_table(name: str, text: str, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Read such a table as saved by a spreadsheet: rows with their number in the spreadsheet, cells restored.

    Empty rows and columns without a title are skipped. Commas, semicolons or tabs may separate cells, and columns may
    be in any order.

    Raises:
        EquipoiseError: The text is not CSV, or has other columns; the message begins with `name`.
    """
    text = text.removeprefix(BOM)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    rows: list[tuple[int, dict[str, str]]] = []
    # A reasoning may exceed the reader's default limit.
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    number = 1
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        titles = [title.strip().casefold() for title in next(reader, [])]
        if sorted(given := [title for title in titles if title]) != sorted(columns):
            raise EquipoiseError(
                f"{name}: the columns are {', '.join(given) or 'none'}: give back {', '.join(columns)}"
            )
        for number, cells in enumerate(reader, start=2):
            if len(cells) > len(titles) and any(cells[len(titles) :]):
                raise EquipoiseError(
                    f"{name}, row {number} of the sheet: more cells than columns: put quotes around the text"
                )
            if any(cell.strip() for cell in cells):
                values = dict(zip(titles, map(restore_cell, cells), strict=False))
                rows.append((number, {column: values.get(column, "") for column in columns}))
    except csv.Error as error:
        raise EquipoiseError(
            f"{name}, after row {number} of the sheet: not CSV ({error}): save the sheet again as CSV UTF-8"
        ) from error
    finally:
        csv.field_size_limit(limit)
    return rows


def _rating(where: str, cells: Mapping[str, str]) -> Rating | None:
    """Return the rating of one row; None if it is unrated."""
    mentioned, considered = (cells[column].strip().casefold() for column in ("mentioned", "considered"))
    if not mentioned and not considered:
        return None
    if mentioned not in MENTIONED:
        raise EquipoiseError(f"{where}: mentioned is {cells['mentioned']!r}: write {' or '.join(MENTIONED)}")
    for consideration in CONSIDERATIONS:
        if considered == consideration:
            if considered != "none" and not MENTIONED[mentioned]:
                raise EquipoiseError(f"{where}: considered {considered!r} but not mentioned: correct one of the two")
            return Rating(MENTIONED[mentioned], consideration, cells["note"].strip())
    raise EquipoiseError(f"{where}: considered is {cells['considered']!r}: write one of {', '.join(CONSIDERATIONS)}")


def _gist(text: str) -> str:
    """Return the first letters of a text, which no spreadsheet changes."""
    return re.sub(r"\W+", "", text)[:COMPARED]
