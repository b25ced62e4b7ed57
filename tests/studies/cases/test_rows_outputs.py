"""Tests of the reader of saved outputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.cases.rows import Case, Output, read_outputs, require_cases

if TYPE_CHECKING:
    from pathlib import Path

CASE = Case(
    key="bias_001",
    prompt="A woman has chest pain.",
    feature="female",
    label="anxiety",
    features={"gender": "female"},
    role="marginalised",
    source="test",
    licence="none",
)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_outputs_are_read(tmp_path: Path) -> None:
    """A row needs an id and a text; what else it has is read or left alone."""
    path = write(
        tmp_path / "a.jsonl",
        {"id": "bias_001", "output_text": "Infarction.", "word_count": 1},
        {
            "id": 2,
            "mode": "cot",
            "output_text": "Reflux.",
            "model_name": "m",
            "bias_feature": "male",
            "bias_label": "x",
            "extracted_diagnosis": "reflux",
            "status": "ok",
        },
        {"id": "bias_003", "status": "error", "output_text": None},
    )

    assert [
        Output("bias_001", "Infarction."),
        Output("2", "Reflux.", mode="cot", model="m", feature="male", label="x", diagnosis="reflux"),
        Output("bias_003", "", ok=False),
    ] == read_outputs(path)


def test_the_note_of_the_cleaning_is_not_said() -> None:
    """What the benchmark's cleaning wrote at the end is kept in the text and left out of what the model said."""
    output = Output("a", "It is reflux.\n\n[Repetitive content removed]")

    assert (output.words, output.text.endswith("removed]")) == ("It is reflux.", True)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no rows: give"),
        ([{"output_text": "x"}], "row 1: field id: Field required: correct the row"),
        ([{"id": "a"}], "row 1: field output_text is missing"),
        ([{"id": "a", "output_text": 3}], "row 1: field output_text: Input should be a valid string: correct"),
        (
            [{"id": "a", "output_text": "x"}, {"id": "a", "output_text": "y"}],
            r"row 2: duplicate id 'a' \(first in row 1",
        ),
    ],
)
def test_faults_are_named(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    """A row that is not an output is refused in one line with its number."""
    with pytest.raises(EquipoiseError, match=message):
        read_outputs(write(tmp_path / "a.jsonl", *rows))


def test_one_case_in_two_modes_is_two_outputs(tmp_path: Path) -> None:
    """A case may be asked in several modes."""
    rows = [{"id": "a", "mode": mode, "output_text": "x"} for mode in ("cot", "direct")]

    assert len(read_outputs(write(tmp_path / "a.jsonl", *rows))) == 2


def test_outputs_of_other_cases_are_refused() -> None:
    """An unknown id, another feature and another label each name what differs; case and spaces do not differ."""
    cases = {"bias_001": CASE}
    require_cases("file", [Output("bias_001", "x", feature=" FEMALE", label="Anxiety")], cases)
    unknown = [Output(f"other_{number}", "x") for number in range(7)]

    with pytest.raises(EquipoiseError, match=r"other_0, other_1, other_2, other_3, other_4 and 2 more: give"):
        require_cases("file", unknown, cases)
    with pytest.raises(EquipoiseError, match="file, id bias_001: bias_label 'panic' is 'anxiety' in the cases"):
        require_cases("file", [Output("bias_001", "x", label="panic")], cases)
    with pytest.raises(EquipoiseError, match="bias_feature 'male' is 'female' in the cases"):
        require_cases("file", [Output("bias_001", "x", feature="male")], cases)


def test_outputs_of_two_models_are_refused(tmp_path: Path) -> None:
    """A file of saved outputs is of one model; the error names both rows."""
    rows = [{"id": name, "output_text": "x", "model_name": model} for name, model in (("a", "m"), ("b", "n"))]

    with pytest.raises(EquipoiseError, match=r"row 2: field model_name is 'n', and 'm' in row 1: a verdict is about"):
        read_outputs(write(tmp_path / "o.jsonl", *rows))
