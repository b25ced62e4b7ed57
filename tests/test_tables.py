"""Tests of the reader of other people's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from equipoise.errors import EquipoiseError
from equipoise.tables import json_rows, parquet_rows

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_are_numbered_by_line(tmp_path: Path) -> None:
    """An empty line has no row, and keeps the count."""
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n\n{"a": "x\u2028y"}\n', encoding="utf-8")

    assert list(json_rows(tmp_path / "rows.jsonl")) == [(1, {"a": 1}), (3, {"a": "x\u2028y"})]


@pytest.mark.parametrize("line", ["{", "[1]"])
def test_bad_row_is_named(tmp_path: Path, line: str) -> None:
    """A line that is no JSON object is named by its number."""
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
    """A file that is no parquet, or that nothing here can read, is one clear error."""
    (tmp_path / "rows.parquet").write_bytes(b"no parquet")

    with pytest.raises(EquipoiseError, match=r"rows\.parquet: (reading parquet needs pyarrow|cannot be read)"):
        list(parquet_rows(tmp_path / "rows.parquet"))
