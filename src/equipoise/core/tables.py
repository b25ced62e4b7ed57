"""Rows of third-party files in JSONL, parquet or CSV, or of tables in memory, each with its number for messages."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import fault, json_value, read_text
from equipoise.core.row import printable
from equipoise.core.sheets import READERS, csv_rows, read_by, sheet_rows

M = TypeVar("M", bound=BaseModel)
Id = Annotated[str, Field(coerce_numbers_to_str=True, pattern=r"\S"), AfterValidator(printable)]
"""The id of a row, as text: files also give numbers."""

MOST = 10_000_000
"""Rows of a file."""
JSON_LINES = (".jsonl", ".json")
TEXTS = (".csv", ".tsv", ".txt")
READABLE = (".parquet", *TEXTS, *JSON_LINES, *READERS)
"""File extensions that `table_rows` reads."""
MISSING = frozenset(
    {
        *("", "nan", "-nan", "none", "null", "nil", "na", "n/a", "<na>", "nat", "#n/a", "#na", "#n/a n/a"),
        *("#ref!", "#value!", "#name?", "#div/0!", "#null!", "#num!"),
    }
)
"""Texts by which pandas, R and spreadsheets write a missing value, or one that they could not compute."""


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
    """Read a file by its extension, one of `READABLE`; any other raises an EquipoiseError."""
    match path.suffix.lower():
        case ".parquet":
            return parquet_rows(path)
        case ending if ending in TEXTS:
            return csv_rows(path)
        case ending if ending in READERS:
            return sheet_rows(path)
        case ending if ending in JSON_LINES:
            return json_rows(path)
        case _:
            message = f"{path}: unsupported file extension {path.suffix!r}: give one of {', '.join(READABLE)}"
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
        raise EquipoiseError(f"{path}: no rows: give {needs}")


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a JSONL file of objects as (line number, row); any other line raises an EquipoiseError that names it.

    The file may also hold one list of objects, whose places are the numbers. NaN and infinities are read as None.
    """
    for number, row in _json_values(path, read_text(path)):
        if not isinstance(row, dict):
            raise EquipoiseError(f"{path}, row {number}: not a JSON object: give one object per row")
        yield number, row


def _json_values(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    if text.lstrip().startswith("["):
        yield from enumerate(json_value(str(path), text, lenient=True), start=1)
        return
    # Not splitlines(): a text may contain other characters that Python treats as line ends.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, json_value(f"{path}, row {number}", line, lenient=True)


def listed_rows(path: Path, name: str, shape: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file as `table_rows` does; a JSON file may also hold one list, or an object that has it under a name.

    `shape` says in an error what to give.
    """
    if path.suffix.lower() != ".json":
        yield from table_rows(path)
        return
    try:
        value = json_value(str(path), read_text(path), lenient=True)
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

    frame = read_by(path, "pyarrow", lambda: pd.read_parquet(path), "give a parquet or JSONL file")
    for number, row in enumerate(frame.to_dict("records"), start=1):
        yield number, {str(name): _plain(value) for name, value in row.items()}


def valid(kind: type[M], row: Mapping[str, Any], where: str, fix: str) -> M:
    """Validate a row as a model; an EquipoiseError names the place, the field and the fix."""
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        raise EquipoiseError(f"{where}: {fault(error)}: {fix}") from error


def require_new(seen: dict[str, str], name: str, where: str, what: str = "id") -> None:
    """Note the place of an id, such as "FILE, row 3"; a duplicate raises an EquipoiseError that names both rows."""
    if name in seen:
        raise EquipoiseError(f"{where}: duplicate {what} {name!r} (first in {seen[name]}): keep one of them")
    seen[name] = where.rpartition(", ")[2]


def required(row: Mapping[str, Any], name: str, where: str) -> str:
    """Read a field as text; EquipoiseError where it is missing, empty or not a single value."""
    value = row.get(name)
    if value is None or isinstance(value, dict | list | bool) or not str(value).strip():
        raise EquipoiseError(f"{where}: field {name} is missing or empty: every row needs it")
    return str(value)


def identifier(row: Mapping[str, Any], name: str, where: str) -> str:
    """Read a field as an id, without the white space around it; characters that are not printable are refused."""
    try:
        return printable(required(row, name, where).strip())
    except ValueError as error:
        raise EquipoiseError(f"{where}: field {name}: {error}") from error


def _plain(value: Any) -> Any:  # noqa: ANN401  (any value of a column)
    """Give a missing value, which pandas has as NaN, NaT or NA, as None, and an array as a list."""
    if str(value) in ("nan", "NaT", "<NA>") and not isinstance(value, str):
        return None
    return value.tolist() if hasattr(value, "tolist") else value


def is_missing(value: object) -> bool:
    """Whether a value is None, empty, not finite, or a text by which tables write that a value is missing."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, str):
        return value.strip().casefold() in MISSING
    return value is None or value in ([], {}, ())
