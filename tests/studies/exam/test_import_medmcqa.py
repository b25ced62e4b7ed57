"""Tests of `equipoise import medmcqa`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.materials.questions import Item
from equipoise.studies.exam.cli import import_medmcqa
from equipoise.studies.questions.neutralize import neutralize_items
from equipoise.text.neutral.lexicon import load_lexicon

DATA = Path(__file__).parents[3] / "data"
MAPPING = DATA / "medmcqa_diseases.yaml"


def row(number: int, topic: str, answer: int) -> dict[str, object]:
    """Make a row of the published form."""
    options = {f"op{letter}": f"option {letter}" for letter in "abcd"}
    return {
        "id": f"q{number}",
        "question": f"Which is right of {number}?",
        "cop": answer,
        "topic_name": topic,
    } | options


def test_items_are_written_and_the_rest_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file holds the items with their diseases; what was left out is printed, with its id."""
    source, out = tmp_path / "q.jsonl", tmp_path / "items.jsonl"
    rows = [row(1, "Oncology", 0), row(2, "Kidney", 1), row(3, "Oncology", -1), row(1, "Oncology", 0)]
    source.write_text("".join(json.dumps(record) + "\n" for record in rows), encoding="utf-8")
    import_medmcqa([str(source)], mapping=MAPPING, out=out)
    printed = capsys.readouterr().out

    assert [(item.key, item.disease) for item in jsonl.read(out, Item)] == [
        ("medmcqa-q1", "cancer"),
        ("medmcqa-q2", None),
    ]
    assert "2 items; cancer 1; 1 about none of these" in printed
    assert "1 left out, their answer is withheld: q3" in printed
    assert "1 rows repeat a question, kept once: q1" in printed
    assert "-S sample.items=NAME, with the file as data/items/NAME.jsonl" in printed


def test_questions_in_one_order_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A question with an option about the others is kept, and named as one that is asked in one order."""
    source, out = tmp_path / "q.jsonl", tmp_path / "items.jsonl"
    words = {"opa": "Asthma", "opb": "Gout", "opc": "Both A and B", "opd": "None of the above"}
    rows = [row(1, "Oncology", 0) | words, row(2, "Oncology", 0) | words | {"opc": "Stroke", "opd": "Both ventricles"}]
    source.write_text("".join(json.dumps(record) + "\n" for record in rows), encoding="utf-8")
    import_medmcqa([str(source)], mapping=MAPPING, out=out)
    printed = capsys.readouterr().out
    import_medmcqa([str(source)], mapping=MAPPING, out=out, as_json=True)

    assert "1 have options that refer to others, and are asked in one order: medmcqa-q1\n" in printed
    assert json.loads(capsys.readouterr().out)["one_order"] == 1


def test_items_suit_the_adversarial_study(tmp_path: Path) -> None:
    """The stage that neutralises reads the items as it reads others."""
    source, out = tmp_path / "q.jsonl", tmp_path / "items.jsonl"
    source.write_text(json.dumps(row(1, "Oncology", 0)) + "\n", encoding="utf-8")
    import_medmcqa([str(source)], mapping=MAPPING, out=out)

    (neutral,) = neutralize_items(jsonl.read(out, Item), load_lexicon(DATA / "lexicon"))
    assert (neutral.key, neutral.neutral) == ("medmcqa-q1", "Which is right of 1?")


def test_a_fault_leaves_nothing_behind(tmp_path: Path) -> None:
    """A bad row stops the import before anything is written."""
    source, out = tmp_path / "q.jsonl", tmp_path / "items.jsonl"
    source.write_text(json.dumps(row(1, "Oncology", 7)) + "\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match="row 1: field cop: 7"):
        import_medmcqa([str(source)], mapping=MAPPING, out=out)
    assert not out.exists()
