"""Rows of other people's files, JSONL, parquet or CSV, with the number that an error names them by."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JSON_LINES = (".jsonl", ".json")
READABLE = (".parquet", ".csv", *JSON_LINES)
"""Endings of the files that `table_rows` reads."""


def table_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file by its ending: parquet, CSV, else JSONL; another ending than `READABLE` is an EquipoiseError."""
    match path.suffix:
        case ".parquet":
            return parquet_rows(path)
        case ".csv":
            return csv_rows(path)
        case ending if ending in JSON_LINES:
            return json_rows(path)
        case ending:
            message = f"{path}: {ending or 'no ending'} is none of {', '.join(READABLE)}: give a file of one of these"
            raise EquipoiseError(message)


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a JSONL file of objects: line number and row; a line that is none is an EquipoiseError that names it."""
    # Not splitlines(): a text may hold other characters that Python takes for the end of a line.
    for number, line in enumerate(read_text(path).removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            message = f"{path}, row {number}: not JSON ({error.msg} at column {error.colno}): mend or delete the row"
            raise EquipoiseError(message) from error
        if not isinstance(row, dict):
            message = f"{path}, row {number}: not a JSON object: give one object a row"
            raise EquipoiseError(message)
        yield number, row


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a parquet file: number from 1 and row, a missing value as None; an unreadable file is an EquipoiseError."""
    import pandas as pd

    try:
        table = pd.read_parquet(path)
    except FileNotFoundError:
        message = f"{path}: no such file: mend the path"
        raise EquipoiseError(message) from None
    except ImportError as error:
        message = f"{path}: reading parquet needs pyarrow: run `pip install pyarrow`, or give the rows as JSONL"
        raise EquipoiseError(message) from error
    except (OSError, ValueError) as error:
        message = f"{path}: cannot be read as parquet ({error}): give a parquet or JSONL file"
        raise EquipoiseError(message) from error
    for number, row in enumerate(table.to_dict("records"), start=1):
        yield number, {str(name): None if _missing(value) else value for name, value in row.items()}


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a CSV file whose first row names the columns: number from 1 and row, an empty cell as None.

    A row with more or fewer cells than there are columns is an EquipoiseError that names it.
    """
    reader = csv.reader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline=""), strict=True)
    number = 0
    try:
        columns = next(reader, [])
        for cells in reader:
            if not cells:
                continue
            number += 1
            if len(cells) != len(columns):
                message = f"{path}, row {number}: {len(cells)} cells, {len(columns)} columns: quote cells with commas"
                raise EquipoiseError(message)
            yield number, {name: cell or None for name, cell in zip(columns, cells, strict=True)}
    except csv.Error as error:
        message = f"{path}, row {number + 1}: not CSV ({error}): mend the row, or give the rows as JSONL"
        raise EquipoiseError(message) from error


def _missing(value: object) -> bool:
    # NaN is how pandas writes a missing text.
    return isinstance(value, float) and value != value  # noqa: PLR0124
