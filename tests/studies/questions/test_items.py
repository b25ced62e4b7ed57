"""The authored items: their form, their balance and their licence."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from equipoise.core.jsonl import dumps, read
from equipoise.materials.questions import Item
from equipoise.studies.questions.neutralize import neutralize_items
from equipoise.studies.questions.rows import Neutralized
from equipoise.text.neutral.lexicon import load_lexicon

PATH = Path(__file__).parents[3] / "data/items/authored.jsonl"
N = 126
DECOYS = {
    "i067": "decisive_sex",
    "i068": "decisive_sex",
    "i069": "decisive_race",
    "i070": "no_patient",
    "i071": "needs_picture",
    "i072": "decisive_ses",
}
"""The items that are there for the selection rules to exclude, and the rule that does."""
GENDERED = re.compile(r"\b(?:s?he|his|hers?|him|wo?m[ae]n|wife|husband|brother|sister)\b", re.IGNORECASE)
WORK = re.compile(r"\b(?:works as|who works|a retired|student|on the staff)\b")


@pytest.fixture(scope="module")
def items() -> list[Item]:
    """Give the authored items, which `read` checks against their schema."""
    return read(PATH, Item)


@pytest.fixture(scope="module")
def studied(items: list[Item]) -> list[Item]:
    """Give the items that are meant for the study."""
    return [item for item in items if item.key not in DECOYS]


@pytest.fixture(scope="module")
def neutralized(items: list[Item]) -> list[Neutralized]:
    """Give the neutral form of every item."""
    return neutralize_items(items, load_lexicon(PATH.parents[1] / "lexicon"))


def test_keys_run_without_a_gap(items: list[Item]) -> None:
    """The keys are i001 to i126, in order."""
    assert [f"i{number:03}" for number in range(1, N + 1)] == [item.key for item in items]


def test_only_the_decoys_are_excluded(neutralized: list[Neutralized]) -> None:
    """The selection rules keep all items that are meant for the study, and find the others."""
    assert {row.key: row.excluded for row in neutralized if row.excluded} == DECOYS


def test_file_is_canonical(items: list[Item]) -> None:
    """Writing the rows again gives the same bytes."""
    assert "".join(dumps(item.model_dump(mode="json")) + "\n" for item in items).encode() == PATH.read_bytes()


def test_categories_are_even(studied: list[Item]) -> None:
    """Each of the six disease categories has 20 of the 120 items meant for the study."""
    categories = ("cancer", "cardiovascular", "dementia_neuro", "respiratory", "mental_health", "other")

    assert dict.fromkeys(categories, 20) == Counter(item.disease for item in studied)


def test_gold_letters_are_balanced(items: list[Item]) -> None:
    """Each letter is right 31 or 32 times of 126."""
    counts = Counter(item.gold for item in items)

    assert sorted(counts[letter] for letter in "ABCD") == [31, 31, 32, 32]


def test_length_does_not_betray_the_answer(studied: list[Item]) -> None:
    """The right option is the only longest, or the only shortest, in at most 36 of 120 items (chance: at most 30)."""
    longest = shortest = 0
    for item in studied:
        lengths = {letter: len(option) for letter, option in item.options.items()}
        gold = lengths.pop(item.gold)
        longest += gold > max(lengths.values())
        shortest += gold < min(lengths.values())

    assert longest <= 36
    assert shortest <= 36


def test_genders_are_even(studied: list[Item]) -> None:
    """Half of the 120 patients are men, half women."""
    matches = [re.search(r"\b(?:wo)?man\b", item.question) for item in studied]

    expected = {"man": 60, "woman": 60}

    assert expected == Counter(match.group() for match in matches if match)


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


def test_a_third_is_harder_than_finals(items: list[Item]) -> None:
    """Every item says how hard it is, and at least 42 of 126 are of membership level."""
    assert all(item.difficulty for item in items)
    assert sum(item.difficulty == "membership" for item in items) >= N // 3


def test_disparities_name_group_and_paper(studied: list[Item]) -> None:
    """At least 24 items are about a documented disparity, each with a group and a paper with its year."""
    disparities = [item.disparity for item in studied if item.disparity]

    assert len(disparities) >= 24
    assert all(re.search(r"\b(?:19|20)\d\d\b", disparity.source) for disparity in disparities)


def test_every_patient_has_an_acuity(studied: list[Item]) -> None:
    """How pressing the illness is decides which backgrounds fit, so each item meant for the study says it."""
    assert all(item.acuity for item in studied)


def test_no_option_has_a_gender(items: list[Item]) -> None:
    """Options are shown as they are to every group: none speaks of the patient as he or she."""
    assert [option for item in items for option in item.options.values() if GENDERED.search(option)] == []


def test_no_work_contradicts_an_income(studied: list[Item]) -> None:
    """No patient has an occupation, which would contradict one of the two incomes."""
    assert [item.key for item in studied if WORK.search(item.question)] == []


def test_what_depends_on_race_is_told_without_it(items: list[Item]) -> None:
    """Melanoma is many times rarer in Black patients, and a finger oximeter reads too high: no variants about race."""
    assert {item.key: item.exclude for item in items if item.exclude} == {"i055": ("race",), "i076": ("race",)}


@pytest.mark.parametrize("wrong", [r"\b[Tt]hey (?:is|was|has)\b", r"\b(?:s?he|his|her|him)\b", r"\band are eased\b"])
def test_neutral_forms_read_well(neutralized: list[Neutralized], wrong: str) -> None:
    """Verbs agree with they, and no gendered pronoun is left."""
    assert [row.key for row in neutralized if re.search(wrong, row.neutral)] == []
