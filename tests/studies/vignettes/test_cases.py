"""Tests of `equipoise cases`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from equipoise.core.stage import one_line
from equipoise.studies.vignettes import cli, coverage

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
KEYS = ["pairs", "stories", "grade_a", "grade_b", "grade_c"]
app = typer.Typer()
app.command()(one_line(cli.cases))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of data with the authored cases and three items."""
    (tmp_path / "items").mkdir()
    (tmp_path / "raw").symlink_to(ROOT / "data/raw")
    rows = (ROOT / "data/items/authored.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "items/authored.jsonl").write_text("".join(rows[:3]), encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module", autouse=True)
def _read_once() -> Iterator[None]:
    """Read the wordings of the authored cases in the first run alone: it takes most of one."""
    kept: list[list[str]] = []

    def misreadings(*authored: Any) -> list[str]:
        if not kept:
            kept.append(list(coverage.misreadings(*authored)))
        return kept[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "misreadings", misreadings)
        yield


@pytest.fixture
def _few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let three items be enough."""
    monkeypatch.setitem(coverage.FLOORS, "items", 3)


def run(data: Path, *words: str) -> Any:
    """Run the command on a folder of data."""
    return CliRunner().invoke(app, ["--data", str(data), *words], catch_exceptions=False)


@pytest.mark.usefixtures("_few_items")
def test_the_table_has_a_row_for_each_group(data: Path) -> None:
    """With every floor kept the exit code is 0: groups in rows, then the grades of all pairs, then the library."""
    kept, done = run(data, "--profile", "core"), run(data, "--profile", "powered")

    assert [(result.exit_code, result.stderr) for result in (kept, done)] == [(0, "")] * 2
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["dimension", "patient", "group", "pairs", "stories", "A", "B", "C"] in lines
    assert any("learning-disability" in line for line in lines)
    assert "powered: 250 pairs, " in done.stdout  # 13 x 15 + 11 x 5
    (of_pairs, of_items, of_rows) = done.stdout.splitlines()[-3:]
    assert of_items.endswith("; 3 items")
    for line in (of_pairs, of_rows):
        assert re.search(r"\d+ of grade C; \d+ with a comparison group, \d+ that name the error, \d+ both$", line)


@pytest.mark.usefixtures("_few_items")
def test_a_reverse_direction_is_named(data: Path) -> None:
    """The pairs of men and of the young stand in rows of their own."""
    assert "gender, reverse" in run(data, "--profile", "full").stdout
    assert "reverse" not in run(data, "--profile", "powered").stdout


def test_a_missed_floor_is_a_line_and_exit_code_1(data: Path) -> None:
    """Three items are too few: the table is printed, then the line, and the exit code is 1."""
    done = run(data)

    assert done.exit_code == 1
    assert done.stderr == "missed: items: 3 found, at least 120 wanted\n"
    assert "core: 41 pairs, " in done.stdout


@pytest.mark.parametrize("profile", ["core", "powered"])
def test_json_is_one_object(data: Path, profile: str) -> None:
    """Standard output is the counts alone, also where a floor is missed; a dimension's are of the profile."""
    done = run(data, "--profile", profile, "--json")
    counts = json.loads(done.stdout)

    assert done.exit_code == 1
    counted = ["stories", "mirrors", "stubs", "ladder", "decided", "items"]
    assert list(counts) == [*counted, "evidence", "dimensions", "decisions"]
    assert all(
        tally["grade_a"] <= tally["both"] <= tally["comparison"] <= tally["n"] for tally in counts["evidence"].values()
    )
    assert counts["items"] == 3
    assert all(list(tally) == KEYS for tally in (*counts["dimensions"].values(), *counts["decisions"].values()))
    assert list(counts["decisions"]) == ["undertreatment", "overpsychiatrisation", "disbelief"]
    assert all(
        tally["pairs"] == tally["grade_a"] + tally["grade_b"] + tally["grade_c"]
        for tally in counts["dimensions"].values()
    )
    assert len(counts["dimensions"]) == {"core": 7, "powered": 13}[profile]


def test_a_fault_in_the_files_is_one_line(tmp_path: Path) -> None:
    """Without the authored files the first that is missing is named."""
    done = run(tmp_path)

    assert done.exit_code == 1
    assert "personas.yaml: no such file" in str(done.exception)


def test_an_unknown_profile_is_refused(data: Path) -> None:
    """Only the profiles that there are can be named."""
    assert "'huge'" in run(data, "--profile", "huge").stderr
