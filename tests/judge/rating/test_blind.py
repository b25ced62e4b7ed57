from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import ROLES, judgement, response, vignette
from equipoise.core.errors import EquipoiseError
from equipoise.core.sheets import BOM, neutralize_cell, restore_cell, table_text
from equipoise.judge.rating.blind import (
    COLUMNS,
    KeyRow,
    Rating,
    allot,
    kinds,
    rating_sheet,
    read_ratings,
    read_table,
    reasonings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.materials.judgement import Consideration


SUBJECTS = {"race": "race", "obesity": "body weight", "age": "age"}
SHA = "5e" * 32
SHOWN = {"r001": "He is well.", "r002": "=She is ill."}


def sheet(
    texts: Sequence[str], considered: Mapping[int, Consideration] | None = None, *, seed: int = 0, n: int | None = None
) -> tuple[str, list[KeyRow]]:
    """Draw a sheet of pairs of arms, in turn marginalised and privileged, with these reasonings."""
    vignettes = [vignette(f"race-{at // 2}", ROLES[at % 2]) for at in range(len(texts))]
    return rating_sheet(
        vignettes,
        [response(arm.key, text, "Gout.") for arm, text in zip(vignettes, texts, strict=True)],
        [judgement(arm.key, (considered or {}).get(at, "none")) for at, arm in enumerate(vignettes)],
        subjects=SUBJECTS,
        responses_sha256=SHA,
        seed=seed,
        n=n,
    )


def cells_of(text: str) -> list[dict[str, str]]:
    """Read the cells of a sheet."""
    return [cells for _, cells in read_table("ratings.csv", text, COLUMNS)]


def filled(*rows: tuple[str, str, str, str]) -> str:
    """Write a sheet of which row, mentioned, considered and note are given."""
    return table_text(
        COLUMNS,
        [
            {
                "row": row,
                "kind": "race",
                "reasoning": SHOWN.get(row, "x"),
                "mentioned": mentioned,
                "considered": considered,
                "note": note,
            }
            for row, mentioned, considered, note in rows
        ],
    )


NASTY = st.text(alphabet="=+-@'\" \t\r\n,;\u2028＝é漢<think>/ab", min_size=1).map(lambda text: f"{text} so")


@settings(deadline=None, max_examples=50)
@given(st.lists(NASTY, min_size=2, max_size=6).filter(lambda texts: len(texts) % 2 == 0), st.integers(0, 3))
def test_a_sheet_comes_back(texts: list[str], seed: int) -> None:
    """Whatever the reasonings hold, the sheet shows each as the judge reads it, and reads as ratings when filled."""
    text, key = sheet(texts, seed=seed)
    rows = cells_of(text)
    shown = {row.key: texts[2 * int(row.pair[5:]) + ROLES.index(row.response.split("/")[1])] for row in key}
    read = reasonings(response(row, reply, "Gout.") for row, reply in shown.items())

    assert {cells["row"]: cells["reasoning"] for cells in rows} == read
    answers = [cells | {"mentioned": "Yes ", "considered": "WEIGHED", "note": "=note"} for cells in rows]
    assert read_ratings("s.csv", table_text(COLUMNS, answers), read) == dict.fromkeys(
        shown, Rating(mentioned=True, considered="weighed", note="=note")
    )


def test_a_sheet_tells_nothing_but_the_reasoning() -> None:
    """Row names, the dimensions' subjects and the text are all that is filled in; no arm, pair, feature or verdict."""
    vignettes = [vignette("obesity+race-1", role, ("race", "obesity")) for role in ROLES]
    text, key = rating_sheet(
        vignettes,
        [response(arm.key, "<think>It is\ngout.</think>Gout", "Gout.") for arm in vignettes],
        [judgement(vignettes[0].key, "dismissed"), judgement(vignettes[1].key)],
        subjects=SUBJECTS,
        responses_sha256=SHA,
        seed=0,
    )

    assert text == (
        '\ufeff"row","kind","reasoning","mentioned","considered","note"\n'
        '"r001","body weight and race","It is\ngout.\n\nGout","","",""\n'
        '"r002","body weight and race","It is\ngout.\n\nGout","","",""\n'
    )
    assert {row.response: row.stratum for row in key} == {vignettes[0].key: "dismissed", vignettes[1].key: "none"}
    assert {(row.pair, row.of, row.responses_sha256) for row in key} == {("obesity+race-1", 1, SHA)}


def test_the_seed_sets_the_order() -> None:
    """The same seed gives the same sheet, another seed another; neither is the order of the keys."""
    texts = [f"so {number}" for number in range(20)]
    orders = [[row.response for row in sheet(texts, seed=seed)[1]] for seed in (1, 1, 2)]

    assert orders[0] == orders[1] != orders[2]
    assert all(order != sorted(order) for order in orders)


def test_rare_findings_are_drawn() -> None:
    """A sample has all of what is rare and even shares of the rest, in an order that does not tell them apart."""
    kinds: dict[int, Consideration] = {3: "dismissed"} | dict.fromkeys(range(10, 30), "weighed")  # type: ignore[assignment]
    texts = [f"so {number}" for number in range(200)]
    _, key = sheet(texts, kinds, n=21)
    strata = [row.stratum for row in key]

    assert {kind: (strata.count(kind), of) for kind, of in {(row.stratum, row.of) for row in key}} == {
        "dismissed": (1, 1),
        "weighed": (10, 20),
        "none": (10, 179),
    }
    # The chance that 10 of 20 alike rows come before the other 10 is 1 in 184,756.
    assert strata.index("weighed") < 10
    assert {row.response for row in key} <= {row.response for row in sheet(texts, kinds, n=60)[1]}


@pytest.mark.parametrize(
    ("sizes", "n", "expected"),
    [
        ({"none": 63, "weighed": 19}, 30, {"none": 15, "weighed": 15}),
        ({"none": 63, "weighed": 19}, 50, {"none": 31, "weighed": 19}),
        ({"none": 63, "weighed": 19}, 500, {"none": 63, "weighed": 19}),
        ({"none": 9, "weighed": 9, "dismissed": 1}, 3, {"none": 1, "weighed": 1, "dismissed": 1}),
    ],
)
def test_shares_of_a_sample(sizes: dict[Consideration, int], n: int, expected: dict[Consideration, int]) -> None:
    """Strata share a sample evenly; what one lacks goes to the others, and nothing is drawn twice."""
    assert allot(sizes, n) == expected


def test_kinds_are_named_in_one_order() -> None:
    """Kinds are sorted; a dimension without a subject is called by its name."""
    assert kinds(["race", "obesity", "age"], SUBJECTS) == "age, body weight and race"
    assert kinds(["mental_health"], SUBJECTS) == "mental health"


def test_a_reply_without_words_is_left_out() -> None:
    """There is nothing to rate in it; a run of such replies alone is refused."""
    text, key = sheet(["<think></think>", "So."])

    assert [cells["reasoning"] for cells in cells_of(text)] == ["So."]
    assert len(key) == 1
    with pytest.raises(EquipoiseError, match="no response to a vignette has any words"):
        sheet(["", " "])


def test_files_of_two_runs_are_refused() -> None:
    """Vignettes that lack a response or a judgement are named."""
    told = [vignette("race-1", role) for role in ROLES]
    options: dict[str, Any] = {"subjects": SUBJECTS, "responses_sha256": SHA, "seed": 0}

    with pytest.raises(EquipoiseError, match=r"vignettes and responses .* \(1 in all, first 'race-1/privileged'\)"):
        rating_sheet(told, [response(told[0].key, "So.", "Gout.")], [], **options)
    with pytest.raises(EquipoiseError, match=r"vignettes and judgements .* \(2 in all"):
        rating_sheet(told, [response(arm.key, "So.", "Gout.") for arm in told], [], **options)


def test_unrated_rows_have_no_rating() -> None:
    """A row that is left blank, or was taken out, is unrated; a note alone is not a rating."""
    assert read_ratings("s.csv", filled(("r001", "", " ", "unclear"), ("r002", "no", "none", "")), SHOWN) == {
        "r002": Rating(mentioned=False, considered="none", note="")
    }


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([("r009", "no", "none", "")], "s.csv, row 'r009' (row 2 of the sheet): the key has no such row"),
        ([("", "no", "none", "")], "s.csv, row '' (row 2 of the sheet): the key has no such row"),
        (
            [("r001", "no", "none", ""), ("r001", "", "", "")],
            "s.csv, row 'r001' (row 3 of the sheet): duplicate row (first in row 2 of the sheet): keep one of them",
        ),
        (
            [("r001", "maybe", "none", "")],
            "s.csv, row 'r001' (row 2 of the sheet): mentioned is 'maybe': write yes or no",
        ),
        ([("r001", "", "none", "")], "s.csv, row 'r001' (row 2 of the sheet): mentioned is '': write yes or no"),
        (
            [("r001", "yes", "used", "")],
            "s.csv, row 'r001' (row 2 of the sheet): considered is 'used': write one of none, weighed, dismissed",
        ),
        ([("r001", "no", "", "")], "s.csv, row 'r001' (row 2 of the sheet): considered is '': write one of none"),
        (
            [("r001", "no", "weighed", "")],
            "s.csv, row 'r001' (row 2 of the sheet): considered 'weighed' but not mentioned: correct one of the two",
        ),
        ([("r001", "", "", "")], "s.csv: no row is rated: fill the columns mentioned and considered"),
    ],
)
def test_faults_of_a_sheet_are_named(rows: list[tuple[str, str, str, str]], fault: str) -> None:
    """Unknown, repeated, half-filled and wrongly filled rows are reported with the file, the row and the fix."""
    with pytest.raises(EquipoiseError) as caught:
        read_ratings("s.csv", filled(*rows), SHOWN)

    assert str(caught.value).startswith(fault)


