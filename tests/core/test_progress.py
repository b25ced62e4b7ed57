"""Tests of the progress bar, on a pseudo-terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from equipoise.core import progress as module
from equipoise.core.progress import progress

pty = pytest.importorskip("pty", reason="a terminal of one's own needs a POSIX system")
HEAD = """
import sys, time
from equipoise.core import progress as module
from equipoise.core import stage
from equipoise.core.progress import aside, progress
module.PATIENCE = {patience}
"""
LONG = "x" * 200
"""A line that is longer than a terminal is wide."""
ESCAPE = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")


class Seen(NamedTuple):
    """A program's output: on the terminal, without colours, and on a redirected standard output."""

    terminal: str
    out: str


def run(folder: Path, body: str, *, patience: float = 0.0, piped: bool = True) -> Seen:
    """Run a program whose standard error is a terminal; its standard output is a pipe, or the same terminal."""
    (folder / "script.py").write_text(HEAD.format(patience=patience) + body, encoding="utf-8")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, str(folder / "script.py")],
        stdout=subprocess.PIPE if piped else theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
    ) as running:
        os.close(theirs)
        shown = b""
        try:
            while some := os.read(ours, 4096):
                shown += some
        except OSError:
            pass  # Linux's way to say that nobody has the terminal open any more
        os.close(ours)
        out = running.stdout.read().decode() if running.stdout else ""
    assert running.returncode == 0
    return Seen(ESCAPE.sub("", shown.decode()), out)


def test_the_bar_is_on_the_terminal_and_results_go_where_they_are_sent(tmp_path: Path) -> None:
    """Redirected standard output contains what was printed and nothing of the bar."""
    seen = run(tmp_path, "with progress('infer') as move:\n    time.sleep(0.2)\n    print('row')\n    move(3, 12)\n")

    assert seen.out == "row\n"
    assert "infer" in seen.terminal
    assert "3/12" in seen.terminal


def test_lines_on_the_same_terminal_stay_whole(tmp_path: Path) -> None:
    """A line printed while the bar is shown appears above it, unbroken however long it is: JSON can be copied."""
    body = f"with progress('x') as move:\n    time.sleep(0.2)\n    print({LONG!r})\n    move(1, 1)\n"
    seen = run(tmp_path, body, piped=False)

    assert f"{LONG}\r\n" in seen.terminal
    assert "1/1" in seen.terminal


@pytest.mark.parametrize("piped", [True, False])
def test_short_work_shows_none(tmp_path: Path, *, piped: bool) -> None:
    """Work that ends within `PATIENCE` shows no bar."""
    seen = run(tmp_path, "with progress('x') as move:\n    move(1, 1)\n", patience=60, piped=piped)

    assert seen == ("", "")


def test_work_within_work_moves_the_one_bar(tmp_path: Path) -> None:
    """A stage has a bar with its name without asking; progress within its function updates that bar."""
    main = "def main() -> None:\n    time.sleep(0.2)\n    with progress('inner') as move:\n        move(2, 5)\n"
    seen = run(tmp_path, f"{main}stage.run(main)\n")

    assert "script" in seen.terminal
    assert "inner" not in seen.terminal
    assert "2/5" in seen.terminal


def test_another_bar_has_the_terminal_to_itself(tmp_path: Path) -> None:
    """Within `aside` the bar does not overwrite a library's output; afterwards it is shown again."""
    body = (
        "with progress('ours') as move:\n    time.sleep(0.2)\n    with aside():\n        sys.stderr.write('theirs')\n"
        "        time.sleep(0.4)\n        sys.stderr.write(', done\\n')\n    time.sleep(0.2)\n"
    )
    before, between, after = run(tmp_path, body).terminal.partition("theirs, done")

    assert between
    assert "ours" in before
    assert "ours" in after


def test_where_nobody_sees_it_there_is_none(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error that is a file or a pipe stays empty, whatever the environment's colour settings."""
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("infer") as move, module.aside():
        time.sleep(0.05)
        move(3, 12)

    assert capfd.readouterr() == ("", "")


def test_a_fault_takes_the_bar_away(tmp_path: Path) -> None:
    """After an error, as after success, the next work has a new bar."""
    body = (
        "try:\n    with progress('first'):\n        time.sleep(0.2)\n        raise ValueError\n"
        "except ValueError:\n    pass\nwith progress('second') as move:\n    time.sleep(0.2)\n    move(1, 2)\n"
    )
    shown = run(tmp_path, body).terminal

    assert shown.rindex("first") < shown.index("second")
    assert "1/2" in shown
