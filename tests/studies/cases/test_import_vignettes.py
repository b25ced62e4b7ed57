"""Tests of `equipoise import vignettes` and `equipoise export vignettes`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.materials.stories.library import load_library
from equipoise.studies.cases.imports import import_vignettes
from equipoise.studies.cases.rows import read_cases
from equipoise.studies.vignettes.cli import export_vignettes
from equipoise.studies.vignettes.profiles import build_pairs

ROOT = Path(__file__).parents[3]
app = typer.Typer()
app.command("import")(import_vignettes)
app.command("export")(export_vignettes)
CASES = {"cases": [{"prompt": "A woman.", "bias_feature": "female", "bias_label": "anxiety"}]}


def test_cases_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are written under data/cases, and the command says that paired figures do not apply."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "published.json").write_text(json.dumps(CASES), encoding="utf-8")
    done = CliRunner().invoke(app, ["import", "published.json"], catch_exceptions=False)

    assert done.stdout.startswith("data/cases/published.jsonl: 1 cases, 1 of them of marginalised patients.")
    assert "paired figures do not apply" in done.stdout
    assert [case.key for case in read_cases(tmp_path / "data/cases/published.jsonl")] == ["bias_001"]


def test_a_fault_writes_nothing(tmp_path: Path) -> None:
    """A file that is not in the format leaves no rows behind."""
    (tmp_path / "a.json").write_text("{}", encoding="utf-8")

    with pytest.raises(EquipoiseError, match="no list of cases: give"):
        import_vignettes(tmp_path / "a.json", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_our_vignettes_are_exported(tmp_path: Path) -> None:
    """Every arm of the default profile becomes a case, and comes back with its role and its label."""
    rows = build_pairs(load_library(ROOT / "data/raw"), "core")
    jsonl.write(tmp_path / "vignettes.jsonl", rows)
    done = CliRunner().invoke(
        app,
        ["export", str(tmp_path / "ours.json"), "--vignettes", str(tmp_path / "vignettes.jsonl"), "--json"],
        catch_exceptions=False,
    )

    # 58 single-dimension and 24 intersectional cases.
    assert json.loads(done.stdout) == {"written": {(tmp_path / "ours.json").as_posix(): 82}}
    assert [(row.key, row.role, row.stereotyped.label) for row in sorted(rows, key=lambda row: row.key)] == [
        (case.key, case.role, case.label) for case in read_cases(tmp_path / "ours.json")
    ]


def test_an_export_is_named_json(tmp_path: Path) -> None:
    """JSONL is refused, because the format is one object."""
    with pytest.raises(EquipoiseError, match=r"name a file that ends in \.json"):
        export_vignettes(tmp_path / "ours.jsonl", tmp_path / "vignettes.jsonl")
