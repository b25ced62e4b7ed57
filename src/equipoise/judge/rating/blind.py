"""Sheets on which people rate reasoning without knowing whose it is, and what they rated.

A sheet shows a reply's text and what kind of feature is asked about, and neither model, group, arm nor pair. A key,
kept from the raters, joins its rows to the responses. (The text is the model's own, and may name the patient's
features.)

A sheet is CSV that opens in a spreadsheet, with no cell that it would compute: a spreadsheet takes a cell that begins
with = + - or @ for a formula, also where the text was somebody else's. Such a cell gets an apostrophe in front, and
loses it when it is read. The rule can be undone: a text that has an apostrophe before what looks like a formula gets
another. Source: OWASP, "CSV Injection".
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
from equipoise.materials.judgement import Consideration, Judgement
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import Vignette
from equipoise.text.reasoning import remove_tags

COLUMNS = ("row", "kind", "reasoning", "mentioned", "considered", "note")
CONSIDERATIONS: tuple[Consideration, ...] = get_args(Consideration)
MENTIONED = {"yes": True, "no": False}
COMPARED = 200
"""Letters of a reasoning that are compared with the response's: spreadsheets change spaces, and cut long texts off."""
MARK = "'"
FORMULA = re.compile(r"[\x00-\x20\s\ufeff\u200b'\"]*[=+\-@＝＋－＠\t\r\n]")
"""How a text begins that some spreadsheet may compute: white space and quotes are passed over, by some even split at.

The apostrophe is among what is passed over, so that a text is of this kind whether it has the mark or not.
"""
BOM = "\ufeff"
"""Without it Excel takes UTF-8 for another encoding."""
DELIMITERS = ",;\t"
"""What spreadsheets write between cells, by language and form."""


class KeyRow(Row):
    """Which response a row of a sheet shows: `key` is the row's name on the sheet.

    `stratum` is what the judge found when the sheet was drawn, and `of` how many responses of the run it found that in.
    `responses_sha256` is that of the file of responses. On a sheet for the judge's error `probability` is that with
    which the response was drawn.
    """

    response: Text
    pair: Text
    stratum: Consideration
    of: Annotated[int, Field(ge=1)]
    responses_sha256: Text
    probability: Annotated[float, Field(gt=0, le=1)] | None = None


class Rating(NamedTuple):
    """What one person says of one reasoning."""

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
    """The sheet, as CSV, and its key: a row for each response to a vignette, in an order drawn with `seed`.

    With `n` a sample of that size is drawn, as evenly as possible from what the judge found (none, weighed, dismissed),
    so that what is rare is rated too. `subjects` names each dimension (race). A reply without words has nothing to
    rate, and no row.

    Raises:
        EquipoiseError: vignettes, responses and judgements do not belong together, or there is nothing to rate.
    """
    cases = {one.key: one for one in vignettes}
    considered = {one.key: one.considered for one in judgements if _is_rated(one.key)}
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
    # A digest for a random number: the same on every machine, and a larger sample holds the smaller one.
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
    """Lay out the responses that were drawn, in an order drawn with `seed`, and the key of the sheet.

    `cases` has the vignettes by key, `shown` the reasoning of every response that can be drawn, `found` what the judge
    found in it, and `probabilities` that with which it was drawn, if these are known.
    """
    sizes = Counter(considered[key] for key in shown)
    # Shuffled: in the order of a draw, what the judge found rarely may come last.
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
    """Whether a response is rated: of an arm, not of another telling, and of samples the first."""
    case = CaseKey.parse(key)
    return case.is_arm and not case.number


def reasonings(responses: Iterable[Response], *, samples: bool = False) -> dict[str, str]:
    """What is rated of the first response to each arm, which is what the judge reads: its first reply, without tags.

    With `samples`, of every response to each arm.
    """
    arms = (
        response
        for response in responses
        if (CaseKey.parse(response.key).is_arm if samples else _is_rated(response.key))
    )
    return {response.key: remove_tags("".join(response.replies[:1])) for response in arms}


def has_words(reasoning: str) -> bool:
    """Whether there is anything to rate."""
    return re.search(r"\w", reasoning) is not None


def allot(sizes: Mapping[Consideration, int], n: int) -> Counter[Consideration]:
    """How many to draw of each stratum: even shares of `n`, what a small stratum lacks being shared by the others."""
    shares: Counter[Consideration] = Counter()
    left = n
    for place, (stratum, size) in enumerate(sorted(sizes.items(), key=lambda item: (item[1], item[0]))):
        shares[stratum] = min(size, -(-left // (len(sizes) - place)))
        left -= shares[stratum]
    return shares


def kinds(dimensions: Iterable[str], subjects: Mapping[str, str]) -> str:
    """The kinds of feature that dimensions are, in an order that reveals nothing: "gender, housing and race"."""
    *first, last = sorted(subjects.get(dimension, dimension.replace("_", " ")) for dimension in dimensions)
    return f"{', '.join(first)} and {last}" if first else last


def read_ratings(name: str, text: str, shown: Mapping[str, str]) -> dict[str, Rating]:
    """Read a filled sheet: the ratings by row; a row with neither `mentioned` nor `considered` is unrated.

    Args:
        name: what an error calls the sheet.
        text: the sheet, as a spreadsheet saved it.
        shown: the reasoning of each row of the key.

    Raises:
        EquipoiseError: a row is unknown, repeated, of another key or wrongly filled, or none is rated.
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


def neutralize_cell(text: str) -> str:
    """A text as a cell that no spreadsheet computes."""
    return MARK + text if FORMULA.match(text) else text


def restore_cell(cell: str) -> str:
    """The text of a cell: the inverse of `neutral`. Other cells stay as they are."""
    return cell[1:] if cell.startswith(MARK) and FORMULA.match(cell[1:]) else cell


def table_text(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """Lay rows out as CSV: every cell neutral and in quotes, a byte order mark first."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([neutralize_cell(row[column]) for column in columns] for row in rows)
    return BOM + file.getvalue()


def read_table(name: str, text: str, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Read what a spreadsheet saved of such a table: rows with their number in the spreadsheet, cells restored.

    Rows without anything in them are passed over, as are columns without a title. Commas, semicolons and tabs may
    separate cells, and columns in any order.

    Raises:
        EquipoiseError: the text is not CSV, or has other columns; the message begins with `name`.
    """
    text = text.removeprefix(BOM)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    rows: list[tuple[int, dict[str, str]]] = []
    # A reasoning may be longer than the reader takes by default.
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    number = 1
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        titles = [title.strip().casefold() for title in next(reader, [])]
        _require_columns(name, [title for title in titles if title], columns)
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
    """The rating of one row; None where it is unrated."""
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
    """The first letters of a text, which no spreadsheet changes."""
    return re.sub(r"\W+", "", text)[:COMPARED]


def _require_columns(name: str, titles: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse other columns than those named, or one of them twice."""
    if sorted(titles) != sorted(columns):
        raise EquipoiseError(f"{name}: the columns are {', '.join(titles) or 'none'}: give back {', '.join(columns)}")
