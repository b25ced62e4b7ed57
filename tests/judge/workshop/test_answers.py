"""Tests of our own labels of answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from builders import CASE
from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import json_rows
from equipoise.studies.cases.rows import read_cases
from workshop.labels import CASES, LABELS, read_answer_labels, read_labels

if TYPE_CHECKING:
    from collections.abc import Iterable

SHIPPED = Path(__file__).parents[3] / "judge/labels/matching.jsonl"
LABEL = {"id": "one", "matches_label": "partly", "model": "m-1"}


def written(folder: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write labels, and the output that they are of."""
    (folder / "m-1.jsonl").write_text(json.dumps({"id": "one", "output_text": "Infarction."}) + "\n", encoding="utf-8")
    path = folder / "matching.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_label_is_read_with_its_output(tmp_path: Path) -> None:
    """The output comes from the model's file in the folder given."""
    path = written(tmp_path, [LABEL])
    (label,) = read_answer_labels(path, tmp_path, {"one": CASE}, without=["m-1/two"])

    assert (label.model, label.case, label.output.text, label.matches) == ("m-1", "one", "Infarction.", "partly")


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([LABEL | {"matches_label": "maybe"}], "row 1: field matches_label"),
        ([LABEL | {"output_text": "Infarction."}], "row 1: field output_text"),
        ([LABEL | {"model": "../m-1"}], "row 1: field model"),
        ([LABEL, LABEL], r"row 2: duplicate label 'm-1/one' \(first in row 1\)"),
        ([LABEL | {"id": "two"}], "row 1: .* has no case with an output m-1/two"),
        ([LABEL | {"model": "m-2"}], "m-2.jsonl: no such file"),
    ],
)
def test_a_fault_names_file_and_row(tmp_path: Path, rows: list[dict[str, Any]], fault: str) -> None:
    """Each malformed file is refused in one line that says where."""
    path = written(tmp_path, rows)
    with pytest.raises(EquipoiseError, match=fault):
        read_answer_labels(path, tmp_path, {"one": CASE}, without=[])


def test_what_others_labelled_is_refused(tmp_path: Path) -> None:
    """An output counts once, with the labels of others or with ours."""
    path = written(tmp_path, [LABEL])
    with pytest.raises(EquipoiseError, match=r"row 1: duplicate label 'm-1/one' \(first in the other labels\)"):
        read_answer_labels(path, tmp_path, {"one": CASE}, without=["m-1/one"])


def test_the_labels_that_ship_hold_no_text() -> None:
    """They are 112, ordered by model and case, and say no more than which output and how it was judged."""
    rows = [row for _, row in json_rows(SHIPPED)]

    assert len(rows) == 112
    assert all(set(row) == set(LABEL) for row in rows)
    assert rows == sorted(rows, key=lambda row: (row["model"], row["id"]))


def test_the_labels_that_ship_are_of_all_that_others_left_out(anchors: Path) -> None:
    """With the 120 of others they cover four models on 58 cases, and no case has labels of both kinds."""
    cases = {case.key: case for case in read_cases(anchors / CASES)}
    labelled = read_labels(anchors / LABELS, cases)
    ours = read_answer_labels(SHIPPED, (anchors / LABELS).parent, cases, without={label.id for label in labelled})

    assert len(labelled) + len(ours) == 4 * len(cases) == 4 * 58
    assert not {label.case for label in ours} & {label.case for label in labelled}
