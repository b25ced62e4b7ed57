"""Tests of what commands print for people: tables where there is room for them, and blocks where there is none."""

from __future__ import annotations

import pytest
from rich.text import Text

from equipoise.core import printing
from equipoise.core.display import number, signed

TITLE = "Figures"
NAME = "difference in the probability of the documented error"
INTERVAL = "-0.019 to 0.039"


def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    """Print a table of two rows, the second without an interval, on a terminal of so many columns."""
    monkeypatch.setenv("COLUMNS", str(width))
    table = printing.plain_table(TITLE, ("figure", "n", "95 %\ninterval"))
    table.add_row(NAME, "41", INTERVAL)
    table.add_row(Text("gap"), "7", "")
    printing.show(table, "one line")
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_figure_that_rounds_to_zero_has_no_sign() -> None:
    """A figure or a change that rounds to 0 has no sign."""
    # -0.0004 rounds to -0.000; -0.0006 to -0.001.
    assert (number(-0.0004), number(0.0), number(-0.0006)) == ("0.000", "0.000", "\N{MINUS SIGN}0.001")
    assert (signed(-0.0004), signed(0.0006)) == ("0.000", "+0.001")


def test_a_table_with_room_stays_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The name has 53 columns, n 2 and the interval 15; with two gaps they need 72."""
    assert len(NAME) + 2 + len(INTERVAL) + 2 == 72
    assert f"{NAME} 41 {INTERVAL}" in shown(capsys, monkeypatch, 72)


def test_a_title_longer_than_its_table_is_not_broken(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has three columns of one letter with gaps, five in all, and its title has more."""
    table = printing.plain_table("a title of 20 letters", ("a", "b", "c"))
    table.add_row("1", "2", "3")
    printing.show(table)

    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "a title of 20 letters",
        "a b c",
        "1 2 3",
    ]


def test_a_table_without_room_is_printed_as_blocks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One column less, and each row is its name, with what else it has below; empty cells are left out."""
    assert shown(capsys, monkeypatch, 71) == [
        TITLE,
        NAME,
        f"  n: 41; 95 % interval: {INTERVAL}",
        "gap",
        "  n: 7",
        "one line",
    ]


def test_cells_that_need_more_than_two_lines_have_one_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal of 60 columns has room for two cells of 25 a line, so that five would need three lines."""
    monkeypatch.setenv("COLUMNS", "60")
    table = printing.plain_table(None, ("model", *"abcde"))
    table.add_row("one", *(letter * 22 for letter in "abcde"))
    printing.show(table)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    assert lines == ["one", *(f"  {letter}: {letter * 22}" for letter in "abcde")]
