"""The 150 items of OpenR1-Psy in the benchmark's form."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import projects
from equipoise.core import jsonl
from equipoise.judge.located import locate_judge
from equipoise.materials.stories.library import load_library
from equipoise.studies.openr1.pairs import pair_items
from equipoise.studies.openr1.published import Imported, read_items
from equipoise.studies.openr1.rows import SOURCE, OpenR1Item, Pairing
from equipoise.studies.openr1.score import entailments

ROOT = Path(__file__).parents[2]


@pytest.fixture
def imported(anchors: Path) -> Imported:
    """Read the items."""
    return read_items(str(anchors / "openr1_psy" / "study_a_test.json"))


def test_every_item_is_read(imported: Imported) -> None:
    """All 150 have a message, a reply and a reasoning; none is empty or repeated."""
    assert [item.key for item in imported.items] == [f"openr1-a_{number:03d}" for number in range(1, 151)]
    assert (imported.empty, imported.repeated) == ([], [])
    assert all(item.gold_reasoning and item.source == SOURCE for item in imported.items)


def test_items_survive_their_file(imported: Imported, tmp_path: Path) -> None:
    """What is written is what is read back."""
    jsonl.write(tmp_path / "openr1.jsonl", imported.items)

    assert jsonl.read(tmp_path / "openr1.jsonl", OpenR1Item) == imported.items


def test_pairs_of_the_default_settings(imported: Imported) -> None:
    """136 items are put in two arms, whose texts are the item's message after the statement, to the letter.

    Six messages state their writer's gender ("as a black woman", "a single mom", "as a man", "I'm trans", "I do become
    pregnant", "my skirt"), and eight speak of school.
    """
    library = load_library(ROOT / "data/raw")
    settings = projects.committed_settings().section("pair", Pairing)
    personas, contrasts = list(library.personas.values()), list(library.contrasts.values())
    made = pair_items(imported.items, personas, contrasts, settings)
    texts = {item.key: item.prompt for item in imported.items}
    reasons = [reason for key, reason in made.excluded.items() if "/" not in key]

    assert len({message.item for message in made.messages}) == 136
    assert (reasons.count("states gender"), reasons.count("no adult's stage of life")) == (6, 8)
    assert all(
        message.text == f"{message.statement}\n\n{texts[message.item]}" and message.source == SOURCE
        for message in made.messages
    )


def test_the_judge_tells_a_gold_answer_from_another(imported: Imported) -> None:
    """The judge that compares finds a gold answer closer to itself than to that of another item, for each of twelve."""
    judge = locate_judge("minilm_snli", ROOT, ROOT / ".cache").open()
    answers = [item.gold_answer for item in imported.items[:13]]
    own = entailments([(answer, answer) for answer in answers[:12]], judge.probabilities)
    other = entailments(list(pairwise(answers)), judge.probabilities)

    assert all(
        to_itself is not None and to_another is not None and to_itself > to_another
        for to_itself, to_another in zip(own, other, strict=True)
    )
