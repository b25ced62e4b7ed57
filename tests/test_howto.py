"""The commands of the how-to pages: those with output are run and compared, all others are held against what exists."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import projects
from equipoise.cli import models
from equipoise.cli.app import COMMANDS, app, load
from equipoise.studies.registry import STUDIES
from fakes import MadeMachine

ROOT = Path(__file__).parents[1]
HOWTO = ROOT / "docs/howto"
PAGES = sorted(HOWTO.glob("*.md"))
RUN = [page for page in PAGES if "```console" in page.read_text(encoding="utf-8")]
WIDE = "160"
"""Columns of the terminal in which the pages' commands ran."""


def blocks(page: Path, kind: str) -> list[str]:
    """Give the fenced blocks of a page of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[tuple[str, str]]:
    """Give the commands of a page's blocks of kind `console`, each with the output that the page shows."""
    told = [part for block in blocks(page, "console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return [(command, output) for command, _, output in (part.partition("\n") for part in told)]


def lines(page: Path) -> list[str]:
    """Give the command lines of a page's shell blocks and tables, those broken by a backslash in one."""
    text = page.read_text(encoding="utf-8")
    shell = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    inline = re.findall(r"`((?:equipoise|dvc|make) [^`]+)`", text)
    return [line for line in (*shell, *inline, *(command for command, _ in commands(page))) if line and "…" not in line]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_commands_print_what_the_page_shows(
    page: Path, tmp_path: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a fresh copy of the project each command prints the lines of the page; `…` is any text."""
    projects.copy(tmp_path)
    shutil.copytree(tiny_checkpoint, tmp_path / "weights/mine")
    if not (tmp_path / "judge").exists():
        (tmp_path / "judge").symlink_to(ROOT / "judge")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setenv("COLUMNS", WIDE)
    monkeypatch.setattr(models, "Machine", lambda: MadeMachine(fault="no network", serves=False))
    for command, shown in commands(page):
        program, *arguments = shlex.split(command)
        done = CliRunner().invoke(app, arguments, prog_name=program, catch_exceptions=False)

        printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
        assert (program, done.exit_code) == ("equipoise", 0), done.output
        assert re.fullmatch(re.escape(shown.rstrip()).replace("…", r".*"), printed, re.DOTALL), printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_exists(page: Path) -> None:
    """Options of equipoise parse, stages are in dvc.yaml, and targets in the Makefile."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in lines(page):
        program, *arguments = shlex.split(line, comments=True)
        match program:
            case "equipoise":
                words = next(words for n in (2, 1) if (words := " ".join(arguments[:n])) in COMMANDS)
                if given := arguments[len(words.split()) :]:
                    load(words).make_context(words, given)
            case "dvc" if arguments[0] == "repro":
                named = [name.partition("@") for name in arguments[1:] if not name.startswith("-")]
                assert all(stage in stages and study in {"", *STUDIES} for stage, _, study in named), line
            case "make":
                assert {name for name in arguments if re.fullmatch(r"[a-z][a-z-]*", name)} <= targets, line
            case _:
                assert program in {
                    "dvc",
                    "git",
                    "pip",
                    "inspect",
                    "ray",
                    "GRPC_ENABLE_FORK_SUPPORT=0",
                    "export",
                    "cd",
                }, line


def test_the_study_of_the_page_runs(tmp_path: Path) -> None:
    """The files, the line of the registry and the settings of add-study.md are a study; nothing else names it."""
    page = HOWTO / "add-study.md"
    projects.copy(tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("data/raw/probes.yaml", "data/rubrics", "judge"):
        if not (tmp_path / name).exists():
            (tmp_path / name).symlink_to(ROOT / name)
    *files, registered = [*blocks(page, "python")[:-1], blocks(page, "python")[-1]]
    for block in files:
        path, _, content = block.removeprefix("# ").partition("\n")
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    registry = tmp_path / "src/equipoise/studies/registry.py"
    listed = registry.read_text(encoding="utf-8").replace("OPENR1, CASES", "OPENR1, CASES, CONSENT")
    first = "from equipoise.studies.cases"
    registry.write_text(listed.replace(first, f"{registered}{first}", 1), encoding="utf-8")
    section, endpoint = (yaml.safe_load(block) for block in blocks(page, "yaml"))
    settings = yaml.safe_load((tmp_path / "params.yaml").read_text(encoding="utf-8"))
    settings |= section | {"studies": ["consent"]}
    settings["decision"]["endpoints"] |= endpoint["decision"]["endpoints"]
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    script = [sys.executable, str(ROOT / "tests/howto_study.py"), "consent"]
    paths = os.pathsep.join((str(tmp_path / "src"), str(ROOT / "tests")))
    done = subprocess.run(
        script, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)

    # Prompts 0, 2, 4, 6 are about the marginalised patients, with the odds exp(-1 - n / 10); the others exp(-n / 100).
    gaps = [1 / (1 + math.exp(1 + n / 10)) - 1 / (1 + math.exp((n + 1) / 100)) for n in range(0, 8, 2)]
    assert printed["metrics"]["gap"]["estimate"] == round(sum(gaps) / 4, 3)
    assert printed["metrics"]["n"] == 4
    assert printed["metrics"]["verdict"] == {
        "is": "biased beyond the margin",
        "because": "consent gap: −0.332 to −0.214 against ±0.1",
        "margin": 0.1,
    }
    assert [row["measure"] for row in printed["plots"]["consent"]] == ["gap"]
