"""Sheets of cases, and the validity that raters find: figures derived by hand, and the published table of kappa*."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from builders import ROLES, vignette
from equipoise.core.errors import EquipoiseError
from equipoise.core.sheets import table_text
from equipoise.judge.rating.blind import read_table
from equipoise.judge.rating.content import (
    ASKED,
    COLUMNS,
    LISTED,
    Content,
    ContentKey,
    content_sheet,
    is_below,
    modified_kappa,
    rating_rows,
    read_content,
    validity,
)

if TYPE_CHECKING:
    from equipoise.materials.vignette import Vignette

PAIRS = [f"race-{number:02}" for number in range(1, 9)]


def cases(pairs: list[str]) -> list[Vignette]:
    """Give both arms of each pair, with texts of their own."""
    return [vignette(pair, role, text=f"{pair}: the text of the {place}.") for pair in pairs for place, role in ARMS]


ARMS = list(zip(("one", "other"), ROLES, strict=True))


def cells_of(sheet: str) -> list[dict[str, str]]:
    """Read the cells of a sheet."""
    return [cells for _, cells in read_table("c.csv", sheet, COLUMNS)]


def filled(sheet: str, ratings: dict[str, str], note: str = "") -> str:
    """Fill a sheet, whose rows are named by their number: `best_1 best_2 wrong natural`."""
    given = {row: dict(zip(ASKED, rating.split(), strict=False)) for row, rating in ratings.items()}
    return table_text(COLUMNS, [cells | given.get(cells["row"], {}) | {"note": note} for cells in cells_of(sheet)])


def test_a_row_is_a_pair_in_drawn_order() -> None:
    """Every pair has one row with both texts, and key and sheet agree on which is first; sides and order vary."""
    sheet, key = content_sheet(cases(PAIRS), seed=0)
    rows = cells_of(sheet)

    assert sorted(row.pair for row in key) == PAIRS != [row.pair for row in key]
    assert {row.first for row in key} == set(ROLES)
    for cells, row in zip(rows, key, strict=True):
        words = {role: f"{row.pair}: the text of the {place}." for place, role in ARMS}
        other = next(role for role in ROLES if role != row.first)
        assert (cells["row"], cells["text_1"], cells["text_2"]) == (row.key, words[row.first], words[other])
        assert [cells[column] for column in (*ASKED, "note")] == [""] * 5


def test_the_sheet_tells_no_role_and_no_pair() -> None:
    """Beyond the texts themselves nothing names an arm, the pair or its dimension."""
    sheet, _ = content_sheet(
        [case.model_copy(update={"text": f"Case {case.role}."}) for case in cases(["race-01"])], seed=0
    )

    assert "race" not in sheet.replace("text_", "")
    assert sheet.count("marginalised") == sheet.count("privileged") == 1


def test_a_sample_is_part_of_a_larger_one() -> None:
    """Three pairs drawn with a seed are among the five drawn with it; another seed draws others."""
    drawn = {n: {row.pair for row in content_sheet(cases(PAIRS), seed=1, n=n)[1]} for n in (3, 5)}

    assert len(drawn[3]) == 3
    assert drawn[3] < drawn[5]
    assert drawn[5] != {row.pair for row in content_sheet(cases(PAIRS), seed=2, n=5)[1]}


@pytest.mark.parametrize(
    ("rows", "message"), [([], "no rows to rate"), (cases(["race-01"])[:1], "'race-01' lacks an arm")]
)
def test_cases_without_pairs_are_refused(rows: list[Vignette], message: str) -> None:
    """No case at all, and half a pair, are one line each."""
    with pytest.raises(EquipoiseError, match=message):
        content_sheet(rows, seed=0)


def test_ratings_are_read_by_arm() -> None:
    """What is said about text 1 is said about the arm that was first; an empty row is unrated."""
    sheet, key = content_sheet(cases(PAIRS), seed=0)
    names = {row.first: row for row in key}  # one row of each order
    given = {row.key: "1 4 3 2" for row in names.values()}

    ratings = read_content("anna.csv", filled(sheet, given, note=" odd "), key)

    assert ratings == {
        names["marginalised"].pair: Content((1, 4, 3, 2), "odd"),
        names["privileged"].pair: Content((4, 1, 3, 2), "odd"),
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c001": "4 4 4"}, r"anna.csv, row 'c001' \(row 2 of the sheet\): natural is '': write 1, 2, 3 or 4"),
        ({"c002": "4 5 4 4"}, r"row 'c002' \(row 3 of the sheet\): best_2 is '5'"),
        ({"c002": "4 yes 4 4"}, "best_2 is 'yes'"),
        ({}, "anna.csv: no row is rated: fill the columns best_1, best_2, wrong, natural"),
    ],
)
def test_wrong_ratings_are_refused(given: dict[str, str], message: str) -> None:
    """A statement left out, a number off the scale and a word are named with their row, as is an empty sheet."""
    sheet, key = content_sheet(cases(PAIRS), seed=0)

    with pytest.raises(EquipoiseError, match=message):
        read_content("anna.csv", filled(sheet, given), key)


def test_a_sheet_of_another_key_is_refused() -> None:
    """Rows that the key has not, twice, or with other texts or sides, do not join."""
    sheet, key = content_sheet(cases(PAIRS), seed=0)
    rated = filled(sheet, {row.key: "4 4 4 4" for row in key})
    rows = cells_of(rated)
    swapped = [rows[0] | {"text_1": rows[0]["text_2"], "text_2": rows[0]["text_1"]}]

    for sheet_rows, message in (
        ([rows[0], rows[0]], "duplicate row"),
        (swapped, "the texts differ from the key's"),
        ([rows[0] | {"row": "c999"}], "the key has no such row"),
    ):
        with pytest.raises(EquipoiseError, match=message):
            read_content("anna.csv", table_text(COLUMNS, sheet_rows), key)
    spaced = [cells | {"text_1": cells["text_1"].replace(" ", "  ")} for cells in rows]
    assert len(read_content("anna.csv", table_text(COLUMNS, spaced), key)) == len(PAIRS)


@pytest.mark.parametrize(
    ("raters", "agree", "expected"),
    # Polit, Beck and Owen 2007, table 4: number of experts, number who agree, kappa*
    [(3, 3, 1.00), (3, 2, 0.47), (4, 4, 1.00), (4, 3, 0.67), (5, 4, 0.76), (6, 5, 0.81), (7, 6, 0.85), (8, 7, 0.88)],
)
def test_the_published_kappas(raters: int, agree: int, expected: float) -> None:
    """Kappa* of the published table, which reckons with I-CVIs that are rounded to two places."""
    assert modified_kappa(agree, raters) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("i_cvi", "raters", "expected"),
    [(1.0, 2, False), (4 / 5, 5, True), (5 / 6, 6, False), (7 / 9, 9, False), (7 / 10, 10, True)],
)
def test_lynns_least_values(i_cvi: float, raters: int, *, expected: bool) -> None:
    """Of five raters all must agree, of nine seven."""
    assert is_below(i_cvi, raters) is expected


def three_raters() -> tuple[dict[str, dict[str, Content]], list[ContentKey]]:
    """Give three raters' ratings of four pairs, the last of which only two rate."""
    key = [
        ContentKey(key=f"c{n}", study="vignettes", pair=f"p{n}", first="marginalised", texts="x") for n in range(1, 5)
    ]

    def rated(*ratings: str) -> dict[str, Content]:
        numbers = {f"p{n}": tuple(map(int, given)) for n, given in enumerate(ratings, start=1) if given}
        return {pair: Content(given, "a note" if pair == "p2" else "") for pair, given in numbers.items()}

    return {
        "anna": rated("4444", "4443", "4414", "4444"),
        "ben": rated("3434", "2443", "4424", "4444"),
        "cleo": rated("4434", "1443", "4444", ""),
    }, key


