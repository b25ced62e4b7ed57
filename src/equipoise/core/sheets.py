"""Rows of spreadsheets, and of the text files that spreadsheets and data frames are saved as.

Any of `SEPARATORS` may separate cells, or the one that a first line `sep=;` names. A text is UTF-8, UTF-16 or code page
1252. Empty rows and unnamed empty columns are left out; an unnamed first column is the index of a data frame.

What is written for spreadsheets (`table_text`) has no cell that they would compute: they treat a cell that begins with
= + - or @ as a formula, even in text from others. Such a cell gets a leading apostrophe, which `restore_cell` removes.
The rule is reversible: a text that already has an apostrophe before a possible formula gets another. Source: OWASP,
"CSV Injection".
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from equipoise.core.display import few
from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import LARGEST, decoded, read_bytes, require_size

SEPARATORS: Mapping[str, str] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What separates cells; of equally good ones, the first."""
STATED = re.compile(r"\"?sep=(.)\"?[,;\t]*\n", re.IGNORECASE)
"""The first line by which a file for Excel names its separator."""
READERS: Mapping[str, str] = {".xlsx": "openpyxl", ".xlsm": "openpyxl", ".xls": "xlrd", ".ods": "odfpy"}
"""The package with which pandas reads a spreadsheet, by extension."""
UTF_16 = {rb"\xff\xfe|\xfe\xff": "utf-16", rb".\0": "utf-16-le", rb"\0.": "utf-16-be"}
"""How a text in UTF-16 begins: with a mark, or with an ASCII character."""
SAVE = "save it as CSV UTF-8"
MARK = "'"
FORMULA = re.compile(r"[\x00-\x20\s\ufeff\u200b'\"]*[=+\-@＝＋－＠\t\r\n]")
"""The beginning of a text that a spreadsheet may compute; white space and quotes before it are skipped, since some
spreadsheets skip them or even split there.

The apostrophe is skipped too, so that a text matches whether it has the mark or not.
"""
BOM = "\ufeff"
"""Byte order mark, without which Excel does not recognise UTF-8."""


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a text table with a header row as (number from 1, row), empty cells as None.

    Empty rows count in the numbers. A row with more or fewer cells than the header raises an EquipoiseError.
    """
    text = _decoded(path)
    if stated := STATED.match(text):
        separator, text = stated[1], text[stated.end() :]
    else:
        separator = max(SEPARATORS, key=lambda candidate: _columns(text, candidate))
    yield from _named(path, _records(path, text, separator), SEPARATORS.get(separator, repr(separator)))


def sheet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the only sheet with cells of a spreadsheet, as `csv_rows`; several such sheets raise an EquipoiseError."""
    import pandas as pd

    package = READERS[path.suffix.lower()]
    fix = f"give a spreadsheet, or {SAVE}"
    frames = read_by(
        path, package, lambda: pd.read_excel(path, sheet_name=None, header=None, dtype=str, na_filter=False), fix
    )
    sheets = {str(name): frame for name, frame in frames.items() if frame.size}
    if len(sheets) > 1:
        named = few([*sheets])
        raise EquipoiseError(f"{path}: {len(sheets)} sheets have cells ({named}): save the one to read as CSV UTF-8")
    for frame in sheets.values():
        yield from _named(path, iter(frame.to_numpy().tolist()), "cells")


def read_by(path: Path, package: str, read: Callable[[], Any], fix: str) -> Any:  # noqa: ANN401  (what it reads)
    """Read a file with a package that may be missing or broken; any failure is an EquipoiseError that says which."""
    try:
        require_size(path)
        return read()
    except FileNotFoundError:
        raise EquipoiseError(f"{path}: no such file: check the path") from None
    except ImportError as error:
        raise EquipoiseError(f"{path}: {import_problem(package, error)}, or {SAVE}") from error
    except EquipoiseError:
        raise
    except Exception as error:  # the packages' own exceptions derive from several of Python's, or from none of them
        raise EquipoiseError(f"{path}: cannot be read with {package} ({one_line(error)}): {fix}") from error


def import_problem(package: str, error: ImportError, install: str = "") -> str:
    """Say whether a package is missing, or is there and cannot be imported, and what to run."""
    if find_spec(package.replace("-", "_").replace("odfpy", "odf")) is None:
        return f"reading it needs {package}: run `pip install {install or package}`"
    return f"{package} is installed, but one of its imports fails ({one_line(error)}): run `pip install -U {package}`"


def _decoded(path: Path) -> str:
    content = read_bytes(path)
    with suppress(EquipoiseError):
        text = decoded(path, content)
        if "\0" not in text:
            return text
    encoding = next((name for mark, name in UTF_16.items() if re.match(mark, content[:2], re.DOTALL)), "cp1252")
    try:
        return decoded(path, content.decode(encoding).encode())
    except UnicodeError as error:
        raise EquipoiseError(f"{path}: neither UTF-8, UTF-16 nor code page 1252 ({error}): {SAVE}") from error


def _columns(text: str, separator: str) -> int:
    """Count the named columns of the first row that has any, if a separator is assumed."""
    try:
        first = next((cells for cells in _reader(text, separator) if any(map(str.strip, cells))), [])
    except csv.Error:
        return 0
    return sum(bool(cell.strip()) for cell in first)


def _reader(text: str, separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(LARGEST // 2)  # the standard 128 KiB is less than some models think
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def _records(path: Path, text: str, separator: str) -> Iterator[list[str]]:
    number = 0
    try:
        for cells in _reader(text, separator):
            yield cells
            number += 1
    except csv.Error as error:
        message = f"{path}, row {number}: not CSV ({error}): fix the row, or give the rows as JSONL"
        raise EquipoiseError(message) from error


def _named(path: Path, records: Iterator[Sequence[str]], apart: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Name the cells of each row by the header, the first row that is not empty."""
    names = [cell.strip() for cell in next((cells for cells in records if any(map(str.strip, cells))), [])]
    while names and not names[-1]:
        names.pop()
    if twice := [name for number, name in enumerate(names) if name and name in names[:number]]:
        raise EquipoiseError(f"{path}: duplicate column {twice[0]!r}: rename one of them")
    for number, cells in enumerate(records, start=1):
        width = max((place for place, cell in enumerate(cells, start=1) if cell.strip()), default=0)
        if not width:
            continue
        if len(cells) < len(names) or width > len(names):
            message = f"{path}, row {number}: {max(width, min(len(cells), len(names)))} cells, {len(names)} columns"
            raise EquipoiseError(f"{message}, separated by {apart}: quote cells that have such a character")
        if unnamed := [place for place, name in enumerate(names) if place and not name and cells[place].strip()]:
            raise EquipoiseError(f"{path}, row {number}: column {unnamed[0] + 1} has no name: name it in the header")
        yield number, {name: cell or None for name, cell in zip(names, cells, strict=False) if name}


def neutralize_cell(text: str) -> str:
    """Convert a text to a cell that no spreadsheet computes."""
    return MARK + text if FORMULA.match(text) else text


def restore_cell(cell: str) -> str:
    """Return the text of a cell, the inverse of `neutralize_cell`; other cells are returned unchanged."""
    return cell[1:] if cell.startswith(MARK) and FORMULA.match(cell[1:]) else cell


def table_text(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """Write rows as CSV: a byte order mark first, every cell neutralised and in quotes."""
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([neutralize_cell(row[column]) for column in columns] for row in rows)
    return BOM + file.getvalue()
