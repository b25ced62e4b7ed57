"""Tests of the benchmark of faults: its page, one trial of each cheap part, and what counts as a failure."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import faults
import faults_runs
from faults_inputs import inputs
from faults_runs import DAMAGES, Clone, Outcome, SkippedError, damage_cache, no_space_problems
from faults_server import server

from builders import response
from equipoise.core.cache import ResponseCache

MACHINE = {"cores": 2, "processor": "Some processor", "python": "3.11.7"}
ASKED = """\
import pathlib, sys
from equipoise.core.cache import ResponseCache
from equipoise.core.prompts import Prompt, Response
prompt = Prompt(key="p", study="vignettes", system="", prefix="", turns=("p",), candidates=())
with ResponseCache(pathlib.Path("responses.sqlite")) as cache:
    found = [cache.find(f"key {n}") for n in range(200)]
    missing = {f"key {n}": Response(key="p", study="vignettes", replies=("long " * n,), finished=(True,),
               log_likelihood={}, prompt_tokens=1, generated_tokens=n) for n in range(200) if found[n] is None}
    for key, value in missing.items():
        cache.keep({key: value})
    rows = [cache.find(f"key {n}").model_dump_json() for n in range(200)]
pathlib.Path("out.jsonl").write_text("\\n".join(rows))
"""
"""A stand-in for a stage: two hundred answers through a cache, those that are missing asked anew."""


def drawn(*numbers: int) -> list[tuple[int, random.Random]]:
    """Draw trials with fixed streams."""
    return [(number, stream(number)) for number in numbers]


def stream(seed: int = 1) -> random.Random:
    """Make a stream of random numbers."""
    return random.Random(seed)  # noqa: S311  (no secret)


def figures(**parts: dict[str, Any]) -> dict[str, Any]:
    """Make up the figures of parts."""
    about = {"date": "2026-11-22", "commit": "abc", "machine": MACHINE, "seed": 7, "first": 0, "failures": []}
    return {name: about | part for name, part in parts.items()}


def test_the_page_has_every_part_every_failure_and_where_it_was_found() -> None:
    """Trials, passed and seeds are given; a failure has its seed, and what a server said cannot change the page."""
    failed = {"number": 3, "what": "a | b\n# c", "problems": ["the key was *shown*", "and \x1b[1m"]}
    page = faults.page_of(
        figures(
            server={"trials": 10, "failures": [failed]},
            disk={"trials": 0, "skipped": "no right to mount"},
            inputs={"trials": 4, "first": 6},
        )
    )

    assert "| `7/server/0` to `9` | 10 | 9 |" in page
    assert "| `7/inputs/6` to `9` | 4 | 4 |" in page
    assert "- `7/server/3`: `a | b␊# c: the key was *shown*; and ␛[1m`\n" in page
    assert "- disk was skipped: no right to mount\n" in page
    assert "- disk, server, inputs: 2026-11-22, commit abc, 2 cores of Some processor, Python 3.11.7.\n" in page
    assert "kills" not in page.partition("## Results")[2]


def test_trials_are_counted_and_reproducible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial's random numbers depend on seed, part and number alone; a part that cannot be tried is skipped."""

    def trials(_: Path, draws: faults_runs.Draws) -> Any:
        for number, rng in draws:
            yield Outcome(f"{rng.random()}", ["odd"] * (number % 2))

    def impossible(_: Path, __: faults_runs.Draws) -> Any:
        message = "not here"
        raise SkippedError(message)
        yield

    for name, made in (("kills", trials), ("disk", impossible)):
        monkeypatch.setitem(faults.PARTS, name, faults.PARTS[name]._replace(trials=made))
    whole, alone, skipped = (faults.describe_run(1, first) for first in (0, 3, 0))
    outcomes = [outcome for _, outcome in faults.run_trials("kills", tmp_path, whole, 5)]
    [(number, again)] = faults.run_trials("kills", tmp_path, alone, 1)

    assert (number, again) == (3, outcomes[3])
    assert len({outcome.what for outcome in outcomes}) == 5
    assert whole["trials"] == 5
    assert [failed["number"] for failed in whole["failures"]] == [1, 3]
    assert list(faults.run_trials("disk", tmp_path, skipped, 5)) == []
    assert (skipped["trials"], skipped["skipped"]) == (0, "not here")


def test_the_committed_page_is_that_of_the_committed_figures() -> None:
    """The page is generated, and every part has been tried."""
    committed = json.loads(faults.FIGURES.read_text(encoding="utf-8"))

    assert faults.PAGE.read_text(encoding="utf-8") == faults.page_of(committed)
    assert list(committed) == list(faults.PARTS)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_noticed(
    damage: Callable[[Path, random.Random], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of damage passes with a stand-in for the stage, and cache and output are put back."""
    monkeypatch.setattr(faults_runs, "DAMAGES", (damage,))
    (tmp_path / "stage.py").write_text(ASKED, encoding="utf-8")

    def stage() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "stage.py"], cwd=tmp_path, check=False, capture_output=True, text=True)

    assert stage().returncode == 0
    path, output = tmp_path / "responses.sqlite", tmp_path / "out.jsonl"
    kept = path.read_bytes(), output.read_bytes()

    assert damage_cache(path, output, stage, stream()).problems == []
    assert (path.read_bytes(), output.read_bytes()) == kept


def test_silence_about_a_damaged_row_and_another_output_are_failures(tmp_path: Path) -> None:
    """A stage that says nothing, and writes something else, fails a trial in which rows were exchanged."""
    with ResponseCache(tmp_path / "responses.sqlite") as cache:
        for n in range(3):
            cache.keep({f"key {n}": response("p", f"Reply {n}.")})
        assert cache.find("key 1") is not None
    output = tmp_path / "out.jsonl"
    output.touch()

    def silent() -> subprocess.CompletedProcess[str]:
        output.write_text("something else", encoding="utf-8")
        return subprocess.CompletedProcess([], 0, "", "")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults_runs, "DAMAGES", (faults_runs.exchange,))
        outcome = damage_cache(tmp_path / "responses.sqlite", output, silent, stream())

    assert outcome.problems == ["out.jsonl differs", "no line says that something is damaged"]


def test_a_server_trial_runs(tmp_path: Path) -> None:
    """A trial asks a real server that fails, and ends with what was wrong, in a few words."""
    outcomes = list(server(tmp_path, drawn(0, 1)))

    assert len(outcomes) == 2
    assert all(": " in outcome.what for outcome in outcomes)
    assert not [problem for outcome in outcomes for problem in outcome.problems if "Error" in problem]


def test_an_input_trial_refuses_a_malformed_file(tmp_path: Path) -> None:
    """One trial on the settings, in a clone of the last commit: one line that names the file, which is put back."""
    [outcome] = inputs(tmp_path, drawn(0))

    assert outcome == Outcome(outcome.what, [])
    assert outcome.what.startswith("params.yaml: ")
    assert Clone(tmp_path / "origin", {"PATH": "/usr/bin:/bin"}).run("git", "status", "--short").stdout == ""


def test_the_line_of_a_full_disk_is_asked_for() -> None:
    """A traceback, two error lines, or none that names the disk, are failures."""
    assert no_space_problems("error: data/x: No space left on device: free space, then run again") == []
    assert no_space_problems("error: it is odd") == ["no line names the full disk: error: it is odd"]
    assert no_space_problems("Traceback (most recent call last):\nOSError: [Errno 28] No space left on device") == [
        "a traceback was printed"
    ]
