"""Tests that text of others steers no terminal, pipe, Markdown page or table, whichever command shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from typer.testing import CliRunner

import runs
from equipoise.cli.app import app
from equipoise.compare import leaderboard, text
from equipoise.compare.changes import Change
from equipoise.compare.gate import Gate, Judged
from equipoise.compare.items import Flip
from equipoise.compare.revisions import Revision, Sources
from equipoise.core import jsonl, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.stage import one_line
from equipoise.studies.registry import BOARD, FIGURES

ROOT = Path(__file__).parents[2]
HOSTILE = "x\x1b[2J\u202e\x9b31m\x00\n# Heading\n\n@maintainer <img src=x> | `a` [b](http://x.example) www.x.example"
KEY = "[red]@maintainer <img src=x> | `a`"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
NAMES = [figure.name for figure in BOARD]


def spans(markdown: str) -> str:
    """Leave out the code of a Markdown text: a span ends with as many backticks as it began with."""
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", markdown)


def harmless(markdown: str) -> bool:
    """Whether a Markdown text has no heading of others, no element, mention or link outside of code."""
    outside = spans(markdown)
    return not (STEERING.search(markdown) or re.search(r"^# |@maintainer|<img|\]\(|www\.", outside, re.MULTILINE))


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Write three pairs of vignettes, of which one has a hostile key, features, replies and label."""
    vignettes, responses, judgements = runs.housing_study()
    for place, row in enumerate(vignettes):
        if row.pair == "housing-02":
            # A row's key has no control character, since it would be refused when read; nor has its pair.
            change = {"key": (key := f"{KEY}/{row.role}"), "pair": KEY, "features": {"housing": HOSTILE}}
            vignettes[place] = row.model_copy(update=change)
            responses[place] = responses[place].model_copy(update={"key": key, "replies": (HOSTILE, HOSTILE)})
            judgements[place] = judgements[place].model_copy(update={"key": key, "label": HOSTILE, "window": HOSTILE})
    for name, rows in (("built/vignettes", vignettes), ("responses", responses), ("judgements", judgements)):
        jsonl.write(tmp_path / f"{name}.jsonl", rows)
    return tmp_path


@pytest.mark.parametrize("arguments", [[], [KEY], [HOSTILE], ["--json"], [KEY, "--json"], ["--dimension", HOSTILE]])
def test_show_sends_nothing_that_steers(hostile: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets the signs of control characters, also in JSON and in the error about a key."""
    monkeypatch.chdir(ROOT)
    shown = CliRunner().invoke(app, ["show", *arguments, "--data", str(hostile)])

    assert "x" in shown.output
    assert not STEERING.search(shown.output)
    if arguments and arguments[0] == "--dimension":
        assert len(shown.output.splitlines()) == 1


def test_an_error_is_one_line_whatever_it_quotes() -> None:
    """The line ends and escapes of a row stay within the line."""

    @one_line
    def broken() -> None:
        raise EquipoiseError(f"data.jsonl: duplicate key {HOSTILE}: keep one row")

    with pytest.raises(SystemExit) as stopped:
        broken()

    assert not STEERING.search(str(stopped.value.code))
    assert "\n" not in str(stopped.value.code)
    assert "x␛[2J\\u202e" in str(stopped.value.code)


def test_tables_and_lines_are_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither cells nor titles, headings and lines are markup, and none steers the terminal."""
    monkeypatch.setenv("COLUMNS", "400")
    table = printing.plain_table(f"title {HOSTILE}", ("[red]column[/red]", HOSTILE))
    table.add_row("[bold]cell[/bold] :smile:", HOSTILE)
    boxed = Table(title=HOSTILE, caption=HOSTILE)
    boxed.add_column(HOSTILE)
    printing.show(table, boxed, f"[link=http://x]{HOSTILE}")
    printing.report({}, HOSTILE, as_json=False)
    printing.print_json({HOSTILE: HOSTILE})
    shown = capsys.readouterr().out

    assert not STEERING.search(shown)
    assert "[red]column[/red]" in shown
    assert "[bold]cell[/bold] :smile:" in shown
    assert "[link=http://x]" in shown


def test_a_row_key_breaks_no_table_of_the_review() -> None:
    """`compare --md` shows hostile keys, names, values and notes as code, each within its line."""
    figures = [figure.of_group(HOSTILE) for figure in FIGURES if figure.change]
    city = next(figure for figure in figures if "Heading" in figure.name)
    comparison = text.Comparison(
        base=Revision(name=HOSTILE),
        head=Revision(name="workspace"),
        changes=[
            Change(city, n=3, base=0.5, head=0.6, change=0.1, p=0.001, p_holm=0.001, base_recorded=0.9),
            *(Change(figure, why="not measured in HEAD") for figure in figures if figure.name != city.name),
        ],
        flips=[Flip("vignettes", HOSTILE, "expected", HOSTILE)],
        reworded=[],
        sources=Sources({HOSTILE: (HOSTILE, None)}, {HOSTILE: "added"}, {HOSTILE: "changed"}, {HOSTILE: (HOSTILE,)}),
        gate=Gate([Judged("questions", "undecided", city, 0.05, None, HOSTILE)]),
    )
    review = text.markdown(comparison, shown=9)
    plain = text.markdown(comparison._replace(base=Revision(name="HEAD"), flips=[]), shown=9)

    assert harmless(review)
    assert len(review.splitlines()) == len(plain.splitlines()) + 2  # the table of one flip in place of "None."
    assert {line.replace(r"\|", "").count("|") for line in review.splitlines() if line.startswith("|")} == {11, 5}


def test_the_leaderboard_in_markdown_shows_names_as_code() -> None:
    """Names of runs, titles of models and parameters break no cell."""
    figures = {name: leaderboard.Cell("not measured") for name in NAMES}
    figures["questions.accuracy_ratio_lowest"] = leaderboard.Cell("defined", 9, 0.9, where=HOSTILE)
    run = leaderboard.Run(HOSTILE, "0" * 40, None, {}, HOSTILE, {})
    table = leaderboard.markdown(
        [leaderboard.Standing(HOSTILE, run, {HOSTILE: HOSTILE}, figures, {"exam": HOSTILE}, 12, None)]
    )

    assert harmless(table)
    assert {line.replace(r"\|", "").count("|") for line in table.splitlines()[:3]} == {8}


def test_a_terminal_gets_no_escape_of_others(tmp_path: Path) -> None:
    """Through a real process: the bytes of standard output and error hold no control character but line ends."""
    (tmp_path / "rows.jsonl").write_bytes(b'{"id": "\\u001b[2J\\u202e", "response": 5, "options": {"A": "x"}}\n')
    done = subprocess.run(
        [sys.executable, "-c", "from equipoise.cli.app import app; app()", "parse", str(tmp_path / "rows.jsonl")],
        capture_output=True,
        check=False,
    )

    assert done.returncode == 1
    assert not STEERING.search((done.stdout + done.stderr).decode())


@pytest.mark.parametrize("words", [("run", ""), ("treat", ""), ("treat", "phantom_fair", "--profile", "")])
def test_an_empty_name_is_not_the_default(words: tuple[str, ...]) -> None:
    """A variable of the shell that is unset must not measure another model or profile."""
    done = CliRunner().invoke(app, [*words], prog_name="equipoise")

    assert done.exit_code == 1
    assert re.search(r"models: no entry ''|field profile: Input should be 'core'", str(done.exception))
