from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from equipoise.core.errors import EquipoiseError
from equipoise.rating.cells import BOM, neutral, read_table, restored, table_text

NASTY = st.one_of(st.text(), st.text(alphabet="=+-@'\" \t\r\n,;\ufeff＝é漢a"))


@given(NASTY)
@example("'=1+1")
@example("''\t-")
@example("\ufeff@")
def test_every_text_comes_back(text: str) -> None:
    """What is made neutral is restored, whatever apostrophes it had before."""
    assert restored(neutral(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "- asthma",
        "@SUM(A1)",
        "\t=1",
        "\rx",
        "\nx",
        "  =1",
        '"=1',
        " '\"+1",
        "\u00a0=1",
        "\ufeff=1",
        "＝1",
    ],
)
def test_what_a_spreadsheet_may_compute_is_marked(text: str) -> None:
    """Signs of a formula at the beginning, also after white space and quotes, get an apostrophe in front."""
    assert neutral(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a = b", "'tis", "1 - 2", "  x", "don't", '"quoted"', "<b>=1</b>"])
def test_other_texts_stay(text: str) -> None:
    """A text that is no formula is neither marked nor, on reading, changed."""
    assert neutral(text) == text == restored(text)


@given(st.lists(st.tuples(NASTY, NASTY), max_size=5))
def test_tables_come_back(rows: list[tuple[str, str]]) -> None:
    """No text breaks a row: the table that is read is the one that was laid out, with no cell left to compute."""
    table = [{"name": f"r{number}", "one": one, "other": other} for number, (one, other) in enumerate(rows)]
    text = table_text(["name", "one", "other"], table)

    assert [row for _, row in read_table("t.csv", text, ["name", "one", "other"])] == table
    for cells in csv.reader(io.StringIO(text.removeprefix(BOM), newline="")):
        assert not any(cell.lstrip(" \"'").startswith(("=", "+", "@")) and not cell.startswith("'") for cell in cells)


def test_long_cells_are_read() -> None:
    """A text longer than the csv module takes by default is read, and its limit is left as it was."""
    limit = csv.field_size_limit()
    ((_, row),) = read_table("t.csv", table_text(["a"], [{"a": "x" * 200_000}]), ["a"])

    assert len(row["a"]) == 200_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_spreadsheets_save_is_read(delimiter: str) -> None:
    """Other delimiters, columns in another order, empty rows and columns and missing last cells do no harm."""
    lines = [["Two", "one", ""], ["2", "1", ""], ["", "", ""], ["'=4", "3"], ["5"]]
    text = "\r\n".join(delimiter.join(line) for line in lines)

    assert read_table("t.csv", text, ["one", "two"]) == [
        (2, {"one": "1", "two": "2"}),
        (4, {"one": "3", "two": "=4"}),
        (5, {"one": "", "two": "5"}),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "t.csv: the columns are none: give back a, b"),
        ("a,c\n1,2\n", "t.csv: the columns are a, c: give back a, b"),
        ("a,b,a\n1,2,3\n", "t.csv: the columns are a, b, a: give back a, b"),
        ("a,b\n1,2,3\n", "t.csv, row 2 of the sheet: more cells than columns: put quotes around the text"),
        ('a,b\n1,2\n3,"4\n', "t.csv, after row 2 of the sheet: not CSV"),
    ],
)
def test_faults_are_named(text: str, fault: str) -> None:
    """Other columns, too many cells and an open quote are told with the file, the row and the mend."""
    with pytest.raises(EquipoiseError) as caught:
        read_table("t.csv", text, ["a", "b"])

    assert str(caught.value).startswith(fault)