def test_content_validity_is_derived_by_hand() -> None:
    """I-CVI, its means, kappa*, and pairs below the least value, for each statement."""
    figures = validity(*three_raters())
    best, wrong = figures["statements"]["best_marginalised"], figures["statements"]["wrong"]

    assert figures["raters"] == {"anna": 4, "ben": 4, "cleo": 3}
    # p1 3 of 3, p2 1 of 3, p3 3 of 3, p4 2 of 2: (1 + 1/3 + 1 + 1) / 4, all agree on 3 of 4
    assert best["s_cvi_ave"] == pytest.approx(10 / 12)
    assert best["s_cvi_ua"] == pytest.approx(3 / 4)
    assert (best["n"], best["below"]) == (4, 1)
    # p2: p = 3 / 8, (1/3 - 3/8) / (5/8) = -1/15; the others 1
    assert best["kappa"] == pytest.approx((3 - 1 / 15) / 4)
    # p3: anna 1 and ben 2 do not agree, cleo does: I-CVI 1/3 and again kappa* -1/15
    assert figures["pairs"][2]["wrong"] == pytest.approx({"i_cvi": 1 / 3, "kappa": -1 / 15})
    assert wrong["s_cvi_ave"] == pytest.approx(10 / 12)
    assert figures["statements"]["natural"]["s_cvi_ua"] == 1


