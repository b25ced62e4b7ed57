"""Tests of `equipoise judge --benchmark`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.texts import judge
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import sha256

ROOT = Path(__file__).parents[2]
app = typer.Typer()
app.command()(judge)


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def invoke(*arguments: str) -> str:
    """Run the command and give what it prints."""
    return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout


def test_one_object_with_the_figures_of_a_reader() -> None:
    """With --json: which file and reader, both kappas with their intervals, every class, and the speed."""
    result = json.loads(invoke("--benchmark", "passages", "--judge", "keyword", "--json"))

    assert result["sha256"] == sha256(ROOT / "judge/benchmark/passages.jsonl")
    assert (result["benchmark"], result["judge"], result["n"]) == ("passages", "keyword", 620)
    assert all(set(result[name]["kappa"]) >= {"estimate", "ci_low", "ci_high"} for name in ("considered", "three_way"))
    assert sum(row["n"] for row in result["classes"].values()) == 620
    assert result["passages_per_second"] > 0


def test_a_table_by_class_and_the_totals() -> None:
    """Without --json: a line a class, then both kappas and the speed; --limit draws so many passages."""
    output = invoke("--benchmark", "passages", "--judge", "count", "--limit", "50")

    assert "passages: 50 passages; judge count" in output
    assert "κ, considered or not: " in output
    assert "passages a second" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either a FILE of outputs or --benchmark NAME"),
        (("rows.jsonl", "--benchmark", "passages"), "give either a FILE of outputs or --benchmark NAME"),
        (("rows.jsonl", "--limit", "3"), "--limit needs --benchmark"),
        (("--benchmark", "passages", "--judge", "keywords"), "no entry 'keywords'"),
    ],
)
def test_contradictory_arguments_are_refused(arguments: tuple[str, ...], message: str) -> None:
    """The error says which argument to give, before any work."""
    with pytest.raises(EquipoiseError, match=message):
        invoke(*arguments)
