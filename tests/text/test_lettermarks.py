"""Tests of the places where a text names an option."""

from __future__ import annotations

import pytest

from equipoise.text.lettermarks import find_marks

OPTIONS = {"A": "Aspirin", "B": "B cells", "C": "Cystic fibrosis (CF)", "D": "8"}


def named(text: str) -> list[tuple[str, bool]]:
    """Give letter and kind of every mark."""
    return [(mark.letter, mark.by_letter) for mark in find_marks(text, OPTIONS)]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Take C.", [("C", True)]),
        ("aspirin", [("A", False)]),
        ("B cells", [("B", False)]),  # the letter belongs to the words
        ("CF", [("C", False)]),  # the abbreviation in the option's brackets
        ("cystic  fibrosis", [("C", False)]),  # any white space
        ("A and C", []),  # joined: neither is the answer
        ("C, and A is wrong", [("C", True), ("A", True)]),  # a new clause is no list
        ("a cough", []),
        ("C-reactive protein", []),
        ("C. difficile", []),
        ("18 units, 8.5 or 8%", []),  # a number inside a number
        ("8 units", [("D", False)]),
    ],
)
def test_marks(text: str, marks: list[tuple[str, bool]]) -> None:
    """A mark is a letter that is no word, or the words of an option as a whole."""
    assert marks == named(text)


def test_list_said_over_is_dropped() -> None:
    """Three options in a row, each with its words, name none of them."""
    assert named("A. Aspirin B. B cells C. Cystic fibrosis") == []
