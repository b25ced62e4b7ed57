from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.judge.wordings import PIECE, REACH, Finder, Wording, literal


def finder(*wordings: Any) -> Finder:
    """Compile wordings, as a file has them."""
    return Finder([Wording.model_validate(wording) for wording in wordings])


def found(text: str, *wordings: Any) -> list[str]:
    """List what wordings find in a text, in its order."""
    return [text[start:end] for start, end in sorted(finder(*wordings).places(text))]


def test_an_expression_alone_finds_whole_words_whatever_their_case() -> None:
    """Words are matched whole, at either end of the text too, and capitals are small letters."""
    assert found("Black, blackish, sub-black: BLACK", "black") == ["Black", "black", "BLACK"]


@pytest.mark.parametrize("text", ["naïve", "ünaf", "na漢", "na٣", "na_"])
def test_a_letter_of_any_script_continues_a_word(text: str) -> None:
    """As in Python, where RE2's own word border knows ASCII alone: `na` is not a word of these texts."""
    assert found(text, "na", "naf") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("heroin", True),
        ("no heroin", False),
        ("uses heroin substitutes", False),
        ("no heroin, then heroin", True),
    ],
)
def test_words_are_not_found_in_company_that_is_excluded(text: str, expected: bool) -> None:  # noqa: FBT001
    """One place with excluded company does not hide another without it."""
    wording = {"words": "heroin", "not_after": ["(?:no|without) "], "not_before": [" substitut"]}

    assert finder(wording).finds(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("patient: 70", False),
        ("patient, 70", False),
        ("patient, 70,", True),
        ("70,", False),
        ("patient, 70 years", True),
    ],
)
def test_words_are_found_only_in_the_company_asked_for(text: str, expected: bool) -> None:  # noqa: FBT001
    """Both `after` and `before` must hold, each by one of its expressions; the end of a text is not a space."""
    wording = {"words": "70", "after": ["patient, "], "before": [",", " years"]}

    assert finder(wording).finds(text) is expected


def test_the_end_of_a_text_is_no_company() -> None:
    """What must stand beside the words must be in the text itself."""
    assert not finder({"words": "trans", "before": ["[ .]"]}).finds("trans")
    assert not finder({"words": "trans", "after": [" "]}).finds("trans")


def test_a_place_within_a_place_that_is_refused_is_tried() -> None:
    """`not` stands before `fully insured` but not before `insured`."""
    assert found("not fully insured", {"words": "(?:fully )?insured", "not_after": ["not "]}) == ["insured"]


def test_places_are_those_of_the_text_as_it_was_given() -> None:
    """Characters of several bytes, and half a surrogate pair, count as one."""
    assert list(finder("old").places("é\ud800漢 old 👩 old")) == [(4, 7), (10, 13)]


def test_words_have_no_meaning_but_their_own() -> None:
    """Plain words are matched as they are, whatever characters they hold."""
    assert finder(literal("5' 2\" (old?)")).finds("is 5' 2\" (Old?).")
    assert not finder(literal("o.d")).finds("old")
    assert finder(literal("\ud800")).finds("a \ud800 b")


COMPANY = {"words": "old(?:er)?", "not_after": ["not so "], "before": [" man"]}


@pytest.mark.parametrize("distance", range(-15, 16))
def test_a_long_text_is_read_like_a_short_one(distance: int) -> None:
    """Words, and what stands beside them, are found and refused once, wherever a piece ends: within them, too."""
    filled = "x" * (2 * PIECE + distance - 1)

    assert found(f"{filled} not so old man", COMPANY) == []
    assert found(f"{filled} now so older man", COMPANY) == ["older"]
    assert found(f"{filled}older man", COMPANY) == []


def test_words_and_company_may_be_long() -> None:
    """Words that are nearly as long as the reach are found wherever a piece ends, and so is what stands before them."""
    words, company = "a" * (REACH - 2), f"c{'a' * (REACH - 2)} "

    assert [start for start in range(PIECE - REACH, PIECE + 2) if not finder("a+").finds("." * start + words)] == []
    assert not finder({"words": "b", "not_after": ["ca+ "]}).finds(f"{company}b")


# The same in Python's look-around, which matches whole words as `(?<!\w)` and `(?!\w)` have it.
IN_PYTHON = re.compile(r"(?<!\w)(?:(?<!no )(?<!non-)(?<=[ab]\W)bé?(?! c)(?= |-)|c)(?!\w)")
IN_DATA = Finder(
    [
        Wording(words="bé?", not_after=("no ", "non-"), after=(r"[ab]\W",), not_before=(" c",), before=(" ", "-")),
        Wording(words="c"),
    ]
)


@given(st.lists(st.sampled_from(["a", "b", "bé", "c", "no", "non", " ", "-", "_", "²", "\n", "."]), max_size=12))
def test_what_stands_beside_words_is_what_look_around_sees(pieces: list[str]) -> None:
    """Both find the same places in any text."""
    text = "".join(pieces)

    assert sorted(IN_DATA.places(text)) == [match.span() for match in IN_PYTHON.finditer(text)]
