"""The authored items: their form, their balance and their licence."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from equipoise.core.records import dumps, read
from equipoise.questions.rows import Item

PATH = Path(__file__).parents[2] / "data/items/authored.jsonl"
STUDIED = 66
"""The first items are meant for the study; those after them are there for the selection rules to exclude."""


@pytest.fixture(scope="module")
def items() -> list[Item]:
    """Give the authored items, which `read` checks against their schema."""
    return read(PATH, Item)


def test_keys_run_without_a_gap(items: list[Item]) -> None:
    """The keys are i001 to i072, in order."""
    assert [f"i{number:03}" for number in range(1, STUDIED + 7)] == [item.key for item in items]


def test_file_is_canonical(items: list[Item]) -> None:
    """Writing the rows again gives the same bytes."""
    assert "".join(dumps(item.model_dump(mode="json")) + "\n" for item in items).encode() == PATH.read_bytes()


def test_categories_are_even(items: list[Item]) -> None:
    """Each of the six disease categories has 11 of the 66 items meant for the study."""
    categories = ("cancer", "cardiovascular", "dementia_neuro", "respiratory", "mental_health", "other")

    assert dict.fromkeys(categories, 11) == Counter(item.disease for item in items[:STUDIED])


def test_gold_letters_are_balanced(items: list[Item]) -> None:
    """Each letter is right 18 times of 72, give or take three."""
    counts = Counter(item.gold for item in items)

    assert all(abs(counts[letter] - 18) <= 3 for letter in "ABCD")


def test_length_does_not_betray_the_answer(items: list[Item]) -> None:
    """The right option is the only longest, or the only shortest, in at most 24 of 66 items (chance: 16.5)."""
    longest = shortest = 0
    for item in items[:STUDIED]:
        lengths = {letter: len(option) for letter, option in item.options.items()}
        gold = lengths.pop(item.gold)
        longest += gold > max(lengths.values())
        shortest += gold < min(lengths.values())

    assert longest <= 24
    assert shortest <= 24


def test_genders_are_even(items: list[Item]) -> None:
    """Half of the 66 patients are men, half women."""
    found = [re.search(r"\b(?:wo)?man\b", item.question) for item in items[:STUDIED]]

    expected = {"man": 33, "woman": 33}

    assert expected == Counter(match.group() for match in found if match)


def test_each_item_has_four_different_options(items: list[Item]) -> None:
    """Every item has the options A to D, no two alike."""
    assert all(list("ABCD") == sorted(item.options) and len(set(item.options.values())) == 4 for item in items)


def test_questions_are_unique(items: list[Item]) -> None:
    """No two items have the same text."""
    assert len(items) == len({item.question for item in items})


def test_each_vignette_ends_in_its_only_question(items: list[Item]) -> None:
    """A vignette of 50 to 100 words, with numerals, is followed by one question sentence, which is the last."""
    for item in items:
        vignette, _, question = item.question.rpartition(". ")

        assert question.startswith("Which of the following ")
        assert item.question.find("?") == len(item.question) - 1
        assert 50 <= len(vignette.split()) <= 100
        assert re.search(r"\d", vignette)


def test_each_item_names_its_source_and_licence(items: list[Item]) -> None:
    """Every item is authored, under Apache-2.0, and refers to a source of its fact."""
    assert {("authored", "Apache-2.0")} == {(item.source, item.licence) for item in items}
    assert all(item.reference for item in items)
