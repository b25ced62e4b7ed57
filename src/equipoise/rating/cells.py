"""CSV for spreadsheets: a table as text that opens in one, with no cell that it would compute.

A spreadsheet takes a cell that begins with = + - or @ for a formula, also where the text was somebody else's. Such a
cell gets an apostrophe in front, and loses it when it is read. The rule can be undone: a text that has an apostrophe
before what looks like a formula gets another.
Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MARK = "'"
FORMULA = re.compile(r"[\x00-\x20\s\ufeff\u200b'\"]*[=+\-@＝＋－＠\t\r\n]")
"""How a text begins that some spreadsheet may compute: white space and quotes are passed over, by some even split at.

The apostrophe is among what is passed over, so that a text is of this kind whether it has the mark or not.
"""
BOM = "\ufeff"
"""Without it Excel takes UTF-8 for another encoding."""
DELIMITERS = ",;\t"
"""What spreadsheets write between cells, by language and form."""


def neutral(text: str) -> str:
    """A text as a cell that no spreadsheet computes."""
    return MARK + text if FORMULA.match(text) else text


def restored(cell: str) -> str:
    """The text of a cell: the inverse of `neutral`. Other cells stay as they are."""
    return cell[1:] if cell.startswith(MARK) and FORMULA.match(cell[1:]) else cell


def table_text(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """Lay rows out as CSV: every cell neutral and in quotes, a byte order mark first."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([neutral(row[column]) for column in columns] for row in rows)
    return BOM + file.getvalue()


def read_table(name: str, text: str, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Read what a spreadsheet saved of such a table: rows with their number in the spreadsheet, cells restored.

    Rows without anything in them are passed over, as are columns without a title. Commas, semicolons and tabs may
    stand between cells, and columns in any order.

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
        _require(name, [title for title in titles if title], columns)
        for number, cells in enumerate(reader, start=2):
            if len(cells) > len(titles) and any(cells[len(titles) :]):
                message = f"{name}, row {number} of the sheet: more cells than columns: put quotes around the text"
                raise EquipoiseError(message)
            if any(cell.strip() for cell in cells):
                found = dict(zip(titles, map(restored, cells), strict=False))
                rows.append((number, {column: found.get(column, "") for column in columns}))
    except csv.Error as error:
        message = f"{name}, after row {number} of the sheet: not CSV ({error}): save the sheet anew as CSV UTF-8"
        raise EquipoiseError(message) from error
    finally:
        csv.field_size_limit(limit)
    return rows


def _require(name: str, titles: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse other columns than those named, or one of them twice."""
    if sorted(titles) != sorted(columns):
        message = f"{name}: the columns are {', '.join(titles) or 'none'}: give back {', '.join(columns)}"
        raise EquipoiseError(message)
