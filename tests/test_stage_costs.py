"""Tests of what benchmarks/stages.py counts, in a small pipeline, and of the page's parts. No speed is tested."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import projects
from equipoise.core.errors import EquipoiseError
from equipoise.materials.stories.library import load_library
from equipoise.studies.vignettes.profiles import build_pairs

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from stages_page import growth_lines, stage_lines  # noqa: E402  (a script's neighbour)

from stages import ADDED, FIGURES, TRIAL, Project, add_pair, change, clone_repository  # noqa: E402

PIPELINE = """\
vars: [python: env PYTHONPATH=src python]
stages:
  large:
    cmd: ${python} stages/large.py
    deps: [given, stages/large.py]
    outs: [made]
  small:
    cmd: ${python} stages/small.py
    deps: [made, stages/small.py]
    outs: [done]
"""
LARGE = """\
import os, pathlib, sqlite3
held = b"x" * (200 << 20)
pathlib.Path("made").write_text(pathlib.Path("given").read_text())
cache = pathlib.Path(os.environ["DVC_ROOT"], ".cache")
cache.mkdir(exist_ok=True)
with sqlite3.connect(cache / "responses.sqlite") as database:
    database.execute("CREATE TABLE IF NOT EXISTS response (key TEXT)")
    database.executemany("INSERT INTO response VALUES (?)", [["a"], ["b"]])
"""
SMALL = """\
import pathlib
if "wrong" in pathlib.Path("made").read_text():
    raise SystemExit(3)
pathlib.Path("done").touch()
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A clone of a repository with a pipeline of two stages, of which one takes memory and keeps two responses."""
    source = tmp_path / "source"
    files = {".dvc/config": "", ".gitignore": "/.cache\n/made\n/done\n", "dvc.yaml": PIPELINE, "given": "given"}
    for name, text in (files | {"stages/large.py": LARGE, "stages/small.py": SMALL}).items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    git = ("git", "-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "State"]):
        subprocess.run([*git, *command], cwd=source, check=True)
    (tmp_path / "place").mkdir()
    return clone_repository(source, tmp_path / "place")


def test_a_run_is_told_stage_by_stage(project: Project) -> None:
    """Each stage has its own peak, not that of DVC, and rows that the caches gained are counted; then nothing runs."""
    first, again = project.repro("--force"), project.repro()

    large, small = first["stages"]
    assert (large["stage"], small["stage"]) == ("large", "small")
    # 200 MiB and a bare Python, which is less than DVC holds.
    assert 200 <= large["peak_mib"] < 250
    assert small["peak_mib"] < 50
    assert large["seconds"] + small["seconds"] < first["seconds"]
    assert large["cpu_seconds"] + small["cpu_seconds"] < first["cpu_seconds"]
    assert first["prompts_asked"] == 2
    assert (again["stages"], again["prompts_asked"]) == ([], 0)


def test_a_stage_that_fails_stops_the_measurement(project: Project) -> None:
    """The error has the exit code and the stage that was begun last."""
    (project.folder / "given").write_text("wrong", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"dvc repro stopped with exit code \d+, last stage small"):
        project.repro()


def test_nothing_outside_the_clone_counts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands see no setting of DVC or Python of the user's, and their `python` is the stand-in."""
    monkeypatch.setenv("DVC_ROOT", "elsewhere")
    monkeypatch.setenv("PYTHONSTARTUP", "elsewhere")
    environment = clone_repository(project.folder, project.folder.parent / "other").environment

    assert "elsewhere" not in environment.values()
    executable = shutil.which("python", path=environment["PATH"])
    assert executable == str(project.folder.parent / "other/bin/python")


def test_the_new_pair_is_one_of_the_core(tmp_path: Path) -> None:
    """The core keeps its 82 cases, and two of them are texts that it did not have."""
    shutil.copytree(ROOT / "data/raw", tmp_path / "raw", ignore=shutil.ignore_patterns("own"))
    shipped = load_library(tmp_path / "raw")
    before = build_pairs(shipped, "core")
    add_pair(tmp_path / "raw")
    library = load_library(tmp_path / "raw")
    after = build_pairs(library, "core")

    assert len(before) == len(after) == 82
    assert {row.pair for row in after if row.text not in {old.text for old in before}} == {ADDED}
    # Every pair that was there still is, the one whose place was taken outside the core.
    assert len(library.pairs) == 1 + len(shipped.pairs)


