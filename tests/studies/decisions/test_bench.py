"""Tests of reading emergency cases with a slot for the patient."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.decisions.bench import SOURCE, read_stories
from equipoise.studies.vignettes.panel import Story

ROW = {"id": 7, "case": "{patient}, aged 50, has gout."}


def write(path: Path, rows: list[Any]) -> str:
    """Write rows as JSONL; give the path as a user would."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_rows_are_read_from_the_column_with_the_slot(tmp_path: Path, ending: str) -> None:
    """Whatever the column is called; source and licence are those of the publication unless the row says otherwise."""
    path = tmp_path / f"cases.{ending}"
    match ending:
        case "jsonl":
            write(path, [ROW])
        case "json":
            path.write_text(json.dumps({"cases": [ROW]}), encoding="utf-8")
        case "csv":
            pd.DataFrame([ROW]).to_csv(path, index=False)
        case "parquet":
            pd.DataFrame([ROW]).to_parquet(path)

    assert read_stories([str(path)]).stories == [
        Story(key="bench-7", text="{patient}, aged 50, has gout.", source=SOURCE, licence="Apache-2.0")
    ]


@pytest.mark.parametrize("name", ["a/b", "a#1"])
def test_an_id_that_would_break_a_key_is_refused(tmp_path: Path, name: str) -> None:
    """A slash or # stands between the parts of the keys of what is asked about a case."""
    path = write(tmp_path / "a.jsonl", [ROW | {"id": name}])
    with pytest.raises(
        EquipoiseError, match=r"a\.jsonl, row 1: field id: .* separates the parts of keys: give another"
    ):
        read_stories([path])


def test_rows_without_an_id_are_numbered(tmp_path: Path) -> None:
    """The published form need not have one."""
    path = write(tmp_path / "a.jsonl", [{"text": "{patient} has gout."}, {"text": "Here is {patient}."}])

    assert [story.key for story in read_stories([path]).stories] == ["bench-1", "bench-2"]


def test_the_hub_is_read_at_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows hold the commit."""
    path = write(tmp_path / "a.jsonl", [ROW])
    monkeypatch.setattr("equipoise.published.fetch._download", lambda *_: [Path(path)])
    named = f"{SOURCE}@{'0' * 40}"

    assert [story.source for story in read_stories([named]).stories] == [named]


def test_a_gender_outside_the_slot_is_told(tmp_path: Path) -> None:
    """The case is kept, and named: whoever it is about, the text calls them he. An age is not a gender."""
    rows = [
        ROW,
        ROW | {"id": 8, "case": "{patient} says he has gout."},
        ROW | {"id": 9, "case": "A 50-year-old {patient}."},
    ]

    assert read_stories([write(tmp_path / "a.jsonl", rows)]).gendered == ["8"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [ROW, ROW | {"id": 8, "case": "A man has gout."}],
            r"row 2: field case: the case has no slot \{patient\}: write",
        ),
        (
            [ROW, ROW | {"id": 8, "case": "{patient} and {Patient}."}],
            r"row 2: .* has the slot \{patient\} 2 times: write",
        ),
        ([ROW, ROW | {"id": 8, "case": " "}], "row 2: field case: the case is missing or empty"),
        ([ROW, {"id": 8}], "row 2: field case: the case is missing or empty"),
        ([ROW, ROW], r"row 2: duplicate id '7' \(first in row 1\): keep one"),
        ([{"id": 1, "case": "A man."}], r"row 1: no field has the slot \{patient\}: give a row for each case"),
        ([ROW, ROW | {"id": 8, "source": "other"}], "tracks cannot be pooled"),
        ([{"id": 1, "prompt": "x", "bias_feature": "black"}], "row 1: .* run equipoise import vignettes"),
        ([], "no rows: give a row for each case"),
    ],
)
def test_faults_name_file_and_row(tmp_path: Path, rows: list[Any], message: str) -> None:
    """One line says what is wrong where, and how to mend it."""
    with pytest.raises(EquipoiseError, match=message) as caught:
        read_stories([write(tmp_path / "a.jsonl", rows)])

    assert "\n" not in str(caught.value)


def test_an_id_in_two_files_is_refused(tmp_path: Path) -> None:
    """Files are read together."""
    paths = [write(tmp_path / name, [ROW]) for name in ("a.jsonl", "b.jsonl")]
    with pytest.raises(EquipoiseError, match=r"b\.jsonl, row 1: duplicate id '7'"):
        read_stories(paths)


def test_a_column_can_be_named(tmp_path: Path) -> None:
    """Where a question has the slot too."""
    path = write(tmp_path / "a.jsonl", [{"question": "What of {patient}?", "case": "{patient} has gout."}])

    assert [read_stories([path], field).stories[0].text for field in ("case", "question")] == [
        "{patient} has gout.",
        "What of {patient}?",
    ]
