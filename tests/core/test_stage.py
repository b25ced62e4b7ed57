from __future__ import annotations

import py_compile
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
STAGES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
HEAD = """
import signal, sys, time
from pathlib import Path
from equipoise.core import stage
from equipoise.core.errors import EquipoiseError
# A shell may have told its background jobs to ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def script(folder: Path, body: str) -> list[str]:
    """Write a stage script whose main function has the given body, and give the command that runs it."""
    path = folder / "script.py"
    main = f"def main(rows: Path, count: int) -> None:\n    {body}\n"
    path.write_text(f'{HEAD}{main}if __name__ == "__main__":\n    stage.run(main)\n', encoding="utf-8")
    return [sys.executable, str(path), "rows.jsonl", "3"]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_arguments_come_from_the_signature(tmp_path: Path) -> None:
    """Each parameter is a positional argument, converted to its type."""
    done = run(script(tmp_path, "print(repr((rows.name, count)))"), tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "('rows.jsonl', 3)\n", "")


def test_a_fault_is_one_line(tmp_path: Path) -> None:
    """An EquipoiseError is one line on standard error, exit code 1 and no traceback."""
    done = run(script(tmp_path, "raise EquipoiseError(f'{rows}, row {count}: bad: fix it')"), tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: rows.jsonl, row 3: bad: fix it\n")


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    """Ctrl-C prints one line that says how to resume, with exit code 1 and no traceback."""
    command = script(tmp_path, "print('ready', flush=True); time.sleep(600)")
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        _, shown = running.communicate()

    assert (
        running.returncode,
        shown,
    ) == (1, "interrupted: finished work is saved; run the same command again to resume\n")


def test_settings_that_change_meanwhile_are_refused(tmp_path: Path) -> None:
    """DVC would record the outputs as those of the new settings."""
    (tmp_path / "params.yaml").write_text("model: a\n", encoding="utf-8")
    done = run(script(tmp_path, "Path('params.yaml').write_text('model: b\\n')"), tmp_path)

    assert done.returncode == 1
    assert done.stderr == ("error: params.yaml: changed while the stage ran (by another `dvc exp run`?): run again\n")


def test_a_stage_keeps_the_lock_as_it_starts(tmp_path: Path) -> None:
    """The copy has the lock's text, and a last line with its checksum."""
    text = "schema: '2.0'\nstages:\n  check:\n    cmd: 'true'\n"
    (tmp_path / "dvc.lock").write_text(text, encoding="utf-8")
    run(script(tmp_path, "Path('dvc.lock').unlink()"), tmp_path)

    assert (tmp_path / ".cache/dvc.lock").read_text(encoding="utf-8").startswith(f"{text}# sha256 ")


def test_half_of_a_compiled_module_is_removed(tmp_path: Path) -> None:
    """On a full disk Python writes half of one, and no later process could import it."""
    (tmp_path / "other.py").write_text("LETTERS = 'a' * 1000, 'b'\n", encoding="utf-8")
    py_compile.compile(str(tmp_path / "other.py"))
    cut = "import os, other; os.truncate(other.__cached__, 40)"
    first, again = (run(script(tmp_path, body), tmp_path) for body in (cut, "import other"))

    assert (first.returncode, first.stderr) == (again.returncode, again.stderr) == (0, "")


def test_a_mistake_of_ours_is_not_hidden(tmp_path: Path) -> None:
    """Any other error keeps its traceback."""
    done = run(script(tmp_path, "1 / 0"), tmp_path)

    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ZeroDivisionError" in done.stderr


def test_a_missing_argument_is_reported_without_a_traceback(tmp_path: Path) -> None:
    """A wrong command line shows the usage and exits with code 2."""
    done = run(script(tmp_path, "pass")[:-1], tmp_path)

    assert done.returncode == 2
    assert "Missing" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_outside_a_project_says_what_is_missing(name: str, tmp_path: Path) -> None:
    """Every stage, run as in the pipeline but without its files, fails with one line that names a missing file."""
    # Stages of every study are asked about one of them.
    words = shlex.split(STAGES[name].get("do", STAGES[name])["cmd"].replace("${item}", "vignettes"))
    script = words.index(f"stages/{name}.py")
    arguments = [word if word.startswith("-") or word == "vignettes" else f"no/{word}" for word in words[script + 1 :]]
    done = run([sys.executable, str(ROOT / words[script]), *arguments], tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert ": no such file: " in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_path_that_the_system_refuses_is_one_line(tmp_path: Path) -> None:
    """A name that is too long, or a file where a folder should be, is named with the reason and the fix."""
    (tmp_path / "file").touch()
    bodies = {"Path('a' * 300).open()": "File name too long", "Path('file/rows').open()": "Not a directory"}
    for body, reason in bodies.items():
        done = run(script(tmp_path, body), tmp_path)

        assert done.returncode == 1
        assert done.stderr.endswith(f": {reason}: correct the path or its permissions\n")
        assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """The error of a write names no path, so the line names the working folder."""
    done = run(script(tmp_path, "raise OSError(28, 'No space left on device')"), tmp_path)

    assert done.stderr == f"error: {tmp_path.resolve()}: No space left on device: free space, then run again\n"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("OSError(5, 'Input/output error', 'rows.jsonl')", "rows.jsonl: Input/output error"),
        ("OSError(27, 'File too large', 'params.yaml')", "params.yaml: File too large"),
        ("OSError(116, 'Stale file handle')", "Stale file handle"),
        ("OSError(24, 'Too many open files')", "Too many open files"),
        ("OSError(12, 'Cannot allocate memory')", "Cannot allocate memory"),
    ],
)
def test_any_other_refusal_of_the_system_is_one_line(tmp_path: Path, error: str, told: str) -> None:
    """With its path, if it has one, and what may help."""
    done = run(script(tmp_path, f"raise {error}"), tmp_path)

    fix = "check the disk, the network and the limits of this shell (`ulimit -a`), then run again"
    assert (done.returncode, done.stderr) == (1, f"error: {told}: {fix}\n")


def test_an_error_that_is_not_the_systems_keeps_its_traceback(tmp_path: Path) -> None:
    """Python and its libraries use the same exception for other errors, without a number: they are faults of ours."""
    done = run(script(tmp_path, "raise OSError('not readable')"), tmp_path)

    assert "Traceback" in done.stderr


def test_a_reader_that_goes_away_ends_the_command_in_silence(tmp_path: Path) -> None:
    """`equipoise … | head` prints no error of the pipe."""
    done = run(script(tmp_path, "raise BrokenPipeError(32, 'Broken pipe')"), tmp_path)

    assert "error:" not in done.stderr
