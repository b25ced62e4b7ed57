"""Tests of reading OpenR1-Psy's items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.openr1.published import read_items
from equipoise.studies.openr1.rows import LICENCE, SOURCE, OpenR1Item

COMMIT = "0" * 40
SAMPLE = {
    "id": "a_001",
    "prompt": " I cannot sleep. ",
    "gold_answer": "Tell me more.",
    "gold_reasoning": ["First.", ""],
}
ROUND = {"patient": "I cannot sleep.", "counselor_think": "They sleep badly. Ask why.", "counselor_content": "Tell me."}
LATER = {"patient": "Thanks.", "counselor_think": "", "counselor_content": "Good."}
ROW = {"post_id": 7, "file": "x", "conversation": [ROUND, LATER]}


def write(path: Path, value: Any) -> str:
    """Write one JSON value; give the path as a user would."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def test_the_benchmarks_form_is_read(tmp_path: Path) -> None:
    """A sample becomes an item of the one source, its texts without white space around them, empty steps left out."""
    imported = read_items(write(tmp_path / "a.json", {"samples": [SAMPLE]}))

    assert imported.items == [
        OpenR1Item(
            key="openr1-a_001",
            prompt="I cannot sleep.",
            gold_answer="Tell me more.",
            gold_reasoning=("First.",),
            source=SOURCE,
            revision=None,
            licence=LICENCE,
        )
    ]


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet"])
def test_the_hubs_form_is_read(tmp_path: Path, ending: str) -> None:
    """The first round is the item, the counsellor's thinking cut into sentences, from a list, JSONL or parquet."""
    path = tmp_path / f"test.{ending}"
    match ending:
        case "json":
            write(path, [ROW])
        case "jsonl":
            path.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
        case "parquet":
            pd.DataFrame([ROW]).to_parquet(path)
    (item,) = read_items(str(path)).items

    assert (item.key, item.prompt, item.gold_answer) == ("openr1-7", "I cannot sleep.", "Tell me.")
    assert item.gold_reasoning == ("They sleep badly.", "Ask why.")


def test_jsonl_may_be_called_json(tmp_path: Path) -> None:
    """A file of rows ending in .json, as data sets of the hub have them, is read row by row."""
    path = tmp_path / "test.json"
    path.write_text("".join(json.dumps(ROW | {"post_id": number}) + "\n" for number in range(2)), encoding="utf-8")

    assert (len(read_items(str(path)).items), len(read_items(str(path)).repeated)) == (1, 1)


def test_the_hub_is_read_at_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the split of a pinned data set are read, and the items hold the commit."""
    path = tmp_path / "test.json"
    write(path, [ROW])
    offered = {"test.json": 1, "train.json": 2}
    monkeypatch.setattr(
        "equipoise.published.fetch._download", lambda _, __, pick: [path] if pick(offered) == ["test.json"] else []
    )

    assert [item.revision for item in read_items(f"{SOURCE}@{COMMIT}").items] == [COMMIT]


def test_another_data_set_is_refused() -> None:
    """The hub's id of another data set is refused before anything is fetched."""
    with pytest.raises(EquipoiseError, match="takes GMLHUHE/OpenR1-Psy and no other source"):
        read_items(f"Compumacy/Psych_data@{COMMIT}")


@pytest.mark.parametrize(
    "stated", [{"source": "Compumacy/Psych_data"}, {"metadata": {"source_dataset": "CPsyCoun"}}, {"dataset": ""}]
)
def test_a_row_that_names_another_source_is_refused(tmp_path: Path, stated: dict[str, Any]) -> None:
    """A source stated in a row or in its metadata must be the one source."""
    path = write(tmp_path / "a.json", {"samples": [SAMPLE | stated]})
    with pytest.raises(EquipoiseError, match=r"a\.json, row 1: field \w+: '.*' is not GMLHUHE/OpenR1-Psy"):
        read_items(path)


def test_a_row_that_names_the_one_source_is_taken(tmp_path: Path) -> None:
    """The right source in a row changes nothing."""
    assert len(read_items(write(tmp_path / "a.json", {"samples": [SAMPLE | {"source": SOURCE}]})).items) == 1


def test_rows_without_texts_or_with_an_earlier_message_are_left_out(tmp_path: Path) -> None:
    """A round without a reply, no round at all, and a repeated message are counted and left out."""
    samples = [
        SAMPLE,
        SAMPLE | {"id": "b", "gold_answer": None},
        {"post_id": "c", "conversation": []},
        SAMPLE | {"id": "d"},
    ]
    imported = read_items(write(tmp_path / "a.json", {"samples": samples}))

    assert [item.key for item in imported.items] == ["openr1-a_001"]
    assert (imported.empty, imported.repeated) == (["b", "c"], ["d"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([SAMPLE, SAMPLE], "row 2: duplicate id 'a_001' (first in"),
        ([{"prompt": "x"}], "row 1: neither conversation nor prompt and gold_answer"),
        ([{"prompt": "x", "gold_answer": "y"}], "row 1: field id is missing"),
        ([{"conversation": [ROUND]}], "row 1: field post_id is missing"),
        ([SAMPLE | {"prompt": 3}], "row 1: field prompt: 3 is not text"),
        ([ROW | {"conversation": ["hello"]}], "row 1: field conversation: not a list of rounds"),
        (["hello"], "row 1: not a JSON object"),
        ("hello", "field samples is not a list"),
        ([], "no rows: give rows with post_id and conversation, or with id, prompt and gold_answer"),
    ],
)
def test_a_fault_names_the_row_and_the_fix(tmp_path: Path, rows: Any, message: str) -> None:
    """A malformed file is reported in one line."""
    path = write(tmp_path / "a.json", {"samples": rows})
    with pytest.raises(EquipoiseError) as caught:
        read_items(path)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
