from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import CASE
from equipoise.core.errors import EquipoiseError
from workshop import labels
from workshop.labels import read_implied, read_labels

if TYPE_CHECKING:
    from pathlib import Path

CASES = {"one": CASE}
TEXT = (
    "<think>He is Black, so risk is raised.</think>\nThe ECG settles it.\n\n**Final diagnosis:** Myocardial infarction."
)
LABEL = {
    "model": "m-1",
    "id": "one",
    "mentioned": True,
    "considered": "weighed",
    "matches_label": "no",
    "evidence": "left alone",
}
EXPLAINED = {
    "id": "m|7|0",
    "example": 7,
    "dimension": "age",
    "feature": "13",
    "text": "At 13 it is likelier.",
    "implied": True,
    "concept": "left alone",
}


def written(folder: Path, rows: list[dict[str, Any]], name: str = "labels.jsonl") -> Path:
    """Write rows beside the outputs of one model; give the rows' path."""
    outputs = [{"id": "one", "status": "ok", "output_text": TEXT, "bias_feature": "black"}]
    for file, content in (("m-1.jsonl", outputs), (name, rows)):
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in content), "utf-8")
    return folder / name


def test_a_label_has_the_grounds_of_its_output(tmp_path: Path) -> None:
    """The text is the thinking and the explanation without the conclusion; the output stays as released."""
    (label,) = read_labels(written(tmp_path, [LABEL]), CASES)

    assert (label.id, label.model, label.case, label.feature) == ("m-1/one", "m-1", "one", "black")
    assert (label.mentioned, label.considered, label.matches) == (True, "weighed", "no")
    assert "so risk is raised." in label.text
    assert "The ECG settles it." in label.text
    assert "infarction" not in label.text
    assert label.output.text == TEXT


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([LABEL | {"mentioned": "yes"}], "row 1: field mentioned"),
        ([LABEL | {"considered": "perhaps"}], "row 1: field considered"),
        ([LABEL | {"matches_label": "maybe"}], "row 1: field matches_label"),
        ([LABEL, LABEL], r"row 2: duplicate label 'm-1/one' \(first in row 1\)"),
        ([LABEL | {"mentioned": False}], "row 1: considered 'weighed' but not mentioned"),
        ([LABEL | {"id": "two"}], "row 1: .*m-1.jsonl has no output of 'two'"),
        ([LABEL | {"model": "m-2"}], "m-2.jsonl: no such file"),
        ([LABEL | {"model": "../m-1"}], "row 1: field model"),
        ([], "has no labels"),
    ],
)
def test_a_fault_names_file_and_row(tmp_path: Path, rows: list[dict[str, Any]], fault: str) -> None:
    """Each malformed file is refused in one line that says where."""
    path = written(tmp_path, rows)
    with pytest.raises(EquipoiseError, match=fault):
        read_labels(path, CASES)


def test_outputs_of_other_cases_are_refused(tmp_path: Path) -> None:
    """A model's outputs must be those of the cases given."""
    path = written(tmp_path, [LABEL])
    with pytest.raises(EquipoiseError, match="not among the 0 cases"):
        read_labels(path, {})


def test_an_explanation_has_its_question(tmp_path: Path) -> None:
    """Explanations of one example of a data set are recognised as being about one question."""
    explanations = read_implied(written(tmp_path, [EXPLAINED, EXPLAINED | {"id": "m|7|1", "implied": False}]))

    assert [(explanation.question, explanation.feature, explanation.implied) for explanation in explanations] == [
        ("7", "13", True),
        ("7", "13", False),
    ]


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([EXPLAINED | {"implied": "maybe"}], "row 1: field implied"),
        ([], "has no labels"),
    ],
)
def test_a_faulty_explanation_is_named(tmp_path: Path, rows: list[dict[str, Any]], fault: str) -> None:
    """A label that is neither true nor false, and a file without rows, are refused."""
    path = written(tmp_path, rows)
    with pytest.raises(EquipoiseError, match=fault):
        read_implied(path)


def test_the_folder_of_labels_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable, or with one that names no folder, one line says which to set."""
    monkeypatch.setenv(labels.VARIABLE, str(tmp_path))
    assert labels.anchors() == tmp_path.resolve()

    for value in ("", str(tmp_path / "none")):
        monkeypatch.setenv(labels.VARIABLE, value)
        with pytest.raises(EquipoiseError, match=r"EQUIPOISE_ANCHORS=.* is not a folder"):
            labels.anchors()


def test_the_released_labels_are_read(anchors: Path) -> None:
    """The released labels: 120 outputs of four models on 30 cases, all mentioned; 900 explanations."""
    from equipoise.studies.cases.rows import read_cases

    cases = {case.key: case for case in read_cases(anchors / "fsd/biased_vignettes_58.json")}
    released = read_labels(anchors / "fsd/labels.jsonl", cases)
    explained = read_implied(anchors / labels.IMPLIED)

    assert (len(released), len({label.model for label in released}), len({label.case for label in released})) == (
        120,
        4,
        30,
    )
    assert [sum(label.considered == kind for label in released) for kind in ("none", "weighed", "dismissed")] == [
        24,
        90,
        6,
    ]
    assert all(label.mentioned and label.text for label in released)
    assert len(explained) == 900
