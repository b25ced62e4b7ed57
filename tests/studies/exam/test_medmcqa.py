"""Tests of the reader of MedMCQA's questions."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.exam import medmcqa
from equipoise.studies.exam.medmcqa import load_diseases

MAPPING = load_diseases(Path(__file__).parents[3] / "data" / "medmcqa_diseases.yaml")
OPTIONS = {"A": "one", "B": "two", "C": "three", "D": "four"}


def published(number: str = "q1", /, **changed: object) -> dict[str, Any]:
    """Make a row of the published form."""
    row = {
        "id": number,
        "question": f"Which is {number}? ",
        "opa": "one",
        "opb": "two",
        "opc": "three",
        "opd": "four",
        "cop": 1,
        "choice_type": "single",
        "exp": None,
        "subject_name": "Medicine",
        "topic_name": "C.V.S",
    }
    return {**row, **changed}


def equilens(number: str = "q1", **changed: object) -> dict[str, Any]:
    """Make a row of EquiLens' form."""
    prompt = (
        f"Subject: Medicine  |  Topic: C.V.S\n\nQuestion:\nWhich is {number}?\n\nOptions:\n  A. one\n  B. two\n"
        "  C. three\n  D. four\n\nAnswer:"
    )
    return {"id": number, "prompt": prompt, "answer": "B", **changed}


def write(path: Path, *rows: dict[str, Any]) -> str:
    """Write rows as JSONL, and give the path as the command line does."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("row", [published(), published(cop="1"), published(cop=1.0), equilens(), equilens(answer="b")])
def test_both_forms_give_the_same_item(tmp_path: Path, row: dict[str, Any]) -> None:
    """Published or as a prompt, a question has the same key, text, options, answer and disease."""
    (item,) = medmcqa.import_items([write(tmp_path / "q.jsonl", row)], MAPPING).items

    assert (item.key, item.question, item.options, item.gold) == ("medmcqa-q1", "Which is q1?", OPTIONS, "B")
    assert (item.disease, item.source) == ("cardiovascular", "MedMCQA question q1, Medicine, C.V.S")


def test_a_stated_disease_outranks_the_topics(tmp_path: Path) -> None:
    """A row that names its disease is taken at its word."""
    source = write(tmp_path / "q.jsonl", equilens(disease="respiratory"), equilens("q2", disease=None))

    assert [item.disease for item in medmcqa.import_items([source], MAPPING).items] == ["respiratory", "cardiovascular"]


def test_csv_is_read(tmp_path: Path) -> None:
    """A CSV file of the published form gives items, with empty cells as missing."""
    path = tmp_path / "q.csv"
    path.write_text(
        "id,question,opa,opb,opc,opd,cop,subject_name,topic_name\nq1,Which?,one,two,three,four,3,Medicine,\n",
        encoding="utf-8",
    )
    (item,) = medmcqa.import_items([str(path)], MAPPING).items

    assert (item.gold, item.disease, item.source) == ("D", None, "MedMCQA question q1, Medicine")


def test_rows_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """Withheld answers, empty texts, options alike and repeated rows are left out; a text under another id stays."""
    rows = [
        published(),
        published("q2", cop=-1),
        published("q3", opc=" "),
        published(),
        published("q4", question="Which is q1?"),
        published("q5", opb="TWO ", opd="two"),
    ]
    imported = medmcqa.import_items([write(tmp_path / "q.jsonl", *rows)], MAPPING)

    assert [item.key for item in imported.items] == ["medmcqa-q1", "medmcqa-q4"]
    assert (imported.withheld, imported.empty, imported.alike) == (["q2"], ["q3"], ["q5"])
    assert (imported.repeated, imported.same_text) == (["q1"], ["q4"])


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (published("q2", cop=4), r"row 2: field cop: 4 is none of 0 to 3, nor -1 \(withheld\)"),
        (published("q2", cop="two"), "row 2: field cop: 'two' is none of 0 to 3"),
        (published(id=None), "row 2: field id is missing or empty"),
        (published(opa="other"), r"row 2: id 'q1' is another question in .*q\.jsonl, row 1: keep one"),
        (equilens("q2", answer="E"), "row 2: field answer: 'E' is none of A, B, C, D"),
        (equilens("q2", prompt="Which?"), "row 2: field prompt: no question and options A to D"),
        (equilens("q2", disease="flu"), "row 2: field disease: 'flu' is none of cancer"),
        ({"id": "q2"}, "row 2: neither question, opa to opd and cop nor prompt and answer"),
        ({"question": "Which?", "opa": "one", "cop": 1}, "row 2: field opb is missing"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    """A fault is reported with its row, its field and the fix."""
    with pytest.raises(EquipoiseError, match=fault):
        medmcqa.import_items([write(tmp_path / "q.jsonl", published(), row)], MAPPING)


def test_a_file_of_withheld_answers_is_refused(tmp_path: Path) -> None:
    """The test split alone gives no items."""
    with pytest.raises(EquipoiseError, match="no question with its answer: give the train or validation split"):
        medmcqa.import_items([write(tmp_path / "q.jsonl", published(cop=-1))], MAPPING)


def test_the_labelled_splits_are_fetched_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The published data set is read in train and validation; its test split, which has no answers, is not read."""
    import pandas as pd

    names = [f"data/{split}-00000-of-00001.parquet" for split in ("test", "train", "validation")]
    for number, name in enumerate(names):
        (tmp_path / "data").mkdir(exist_ok=True)
        pd.DataFrame([published(f"q{number}")]).to_parquet(tmp_path / name)
    entries = [SimpleNamespace(path=name, size=1) for name in [*names, "README.md"]]
    monkeypatch.setattr("huggingface_hub.HfApi.list_repo_tree", lambda *_, **__: entries)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda _, name, **__: str(tmp_path / name))
    imported = medmcqa.import_items([f"{medmcqa.HUB_ID}@{'0' * 40}"], MAPPING)

    assert [item.key for item in imported.items] == ["medmcqa-q1", "medmcqa-q2"]
