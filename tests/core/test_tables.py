"""Tests of the reader of third-party files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from equipoise.core import jsonl, tables
from equipoise.core.errors import EquipoiseError
from equipoise.core.sheets import csv_rows
from equipoise.core.tables import json_rows, parquet_rows, table_rows

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_are_numbered_by_line(tmp_path: Path) -> None:
    """An empty line is not a row, but counts in the row numbers."""
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n\n{"a": "x\u2028y"}\n', encoding="utf-8")

    assert list(json_rows(tmp_path / "rows.jsonl")) == [(1, {"a": 1}), (3, {"a": "x\u2028y"})]


@pytest.mark.parametrize("line", ["{", "[1]"])
def test_bad_row_is_named(tmp_path: Path, line: str) -> None:
    """A line that is not a JSON object is named by its number."""
    (tmp_path / "rows.jsonl").write_text(f'{{"a": 1}}\n{line}\n', encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"rows\.jsonl, row 2: not"):
        list(json_rows(tmp_path / "rows.jsonl"))


def test_parquet_is_read_with_missing_values(tmp_path: Path) -> None:
    """A missing text in a parquet file is None."""
    pytest.importorskip("pyarrow", reason="pyarrow, which reads parquet, is not installed")
    import pandas as pd

    pd.DataFrame({"a": ["x", None]}).to_parquet(tmp_path / "rows.parquet")

    assert list(parquet_rows(tmp_path / "rows.parquet")) == [(1, {"a": "x"}), (2, {"a": None})]


def test_unreadable_parquet_says_so(tmp_path: Path) -> None:
    """A file that is not parquet, or for which no reader is installed, raises one clear error."""
    (tmp_path / "rows.parquet").write_bytes(b"no parquet")

    with pytest.raises(EquipoiseError, match=r"rows\.parquet: (reading it needs pyarrow|cannot be read)"):
        list(parquet_rows(tmp_path / "rows.parquet"))


def test_csv_is_read_with_quoted_lines_and_missing_values(tmp_path: Path) -> None:
    """A quoted cell may hold commas, quotes and line breaks; an empty cell is None."""
    (tmp_path / "rows.csv").write_text('\ufeffa,b\r\n"x, ""y""\nz",1\r\n,2\r\n\r\n', encoding="utf-8", newline="")

    assert list(csv_rows(tmp_path / "rows.csv")) == [(1, {"a": 'x, "y"\nz', "b": "1"}), (2, {"a": None, "b": "2"})]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a,b\n1,2\n1,2,3\n", r"rows\.csv, row 2: 3 cells, 2 columns"),
        ("a,b\n1\n", r"rows\.csv, row 1: 1 cells, 2 columns"),
        ('a,b\n1,"2\n', r"rows\.csv, row 1: not CSV"),
    ],
)
def test_bad_csv_row_is_named(tmp_path: Path, text: str, fault: str) -> None:
    """A row of the wrong length, or an open quotation, is named by its number."""
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")

    with pytest.raises(EquipoiseError, match=fault):
        list(csv_rows(tmp_path / "rows.csv"))


@pytest.mark.parametrize(
    ("name", "text"), [("rows.csv", "a\nx\n"), ("rows.jsonl", '{"a": "x"}\n'), ("rows.json", '{"a": "x"}\n')]
)
def test_a_file_is_read_by_its_ending(tmp_path: Path, name: str, text: str) -> None:
    """CSV and JSONL of the same rows give the same rows."""
    (tmp_path / name).write_text(text, encoding="utf-8")

    assert list(table_rows(tmp_path / name)) == [(1, {"a": "x"})]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    """A file with an unsupported extension is rejected before it is read."""
    listed = r"\.parquet, \.csv, \.tsv, \.txt, \.jsonl, \.json, \.xlsx, \.xlsm, \.xls, \.ods"
    with pytest.raises(EquipoiseError, match=rf"rows\.dta: unsupported file extension '\.dta': give one of {listed}"):
        table_rows(tmp_path / "rows.dta")


def test_the_number_of_rows_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of too many rows, or too large to be held, is one line."""
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n" * 3, encoding="utf-8")
    monkeypatch.setattr(tables, "MOST", 2)

    with pytest.raises(EquipoiseError, match=r"rows\.jsonl, row 3: more than 2 rows: split the file"):
        list(tables.rows_of(path, "rows"))
    monkeypatch.setattr(jsonl, "LARGEST", 8)
    with pytest.raises(
        EquipoiseError, match=r"rows\.jsonl: 0\.0 GiB, more than the 2 GiB that are read at once: split it"
    ):
        list(tables.rows_of(path, "rows"))


def test_a_value_has_at_most_a_hundred_levels(tmp_path: Path) -> None:
    """Deeper ones would exhaust what reads them later; many values beside each other do not add depth."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": ' + "[" * 99 + "]" * 99 + "}\n" + '{"a": [' + "[]," * 500 + "[]]}\n", encoding="utf-8")
    assert len(list(json_rows(path))) == 2

    path.write_text('{"a": ' + "[" * 100 + "]" * 100 + "}\n", encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"row 1: nested too deeply: give flatter values"):
        list(json_rows(path))