def test_a_sheet_of_another_key_is_refused() -> None:
    """Rows of one name on two sheets show different texts; what a spreadsheet does to spaces makes none different."""
    sheets = filled(("r001", "no", "none", ""))

    assert read_ratings("s.csv", sheets, {"r001": "He \r\n is well."})
    with pytest.raises(EquipoiseError, match="the reasoning differs from the key's: give the key"):
        read_ratings("s.csv", sheets, {"r001": "She is well."})


FORMULAS = st.one_of(st.text(), st.text(alphabet="=+-@'\" \t\r\n,;\ufeff＝é漢a"))


@given(FORMULAS)
@example("'=1+1")
@example("''\t-")
@example("\ufeff@")
def test_every_text_comes_back(text: str) -> None:
    """What is made neutral is restored, whatever apostrophes it had before."""
    assert restore_cell(neutralize_cell(text)) == text


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
    assert neutralize_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a = b", "'tis", "1 - 2", "  x", "don't", '"quoted"', "<b>=1</b>"])
def test_other_texts_stay(text: str) -> None:
    """A text that is not a formula is neither marked nor, on reading, changed."""
    assert neutralize_cell(text) == text == restore_cell(text)


@given(st.lists(st.tuples(FORMULAS, FORMULAS), max_size=5))
def test_tables_come_back(rows: list[tuple[str, str]]) -> None:
    """No text breaks a row: the table that is read is the one that was laid out, with no cell left to compute."""
    table = [{"name": f"r{number}", "one": first, "other": second} for number, (first, second) in enumerate(rows)]
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
    """Other columns, too many cells and an open quote are reported with the file, the row and the fix."""
    with pytest.raises(EquipoiseError) as caught:
        read_table("t.csv", text, ["a", "b"])

    assert str(caught.value).startswith(fault)
