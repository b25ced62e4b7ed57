"""Tests of reading annotated passages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.judge.passages import passage_files, read_passages

if TYPE_CHECKING:
    from pathlib import Path

ROW: dict[str, Any] = {
    "id": "a-1",
    "style": "note",
    "text": "A Black man.",
    "features": [{"dimension": "race", "feature": "Black", "class": "other_feature", "mentions": 1}],
}


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    """Write rows as JSONL."""
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_class_says_what_is_done_with_the_feature(tmp_path: Path) -> None:
    """To restate a feature while another is weighed is to restate it."""
    (passage,) = read_passages([written(tmp_path, ROW)])

    assert passage.features[0].treatment == "restated"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW, ROW], r"a\.jsonl, row 2: duplicate id 'a-1' \(first in row 1\)"),
        ([ROW | {"style": "poem"}], r"a\.jsonl, row 1: field style: .*give one object a row, with id, style"),
        ([ROW | {"features": []}], r"a\.jsonl, row 1: field features: "),
    ],
)
def test_faults_name_the_row_and_the_fix(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    """A duplicate, an unknown style and a passage without a question are each one line."""
    with pytest.raises(EquipoiseError, match=message):
        read_passages([written(tmp_path, *rows)])


def test_a_folder_without_passages_is_refused(tmp_path: Path) -> None:
    """The message names the folder."""
    with pytest.raises(EquipoiseError, match="has no passages"):
        passage_files(tmp_path)
