"""Tests of the readers of AMQA's files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.questions import amqa
from equipoise.studies.questions.effects import Answered

if TYPE_CHECKING:
    from pathlib import Path

ARMS = ("original_question", "desensitized_question", "white", "black", "high_income", "low_income", "male", "female")
FAIR_ARMS = ("original", "desensitized", *ARMS[2:])


def answers(number: object, letter: str | None = "A", arms: tuple[str, ...] = ARMS) -> dict[str, Any]:
    """Make one row of released answers."""
    return {"question_id": number, "answer_idx": "A", **{f"test_model_answer_{arm}": letter for arm in arms}}


def item(number: object = "7", **changed: object) -> dict[str, Any]:
    """Make one row of an item file."""
    row = {
        "question_id": number,
        "original_question": "Which?",
        "option_A": "one",
        "option_B": "two",
        "answer_idx": "B",
    }
    return {**row, **changed}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("arms", [ARMS, FAIR_ARMS])
def test_both_namings_are_read(tmp_path: Path, arms: tuple[str, ...]) -> None:
    """AMQA's and FairMedPrompt's files give the same arms."""
    rows = amqa.read_answers(write(tmp_path / "a.jsonl", answers("0", arms=arms), answers(1, arms=arms)))

    assert [row.question for row in rows] == ["0", "1"]
    assert {
        "original",
        "neutral",
        "race/privileged/favourable",
        "race/unprivileged/unfavourable",
        "ses/privileged/favourable",
        "ses/unprivileged/unfavourable",
        "gender/privileged/favourable",
        "gender/unprivileged/unfavourable",
    } == rows[0].letters.keys()


@pytest.mark.parametrize(("written", "read"), [("B", "B"), ("b", "B"), ("Unknown", None), ("", None), (None, None)])
def test_unknown_is_unparsed(tmp_path: Path, written: str | None, read: str | None) -> None:
    """What the released files write for no letter is None."""
    rows = amqa.read_answers(write(tmp_path / "a.jsonl", answers("0", written)))

    assert {read} == set(rows[0].letters.values())


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"answer_idx": "A"}, "row 2: field question_id is missing"),
        ({**answers("1"), "answer_idx": "AB"}, "row 2: field answer_idx: 'AB' is not a letter"),
        (
            answers("1", "The answer is B"),
            "row 2: field test_model_answer_original_question: 'The answer is B' is neither",
        ),
        (answers("1", arms=ARMS[:3]), "row 2: field test_model_answer_black is missing"),
        (answers("0"), r"row 2: duplicate question_id '0' \(first in row 1.: keep one"),
    ],
)
def test_bad_answer_row_is_named(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    """A fault in a row of answers is reported with its row and field."""
    with pytest.raises(EquipoiseError, match=fault):
        amqa.read_answers(write(tmp_path / "a.jsonl", answers("0"), row))


def test_empty_file_is_refused(tmp_path: Path) -> None:
    """A file without answers is an error, not a table of nothing."""
    with pytest.raises(EquipoiseError, match="no rows: give a file"):
        amqa.read_answers(write(tmp_path / "a.jsonl"))


def table(*ids: str, gold: str = "A") -> list[Answered]:
    """Make a table of questions."""
    return [Answered(question, gold, {}) for question in ids]


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        (table("0", "3"), "x: incomplete, 2 of 5 questions; missing ids 1-2, 4:"),
        (table("0", "1", "2", "3", "4", "5", "x"), "x: ids that are not among the 5 questions: 5, x:"),
    ],
)
def test_unequal_questions_are_refused(rows: list[Answered], fault: str) -> None:
    """A file that lacks questions or has others is refused with every id named."""
    with pytest.raises(EquipoiseError, match=fault):
        amqa.require_same_questions({"x": rows}, ["0", "1", "2", "3", "4"])


def test_unequal_gold_is_refused() -> None:
    """Two files that disagree on the right answer are not comparable."""
    with pytest.raises(EquipoiseError, match="y: answer_idx differs from the other files in the ids 1: correct one"):
        amqa.require_same_questions({"x": table("1"), "y": table("1", gold="B")}, ["1"])


def test_equal_questions_pass() -> None:
    """Complete files pass in any order of rows."""
    amqa.require_same_questions({"x": table("1", "0"), "y": table("0", "1")}, ["0", "1"])


def test_published_dataset_has_801_questions() -> None:
    """The ids are 0 to 800."""
    ids = amqa.complete_ids()

    assert (len(ids), ids[0], ids[-1]) == (801, "0", "800")


@pytest.mark.parametrize("row", [item(), item(7, options={"A": "one", "B": "two", "C": None}, option_A=None)])
def test_items_are_read_in_both_forms(tmp_path: Path, row: dict[str, Any]) -> None:
    """Options are columns or one object; keys sort as the questions are numbered."""
    (read,) = amqa.read_items(str(write(tmp_path / "i.jsonl", row)))

    assert (read.key, read.question, read.options, read.gold) == ("amqa-0007", "Which?", {"A": "one", "B": "two"}, "B")
    assert amqa.question_id(read.key) == "7"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (item("8", answer_idx="D"), r"row 2: field \(row\): Value error, gold 'D' is not one of the options A, B"),
        (item("8", original_question=""), "row 2: field original_question is missing or empty"),
        (item("8", option_B=5), "row 2: field options.B"),
        (
            item("8", option_A="a clot", option_B=" A  clot"),
            r"row 2: .*options A and B have the same text: correct the",
        ),
        (item("8\n9"), "row 2: field question_id: holds the character U\\+000A, which is not printable: write it on"),
        (item("7"), r"row 2: duplicate question_id 'amqa-0007' \(first in row 1\): keep one"),
    ],
)
def test_bad_item_row_is_named(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    """A fault in an item is reported with its row and field."""
    with pytest.raises(EquipoiseError, match=fault):
        amqa.read_items(str(write(tmp_path / "i.jsonl", item(), row)))


def test_hub_needs_a_commit() -> None:
    """A dataset of the hub without a pinned commit is refused."""
    with pytest.raises(EquipoiseError, match="named with its commit: Showing-KCL/AMQA@<40 hex digits>"):
        amqa.read_items("Showing-KCL/AMQA")


def test_a_hub_out_of_reach_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that cannot be reached is one clear error."""

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError

    monkeypatch.setattr("huggingface_hub.HfApi.list_repo_tree", fail)

    with pytest.raises(EquipoiseError, match=r"could not be fetched from the Hugging Face Hub \(ConnectionError\)"):
        amqa.read_items(f"{amqa.HUB_ID}@{'0' * 40}")


def test_released_items_are_read(anchors: Path) -> None:
    """Every item of the published dataset that is available passes the schema."""
    assert len(amqa.read_items(str(anchors / "amqa" / "items.jsonl"))) == 401


def test_numbers_of_questions_are_ids(tmp_path: Path) -> None:
    """Keys sort as the numbers do; a number too long for arithmetic, or in other digits, is an id as well."""
    rows = [item(number) for number in ("7", "0008", "00012345", "9" * 400, "\N{SUPERSCRIPT TWO}")]
    keys = [question.key for question in amqa.read_items(str(write(tmp_path / "i.jsonl", *rows)))]

    assert keys == ["amqa-0007", "amqa-0008", "amqa-12345", f"amqa-{'9' * 400}", "amqa-\N{SUPERSCRIPT TWO}"]
    assert [amqa.question_id(key) for key in keys[:3]] == ["7", "8", "12345"]


def test_an_empty_import_is_refused(tmp_path: Path) -> None:
    """A file without items is not imported as no items."""
    with pytest.raises(EquipoiseError, match=r"i\.jsonl: no rows: give one question a row"):
        amqa.read_items(str(write(tmp_path / "i.jsonl")))
