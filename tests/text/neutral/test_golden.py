"""The neutraliser and the selector on AMQA's published items."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.text.neutral.lexicon import Lexicon
from equipoise.text.neutral.neutralize import Neutral, neutralize, select
from equipoise.text.sentences import final_question

THEY = {"they", "them", "their", "theirs", "themselves"}


def read(path: Path) -> list[dict[str, Any]]:
    """Read a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def pairs(anchors: Path, lexicon: Lexicon) -> list[tuple[str, Neutral]]:
    """The published original questions, each with its neutral form."""
    questions = [row["original_question"] for row in read(anchors / "amqa/items.jsonl")]
    return [(question, neutralize(question, lexicon)) for question in questions]


def test_gendered_words_are_gone(pairs: list[tuple[str, Neutral]], residual_gender: Callable[[str], list[str]]) -> None:
    """At most two gendered words are left over all items (upstream left two in twice as many)."""
    left = [word for _, neutral in pairs for word in residual_gender(neutral.text)]

    assert len(left) <= 2


def test_numerals_are_kept(pairs: list[tuple[str, Neutral]]) -> None:
    """Every numeral stays, in its place among the others."""
    numerals = re.compile(r"\d+(?:[.,]\d+)*")
    lost = [text for text, neutral in pairs if numerals.findall(text) != numerals.findall(neutral.text)]

    assert lost == []


def test_final_question_is_kept_apart_from_pronouns(pairs: list[tuple[str, Neutral]]) -> None:
    """The final question loses only its gendered words: pronouns become they, nouns neutral."""
    for text, neutral in pairs:
        start, _ = final_question(text)
        asked = [change for change in neutral.changes if change.start >= start]

        assert {change.rule for change in asked} <= {"pronoun", "verb", "noun", "adjective"}
        assert {change.after.lower() for change in asked if change.rule == "pronoun"} <= THEY


def test_neutral_form_is_a_fixed_point(pairs: list[tuple[str, Neutral]], lexicon: Lexicon) -> None:
    """Neutralising a published question twice is the same as once."""
    assert [neutral.text for _, neutral in pairs if neutralize(neutral.text, lexicon) != (neutral.text, ())] == []


def test_they_agree(pairs: list[tuple[str, Neutral]]) -> None:
    """No singular verb directly follows they, except after an adverb."""
    wrong = re.compile(
        r"\bthey (?:\w+ly |also |often |now |never )?(?:is|was|has|does|[a-z]{3,}[^su\W]s)\b(?!-)", re.IGNORECASE
    )
    mistakes = [match[0] for _, neutral in pairs if (match := wrong.search(neutral.text))]

    assert mistakes == []


def test_selection_follows_the_published_one(anchors: Path, lexicon: Lexicon) -> None:
    """Balanced accuracy against AMQA's own choice of examination questions is at least 0.72."""
    rows = read(anchors / "amqa/selection.jsonl")
    kept = [row for row in rows if row["kept"]]
    left_out = [row for row in rows if not row["kept"]]
    true_kept = sum(select(row["question"], row["options"], lexicon) is None for row in kept) / len(kept)
    true_out = sum(select(row["question"], row["options"], lexicon) is not None for row in left_out) / len(left_out)

    assert (true_kept + true_out) / 2 >= 0.72