def test_what_a_trial_changes_is_there(tmp_path: Path) -> None:
    """Every setting that a trial makes smaller exists, and keeps its neighbours."""
    for name, sections in TRIAL.items():
        copy = tmp_path / Path(name).name
        shutil.copyfile(ROOT / name, copy)
        before: Any = read(copy)
        change(copy, sections)
        after: Any = read(copy)

        assert before.keys() == after.keys()
        for section, values in sections.items():
            assert before[section].keys() == after[section].keys() == before[section].keys() | values.keys()
            assert {key: after[section][key] for key in values} == values


def read(path: Path) -> Any:
    """Read YAML."""
    import yaml

    return yaml.safe_load(path.read_text(encoding="utf-8"))


def run(seconds: float, stages: list[dict[str, Any]], asked: int = 0) -> dict[str, Any]:
    """Make up the figures of a run, one processor second more than wall seconds."""
    used = {"seconds": seconds, "cpu_seconds": seconds + 1}
    return {**used, "prompts_asked": asked, "stages": stages}


def costs(new_pair: float) -> dict[str, Any]:
    """Make up the figures of a whole run, and of a small change that takes so many seconds."""
    stages = [
        {"stage": name, "seconds": seconds, "cpu_seconds": seconds, "peak_mib": peak}
        for name, seconds, peak in (("build@exam", 2.0, 90), ("infer@exam", 95.0, 1234))
    ]
    return {
        "first": run(60.0, stages, 40),
        "cold": run(100.0, stages, 82),
        "idle": run(2.0, []) | {"runs": 3},
        "new_pair": run(new_pair, stages, 2),
        "new_alpha": run(9.0, stages[:1]),
        "help": {"seconds": 0.51, "runs": 5},
    }


@pytest.mark.parametrize(("seconds", "verdict"), [(15.0, "15%: reached"), (15.1, "15%: missed")])
def test_the_page_tells_what_a_small_change_costs(seconds: float, verdict: str) -> None:
    """Of 100 s, the stages took 97 and DVC 3; a new pair may take 15 of them."""
    lines = list(stage_lines(costs(seconds)))

    assert "| infer | exam | 95.0 | 95.0 | 1,234 |" in lines
    # 100 - 97 s, and 101 - 97 processor seconds.
    assert "| DVC's overhead | | 3.0 | 4.0 | |" in lines
    assert "| **total** | | **100.0** | **101.0** | **1,234** |" in lines
    (row,) = [line for line in lines if line.startswith("| one new pair")]
    assert row.endswith(f"| {seconds:.1f} | {seconds:.1f}% | 2 | build, infer | {verdict} |")
    assert any(line.endswith("| 2.0 | 2.0% | 0 | none | 5 s: reached |") for line in lines)
    assert "takes 0.51 s, the median of 5 (0.5 s: missed)" in lines[-1]


def test_the_stages_of_the_page_are_those_of_the_pipeline() -> None:
    """Every stage of dvc.yaml was measured, those of a study once for each that params.yaml names, and no other."""
    measured = [row["stage"] for row in json.loads(FIGURES.read_text(encoding="utf-8"))["cold"]["stages"]]
    stages, studies = read(ROOT / "dvc.yaml")["stages"], projects.committed_settings().studies
    expected = [f"{name}@{study}" for name, stage in stages.items() if "foreach" in stage for study in studies]

    assert sorted(measured) == sorted([*expected, *(name for name, stage in stages.items() if "foreach" not in stage)])


def test_the_page_tells_what_one_more_prompt_costs() -> None:
    """From 100 prompts in 1 s to 1,000 in 2.8 s: 1.8 s for 900 more is 2 ms each. A single size has no slope."""
    steps = [
        {"step": "score", "n": 10, "seconds": 1.0, "cpu_seconds": 0.5, "peak_mib": 60},
        {"step": "infer", "n": 100, "seconds": 1.0, "cpu_seconds": 0.5, "peak_mib": 60},
        {"step": "infer", "n": 1000, "seconds": 2.8, "cpu_seconds": 1.5, "peak_mib": 1070},
    ]
    lines = list(growth_lines({"steps": steps}))

    assert lines[-2:] == [
        "| infer | 100 / 1,000 | 1 / 2.8 | 0.5 / 1.5 | 60 / 1,070 | 2.00 |",
        "| score | 10 | 1 | 0.5 | 60 | |",
    ]
