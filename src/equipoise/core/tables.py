"""Rows of third-party files in JSONL, parquet or CSV, or of tables in memory, each with its number for messages."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import fault, json_value, read_text, require_size
from equipoise.core.row import printable

M = TypeVar("M", bound=BaseModel)
Id = Annotated[str, Field(coerce_numbers_to_str=True, pattern=r"\S"), AfterValidator(printable)]
"""The id of a row, as text: files also give numbers."""

MOST = 10_000_000
"""Rows of a file."""
JSON_LINES = (".jsonl", ".json")
READABLE = (".parquet", ".csv", *JSON_LINES)
"""File extensions that `table_rows` reads."""


class Table(NamedTuple):
    """A table in memory in the place of a file: what messages call it, and its rows, missing values as None."""

    name: str
    rows: Sequence[dict[str, Any]]

    def __str__(self) -> str:
        """Give the name, as a path gives itself."""
        return self.name


Source = Path | Table
"""Where rows come from."""


def table_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file by its extension: parquet, CSV or JSONL; one not in `READABLE` raises an EquipoiseError."""
    match path.suffix:
        case ".parquet":
            return parquet_rows(path)
        case ".csv":
            return csv_rows(path)
        case ending if ending in JSON_LINES:
            return json_rows(path)
        case ending:
            message = f"{path}: unsupported file extension {ending!r}: give one of {', '.join(READABLE)}"
            raise EquipoiseError(message)


def rows_of(
    path: Source, needs: str, read: Callable[[Path], Iterator[tuple[int, dict[str, Any]]]] = table_rows
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read a file as (place, row), the place such as "FILE, row 3"; one without rows is refused with what it needs.

    `read` reads a file; the rows of a table are there already.
    """
    where = ""
    for number, row in enumerate(path.rows, start=1) if isinstance(path, Table) else read(path):
        where = f"{path}, row {number}"
        if number > MOST:
            raise EquipoiseError(f"{where}: more than {MOST:,} rows: split the file")
        yield where, row
    if not where:
        message = f"{path}: no rows: give {needs}"
        raise EquipoiseError(message)


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a JSONL file of objects as (line number, row); any other line raises an EquipoiseError that names it."""
    # Not splitlines(): a text may contain other characters that Python treats as line ends.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        row = json_value(f"{path}, row {number}", line)
        if not isinstance(row, dict):
            message = f"{path}, row {number}: not a JSON object: give one object per row"
            raise EquipoiseError(message)
        yield number, row


def listed_rows(path: Path, name: str, shape: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file as `table_rows` does; a JSON file may also hold one list, or an object that has it under a name.

    `shape` says in an error what to give.
    """
    if path.suffix != ".json":
        yield from table_rows(path)
        return
    try:
        value = json_value(str(path), read_text(path))
    except EquipoiseError:
        yield from json_rows(path)
        return
    rows = value.get(name, [value]) if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise EquipoiseError(f"{path}: field {name} is not a list: {shape}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise EquipoiseError(f"{path}, row {number}: not a JSON object: {shape}")
        yield number, row


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a parquet file as (number from 1, row), missing values as None; else an EquipoiseError names the file."""
    import pandas as pd

    try:
        require_size(path)
        rows = pd.read_parquet(path).to_dict("records")
    except FileNotFoundError:
        message = f"{path}: no such file: check the path"
        raise EquipoiseError(message) from None
    except ImportError as error:
        message = f"{path}: reading parquet needs pyarrow: run `pip install pyarrow`, or give the rows as JSONL"
        raise EquipoiseError(message) from error
    except EquipoiseError:
        raise
    except Exception as error:  # Arrow's own exceptions derive from several of Python's, or from none of them
        message = f"{path}: cannot be read as parquet ({one_line(error)}): give a parquet or JSONL file"
        raise EquipoiseError(message) from error
    for number, row in enumerate(rows, start=1):
        yield number, {str(name): None if _missing(value) else value for name, value in row.items()}


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a CSV file with a header row as (number from 1, row), empty cells as None.

    A row whose number of cells differs from the header's raises an EquipoiseError that names it.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    number = 0
    try:
        columns = next(reader, [])
        if twice := [name for number, name in enumerate(columns) if name in columns[:number]]:
            message = f"{path}: duplicate column {twice[0]!r}: rename one of them"
            raise EquipoiseError(message)
        for cells in reader:
            if not cells:
                continue
            number += 1
            if len(cells) != len(columns):
                message = f"{path}, row {number}: {len(cells)} cells, {len(columns)} columns: quote cells with commas"
                raise EquipoiseError(message)
            yield number, {name: cell or None for name, cell in zip(columns, cells, strict=True)}
    except csv.Error as error:
        message = f"{path}, row {number + 1}: not CSV ({error}): fix the row, or give the rows as JSONL"
        raise EquipoiseError(message) from error


def valid(kind: type[M], row: Mapping[str, Any], where: str, fix: str) -> M:
    """Validate a row as a model; an EquipoiseError names the place, the field and the fix."""
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        message = f"{where}: {fault(error)}: {fix}"
        raise EquipoiseError(message) from error


def require_new(seen: dict[str, str], name: str, where: str, what: str = "id") -> None:
    """Note the place of an id, such as "FILE, row 3"; a duplicate raises an EquipoiseError that names both rows."""
    if name in seen:
        message = f"{where}: duplicate {what} {name!r} (first in {seen[name]}): keep one of them"
        raise EquipoiseError(message)
    seen[name] = where.rpartition(", ")[2]


def required(row: Mapping[str, Any], name: str, where: str) -> str:
    """Read a field as text; EquipoiseError where it is missing, empty or not a single value."""
    value = row.get(name)
    if value is None or isinstance(value, dict | list | bool) or not str(value).strip():
        message = f"{where}: field {name} is missing or empty: every row needs it"
        raise EquipoiseError(message)
    return str(value)


def identifier(row: Mapping[str, Any], name: str, where: str) -> str:
    """Read a field as an id, without the white space around it; characters that are not printable are refused."""
    try:
        return printable(required(row, name, where).strip())
    except ValueError as error:
        raise EquipoiseError(f"{where}: field {name}: {error}") from error


def _missing(value: object) -> bool:
    # pandas represents a missing text as NaN.
    return isinstance(value, float) and value != value  # noqa: PLR0124
