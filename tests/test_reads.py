"""Every file that a stage opens is among its dependencies: nothing that it reads can change unseen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from clones import shorten
from equipoise.models.registry import JUDGES, EmbeddedSource, JudgeEntry, load_judge_entry, names
from equipoise.pipeline.steps import STAGES
from projects import copy_pipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
PHANTOM = "phantom_silent"
FEWER = {
    "build": {"controls": False, "mirrors": False, "rereadings": ["swapped"]},
    "measure": {"n_bootstrap": 200},
    "neutralize": {"limit": 4},
    "sample": {"orders": 1},
}
CASES = "import outputs data/examples/outputs.jsonl --name replay_mine --cases data/examples/cases.json"
MESSAGES = "import openr1-psy data/examples/openr1.json"


class Try(NamedTuple):
    """A run: its studies, changed settings, and a command of `equipoise` before it."""

    studies: tuple[str, ...]
    changes: dict[str, Any] = {}
    command: str = ""


RUNS = {
    "as shipped": Try(("vignettes", "questions", "exam", "stigma", "decisions")),
    "an attack, and templates of one's own": Try(("questions",), {"perturb": {"attempts": 2, "templates": "mine"}}),
    "imported messages": Try(("openr1",), command=MESSAGES),
    "saved outputs": Try(("cases",), {"model": "replay_mine"}, CASES),
    "a panel": Try(("decisions",), {"build": {"design": "panel"}}),
    "stopping early": Try(("vignettes", "questions"), {"decision": {"sequential": True}}),
}


def commands(pipeline: dict[str, Any], studies: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give the stages of some studies in their order, each as dvc.yaml declares it for its study, by its command."""
    stages: list[dict[str, Any]] = [pipeline["check"], pipeline["export"]]
    stages += [on(pipeline[name]["do"], study) for study in studies for name in STAGES]
    stages.append(pipeline["report"])
    return {" ".join(stage["cmd"].removeprefix("${python} ").split()): stage for stage in stages}


def on(stage: dict[str, Any], study: str) -> dict[str, Any]:
    """Put a study in place of the item of a stage for each study."""
    filled: dict[str, Any] = json.loads(json.dumps(stage).replace("${item}", study))
    return filled


def declared(stage: dict[str, Any], root: Path) -> set[str]:
    """List the files and folders that a stage depends on or writes: its deps, those in its listings, and its outs."""
    entries = [*stage.get("deps", ()), *stage.get("outs", ()), *stage.get("metrics", ())]
    paths = {entry if isinstance(entry, str) else next(iter(entry)) for entry in entries} | {"dvc.yaml", "params.yaml"}
    if "data/followed" in paths:
        links = [path for path in (root / "data/followed").rglob("*") if path.is_symlink()]
        paths |= {path.readlink().relative_to(root).as_posix() for path in links}
    for name in [name for name in paths if name.startswith("data/code/")]:
        paths |= {line.partition("  ")[2] for line in (root / name).read_text("utf-8").splitlines()}
    return paths


def pinned(root: Path) -> set[str]:
    """List the weights of the judges, which are compared with the sha256 in their entries whenever they are read."""
    entries = [load_judge_entry(name, root) for name in names(root / JUDGES)]
    sources = [entry.source for entry in entries if isinstance(entry, JudgeEntry)]
    return {
        f"{source.folder}/{name}" for source in sources if isinstance(source, EmbeddedSource) for name in source.files
    }


@pytest.mark.parametrize("run", RUNS)
def test_a_stage_opens_only_what_it_depends_on(tmp_path: Path, run: str) -> None:
    """Every stage of every study, under an audit hook; compiled code and the caches of answers do not count."""
    studies, changes, command = RUNS[run]
    copy_pipeline(tmp_path)
    (tmp_path / "judge").symlink_to(ROOT / "judge")
    shutil.copytree(ROOT / "data/templates", tmp_path / "mine")
    shorten(tmp_path / "data/sentences")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    if command:
        run_command = [sys.executable, "-m", "equipoise", *command.split()]
        subprocess.run(run_command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    settings = yaml.safe_load((tmp_path / "params.yaml").read_text("utf-8")) | {
        "model": PHANTOM,
        "studies": list(studies),
    }
    for section, values in (*FEWER.items(), *changes.items()):
        settings[section] = settings[section] | values if isinstance(values, dict) else values
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    stages = commands(yaml.safe_load((tmp_path / "dvc.yaml").read_text("utf-8"))["stages"], studies)
    done = subprocess.run(
        [sys.executable, ROOT / "tests/audited_stages.py"],
        cwd=tmp_path,
        env=environment,
        input="\n".join(stages),
        capture_output=True,
        text=True,
        check=True,
    )
    ran = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"command"')]
    undeclared: dict[str, set[str]] = {}
    for row in ran:
        assert "opened" in row, row["error"]
        known = declared(stages[row["command"]], tmp_path) | pinned(tmp_path)
        for name in row["opened"]:
            path = Path(name)
            # Temporary files are gone, and so are those that have been renamed.
            if {"__pycache__", ".cache"} & set(path.parts) or not (tmp_path / path).is_file():
                continue
            if not {name, *(parent.as_posix() for parent in path.parents)} & known:
                undeclared.setdefault(row["command"], set()).add(name)

    assert [row["command"] for row in ran] == list(stages)
    assert undeclared == {}
