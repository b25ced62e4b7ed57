"""Tests of shell completion, as each shell asks for it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import completing
from equipoise.cli.app import app

ROOT = Path(__file__).parents[2]
PAIRS = '{"pair": "age-01", "dimensions": ["age"]}\n{"pair": "race-01", "dimensions": ["gender", "race"]}\n'


def complete(line: str, shell: str = "bash") -> list[str]:
    """Ask for the completions of the last word of a line, which is empty where the line ends with a space."""
    words = line.split(" ")
    asked = {
        "_EQUIPOISE_COMPLETE": f"complete_{shell}",
        # bash counts the words; the others give the line.
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = CliRunner().invoke(app, [], prog_name="equipoise", env=asked)
    return done.stdout.split()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the registry, the cities, two pairs, a branch and two experiments."""
    shutil.copytree(ROOT / "models", tmp_path / "models")
    (tmp_path / "data/vignettes/built").mkdir(parents=True)
    shutil.copy(ROOT / "data/cities.yaml", tmp_path / "data")
    (tmp_path / "data/vignettes/built/vignettes.jsonl").write_text(PAIRS, encoding="utf-8")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        (*who, "commit", "--quiet", "--allow-empty", "--message", "x"),
        ("branch", "a/branch"),
        ("update-ref", "refs/exps/12/345/large-piaget", "HEAD"),
        ("update-ref", "refs/exps/exec/EXEC_HEAD", "HEAD"),
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("equipoise s", ["show", "score"]),
        ("equipoise score s", ["silent", "stigma"]),
        ("equipoise models pin psy", ["psych_qwen_32b", "psyche_r1", "psyllm"]),
        ("equipoise judge --judge mini", ["minilm_letters", "minilm_passages", "minilm_snli"]),
        ("equipoise show ", ["age-01", "race-01"]),
        ("equipoise show --dimension ", ["age", "gender", "gender+race", "race"]),
        ("equipoise compare ", ["workspace", "large-piaget", "a/branch", "main"]),
        ("equipoise compare main w", ["workspace"]),
        ("equipoise score equity --partition ", ["expected", "seeded"]),
        ("equipoise score silent --m", ["--mode"]),
    ],
)
@pytest.mark.usefixtures("project")
def test_known_values_are_offered(line: str, expected: list[str]) -> None:
    """Commands, options and every value whose choice the project knows are completed."""
    assert complete(line) == expected


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_are_answered_too(shell: str) -> None:
    """What they take differs in form, and holds the same names."""
    offered = "\n".join(complete("equipoise models pin qw", shell))

    assert "qwen3_8b" in offered
    assert "qwq_32b" in offered
    assert "smollm2" not in offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """--show-completion prints what the shell loads, which asks the program in that shell's way."""
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    done = CliRunner().invoke(app, ["--show-completion", shell], prog_name="equipoise", catch_exceptions=False)

    assert done.exit_code == 0
    assert f"_EQUIPOISE_COMPLETE=complete_{shell}" in done.stdout


@pytest.mark.parametrize("words", ["models pin", "judge --judge", "show", "show --dimension"])
def test_where_nothing_is_known_nothing_is_offered(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside a project, and beside a damaged file, completion is silent: the command will say what is wrong."""
    monkeypatch.chdir(tmp_path)
    empty = complete(f"equipoise {words} ")
    (tmp_path / "data/vignettes/built").mkdir(parents=True)
    for name in ("vignettes.jsonl", "cities.yaml"):
        (tmp_path / "data" / name).write_text('{"pair"\n', encoding="utf-8")

    assert (empty, complete(f"equipoise {words} ")) == ([], [])


def test_without_git_the_workspace_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be found out raises nothing."""
    monkeypatch.setenv("PATH", "")

    assert completing.revisions("") == []
