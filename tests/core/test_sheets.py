"""Tests of tables as spreadsheets save them."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.sheets import csv_rows, import_problem
from equipoise.core.tables import is_missing, json_rows, table_rows

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [(1, {"id": "a", "text": "Ménière, or a stroke"}), (2, {"id": "b", "text": None})]
"""The rows of each file below."""
COMMAS = 'id,text\n"a","Ménière, or a stroke"\nb,\n'
OTHERS = "id{0}text\na{0}Ménière, or a stroke\nb{0}\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", COMMAS.encode()),
        ("t.CSV", COMMAS.encode("utf-8-sig")),
        ("t.csv", COMMAS.encode("cp1252")),
        ("t.csv", COMMAS.encode("utf-16")),
        ("t.txt", OTHERS.format("\t").encode("utf-16")),
        ("t.tsv", OTHERS.format("\t").encode("utf-16-le")),
        ("t.csv", OTHERS.format(";").replace("\n", "\r\n").encode("cp1252")),
        ("t.csv", OTHERS.format("|").encode()),
        ("t.csv", b"sep=,\r\n" + COMMAS.encode()),
        ("t.csv", b'"sep=;"\n' + OTHERS.format(";").encode()),
        ("t.csv", ("SEP=\t\n" + OTHERS.format("\t")).encode()),
        ("t.csv", b',,\n\nid,text,,\na,"M\xc3\xa9ni\xc3\xa8re, or a stroke",,\nb,,,\n,,,\n , ,\n\n'),
        ("t.csv", b',id , text\n0,a,"M\xc3\xa9ni\xc3\xa8re, or a stroke"\n1,b,\n'),
    ],
)
def test_one_table_in_many_dresses(tmp_path: Path, name: str, content: bytes) -> None:
    """Separator, encoding, a line `sep=`, empty rows and columns, and an index change nothing about the rows."""
    (tmp_path / name).write_bytes(content)

    assert list(table_rows(tmp_path / name)) == ROWS


def test_empty_rows_between_others_count_in_the_numbers(tmp_path: Path) -> None:
    """Row 3 of the file is row 3 of the messages, though row 2 is empty."""
    (tmp_path / "t.csv").write_text("id;text\na;x\n;\nb;y\n", encoding="utf-8")

    assert [number for number, _ in csv_rows(tmp_path / "t.csv")] == [1, 3]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("id;text\na;x;y\n", r"row 1: 3 cells, 2 columns, separated by semicolons: quote cells that have such a "),
        ("id,,text\na,q,y\n", r"row 1: column 2 has no name: name it in the header"),
        ("id,text,id\n", r"duplicate column 'id': rename one of them"),
        ("id,text,\na,b,c\n", r"row 1: 3 cells, 2 columns, separated by commas"),
    ],
)
def test_cells_without_a_column_are_refused(tmp_path: Path, text: str, fault: str) -> None:
    """No cell is lost: one beyond the header, or under no name, is named with its row."""
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")

    with pytest.raises(EquipoiseError, match=rf"t\.csv(, |: ){fault}"):
        list(csv_rows(tmp_path / "t.csv"))


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    """Bytes that no known encoding has are one line."""
    (tmp_path / "t.csv").write_bytes(b"id,text\na,\x81\x8d\n")

    with pytest.raises(EquipoiseError, match=r"t\.csv: neither UTF-8, UTF-16 nor code page 1252 .*: save it as CSV"):
        list(csv_rows(tmp_path / "t.csv"))


@pytest.fixture
def workbook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, pd.DataFrame]:
    """Have pandas read these sheets, whatever package is installed for them."""
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    sheets = {"Data": pd.DataFrame([["id", "text", ""], ["a", ROWS[0][1]["text"], ""], ["", "", ""], ["b", "", ""]])}
    monkeypatch.setattr(pd, "read_excel", lambda *_, **__: sheets)
    return sheets


def test_a_spreadsheet_is_read_as_its_csv(tmp_path: Path, workbook: dict[str, pd.DataFrame]) -> None:
    """Header and cells are those of its sheet; a second sheet with cells has to be chosen by the user."""
    workbook["Empty"] = pd.DataFrame()
    assert [row for _, row in table_rows(tmp_path / "t.xlsx")] == [row for _, row in ROWS]

    workbook["Notes"] = pd.DataFrame([["x"]])
    with pytest.raises(EquipoiseError, match=r"2 sheets have cells \(Data, Notes\): save the one to read as CSV"):
        list(table_rows(tmp_path / "t.xlsx"))


@pytest.mark.parametrize("ending", ["xlsx", "XLSX", "ods"])
def test_a_spreadsheet_needs_its_package(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without openpyxl or odfpy one line says what to install, or how to do without."""
    (tmp_path / f"t.{ending}").write_bytes(b"PK")

    def read(*_: Any, **__: Any) -> None:
        raise ImportError("Missing optional dependency")

    monkeypatch.setattr(pd, "read_excel", read)
    for module in ("openpyxl", "odf"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EquipoiseError, match=r": reading it needs (openpyxl|odfpy): run `pip install \1`, or save it"):
        list(table_rows(tmp_path / f"t.{ending}"))


def test_a_broken_package_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is there, the message has the import of it that fails."""
    monkeypatch.setattr("equipoise.core.sheets.find_spec", lambda _: importlib.util.find_spec("csv"))
    problem = import_problem("inspect-ai", ModuleNotFoundError("No module named 'fsspec'", name="fsspec"))

    assert problem.startswith("inspect-ai is installed, but one of its imports fails (ModuleNotFoundError: No module")
    assert problem.endswith("run `pip install -U inspect-ai`")


def test_nan_in_a_row_of_others_is_missing(tmp_path: Path) -> None:
    """Python writes NaN and infinities, which JSON has not; a file may also hold one list of rows."""
    (tmp_path / "t.jsonl").write_text('{"a": NaN, "b": [-Infinity, 1]}\n', encoding="utf-8")
    (tmp_path / "list.jsonl").write_text('[\n {"a": 1},\n {"a": Infinity}\n]', encoding="utf-8")

    assert list(json_rows(tmp_path / "t.jsonl")) == [(1, {"a": None, "b": [None, 1]})]
    assert list(json_rows(tmp_path / "list.jsonl")) == [(1, {"a": 1}), (2, {"a": None})]


@pytest.mark.parametrize("value", ["nan", " NaN ", "None", "null", "N/A", "#N/A", "NA", "", None, [], float("nan")])
def test_texts_that_stand_for_a_missing_value(value: object) -> None:
    """They are those that pandas, R and spreadsheets write."""
    assert is_missing(value)


@pytest.mark.parametrize("value", ["None of these", "sodium", "nanophthalmos", 0, False, 0.0])
def test_values_that_are_there(value: object) -> None:
    """A text that only begins like one of them is a value, and so is 0."""
    assert not is_missing(value)