def test_agreement_of_raters_is_derived_by_hand() -> None:
    """Fleiss' kappa over the pairs that all rated, and Cohen's of every two over those that both did."""
    figures = validity(*three_raters())

    # Three pairs, agreeing 3, 1 and 3 of 3: P = (1 + 1/3 + 1) / 3 = 7/9; 7 of 9 ratings agree: P_e = (49 + 4) / 81;
    # (63/81 - 53/81) / (28/81) = 10/28
    assert figures["statements"]["best_marginalised"]["fleiss_kappa"] == pytest.approx(10 / 28)
    assert figures["statements"]["natural"]["fleiss_kappa"] is None
    between = {tuple(comparison["raters"]): comparison for comparison in figures["between"]}
    assert {names: comparison["n"] for names, comparison in between.items()} == {
        ("anna", "ben"): 4,
        ("anna", "cleo"): 3,
        ("ben", "cleo"): 3,
    }
    # ben and cleo agree on all three pairs, of which they find one wanting; anna finds none wanting: P = P_e = 2/3
    assert between["ben", "cleo"]["kappa"]["best_marginalised"] == pytest.approx(1)
    assert between["anna", "cleo"]["kappa"]["best_marginalised"] == pytest.approx(0)
    assert between["anna", "ben"]["kappa"]["natural"] is None


def test_the_list_begins_with_the_least_valid() -> None:
    """Each pair and statement is a row, by I-CVI, with what the raters noted."""
    rows = rating_rows(validity(*three_raters()))

    assert len(rows) == 4 * 4
    assert [(row["pair"], row["statement"], row["i_cvi"]) for row in rows[:2]] == [
        ("p2", "best_marginalised", "0.33"),
        ("p3", "wrong", "0.33"),
    ]
    assert rows[0]["notes"] == "anna: a note; ben: a note; cleo: a note"
    assert tuple(rows[0]) == LISTED


def test_one_rater_measures_no_agreement() -> None:
    """A single sheet, and sheets without a pair in common, are one line each."""
    rated, key = three_raters()
    alone: Any = {"anna": {"p1": rated["anna"]["p1"]}, "ben": {"p2": rated["ben"]["p2"]}}

    with pytest.raises(
        EquipoiseError, match="anna: one rater is not enough for agreement: give the sheets of two or more"
    ):
        validity({"anna": rated["anna"]}, key)
    with pytest.raises(EquipoiseError, match="anna, ben: no pair was rated by two"):
        validity(alone, key)
