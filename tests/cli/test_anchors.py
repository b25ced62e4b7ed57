from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.anchors import anchors as command
from equipoise.core.errors import EquipoiseError
from published import CATALOGUE, write

if TYPE_CHECKING:
    from click.testing import Result

app = typer.Typer()
app.command()(command)


def call(folder: Path | None, data: Path, *options: str) -> Result:
    """Run the command on a folder of data."""
    environment = {"EQUIPOISE_ANCHORS": None if folder is None else str(folder), "COLUMNS": "80"}
    return CliRunner().invoke(app, ["--data", str(data), *options], env=environment, catch_exceptions=True)


def test_the_table_shows_printed_figures_and_departures(tmp_path: Path) -> None:
    """Each printed figure and each exception has a row; the figures of a table that agree are one line."""
    done = call(*write(tmp_path))
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]

    assert done.exit_code == 0
    assert "gap | in race 25 % - 25.00 % reproduced" in lines
    assert "right for White: 3 of 4 0.9 0.75 0.75 departs" in lines
    assert "black: printed upside down - 0.6 0.5 departs" in lines
    assert "counts 3 3 second count not printed" in lines
    assert "7 figures: 2 reproduced, 2 departs, 3 not printed" in lines
    assert "not compared: fsd: fsd/none.jsonl is not in" in done.stderr


def test_all_figures_are_shown_when_asked(tmp_path: Path) -> None:
    """With --all every figure has its row."""
    lines = [" ".join(line.split()) for line in call(*write(tmp_path), "--all").stdout.splitlines()]

    assert "run, correct, white - 3 3 not printed" in lines


def test_markdown_is_a_page(tmp_path: Path) -> None:
    """The page has what departs, one by one, and a count of the figures that agree, by source and place."""
    page = call(*write(tmp_path), "--md").stdout

    assert page.startswith("# The published figures, recomputed\n")
    assert "| A study | right for White | section 2 | 0.9 | 0.75 | 0.75 | 3 of 4 |" in page
    assert "| A study | black | table 1 | - | 0.6 | 0.5 | printed upside down |" in page
    assert "- **A study**\n  - printed: 1 of 1 (section 1), 0 of 1 (section 2)\n" in page
    assert "  - accuracies, released: 1 of 2 (table 1)\n" in page
    assert page.endswith("- Another: fsd/none.jsonl is missing.\n")


def test_markdown_shows_every_figure_when_asked(tmp_path: Path) -> None:
    """With --all there is a table of them, in which what would end a cell is escaped."""
    page = call(*write(tmp_path), "--md", "--all").stdout

    assert r"| A study | gap \| in race | section 1 | 25 % | - | 25.00 % | reproduced |  |" in page


def test_json_has_every_figure(tmp_path: Path) -> None:
    """Each figure is an object with all that is known about it."""
    rows = json.loads(call(*write(tmp_path), "--json").stdout)

    assert len(rows) == 7
    assert rows[1] == {
        "id": "amqa/white",
        "source": "amqa",
        "table": "amqa/white",
        "place": "section 2",
        "what": "right for White",
        "paper": "0.9",
        "limit": None,
        "released": 0.75,
        "ours": 0.75,
        "tolerance": 0.05,
        "verdict": "departs",
        "expect": "departs",
        "note": "3 of 4",
    }


def test_an_unexpected_verdict_fails(tmp_path: Path) -> None:
    """After the table the rows are named, and the exit code is 1."""
    catalogue = copy.deepcopy(CATALOGUE)
    catalogue["printed"][1]["expect"] = "reproduced"
    done = call(*write(tmp_path, catalogue))

    assert done.exit_code == 1
    assert isinstance(done.exception, EquipoiseError)
    assert str(done.exception).startswith(
        "1 of 7 verdicts are not as expected: amqa/white (departs, not reproduced): find what moved them, or correct"
    )
    assert "expected: reproduced" in " ".join(done.stdout.split())


@pytest.mark.parametrize("named", [None, "none"])
def test_data_must_be_named(tmp_path: Path, named: str | None) -> None:
    """Without the variable, or with one that is not a folder, the error says what to do."""
    _, data = write(tmp_path)
    done = call(None if named is None else tmp_path / named, data)

    assert str(done.exception).startswith("EQUIPOISE_ANCHORS='")
    assert "is not a folder: set it to the folder of the published data, or add --fetch" in str(done.exception)


def test_fetched_data_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --fetch the data are those in the cache, and whatever cannot be fetched is named with the reason."""
    folder, data = write(tmp_path)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setattr("pooch.retrieve", lambda *_, **__: None)
    (tmp_path / ".cache").mkdir()
    folder.rename(tmp_path / ".cache/anchors")
    done = call(None, data, "--fetch")

    assert done.exit_code == 0
    assert "not fetched: fsd: nobody released it" in done.stderr
    assert "7 figures" in done.stdout
