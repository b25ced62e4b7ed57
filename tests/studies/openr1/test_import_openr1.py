"""Tests of `equipoise import openr1-psy`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.studies.openr1.cli import import_openr1
from equipoise.studies.openr1.rows import OpenR1Item

app = typer.Typer()
app.command()(import_openr1)
SAMPLE = {"id": "a", "prompt": "I cannot sleep.", "gold_answer": "Tell me more.", "gold_reasoning": []}


def test_items_are_written_with_their_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows land where the stage looks for them; what was left out and how to run them is printed."""
    monkeypatch.chdir(tmp_path)
    samples = [SAMPLE, SAMPLE | {"id": "b", "gold_answer": ""}]
    (tmp_path / "x.json").write_text(json.dumps({"samples": samples}), encoding="utf-8")
    done = CliRunner().invoke(app, ["x.json"], catch_exceptions=False)
    (item,) = jsonl.read(tmp_path / "data/items/openr1.jsonl", OpenR1Item)

    assert (item.key, item.source) == ("openr1-a", "GMLHUHE/OpenR1-Psy")
    assert "research and educational use only" in item.licence
    assert done.stdout.startswith("data/items/openr1.jsonl: 1 items of GMLHUHE/OpenR1-Psy")
    assert "1 left out, the message or its reply is empty: b" in done.stdout
    assert done.stdout.endswith("run them with: dvc exp run -S pair.items=openr1\n")


def test_a_row_of_another_source_writes_nothing(tmp_path: Path) -> None:
    """The gate refuses the file whole."""
    rows = [SAMPLE, SAMPLE | {"id": "b", "prompt": "I worry.", "source": "authored"}]
    (tmp_path / "x.json").write_text(json.dumps({"samples": rows}), encoding="utf-8")

    with pytest.raises(EquipoiseError, match="row 2: field source: 'authored' is not GMLHUHE/OpenR1-Psy"):
        import_openr1(str(tmp_path / "x.json"), out=tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
