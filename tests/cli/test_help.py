"""Tests of what every command of the command line has: a summary, an example, --json and a quick start."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from equipoise.cli.app import COMMANDS, app, load
from equipoise.cli.commands import GROUPS
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).parents[2]
SHIPPED = (
    "data/examples",
    "data/raw",
    "data/features",
    "data/sentences",
    "data/lexicon",
    "data/items",
    "models",
    "judge/reader",
)
RUN = [
    "neutralize",
    "parse",
    "score amqa",
    "score equity",
    "score influence",
    "score medmcqa",
    "score stigma",
    "import amqa",
    "import bench",
    "import csv",
    "import lm-eval",
    "import medmcqa",
    "import openr1-psy",
    "import outputs",
    "import vignettes",
]
"""Commands whose examples need what ships, and no more."""


def invoke(*words: str) -> Result:
    """Run a command of the whole command line."""
    return CliRunner().invoke(app, list(words), prog_name="equipoise", catch_exceptions=False)


def example_of(words: str) -> list[str]:
    """Give the arguments of a command's example, after the command's own words."""
    program, *arguments = shlex.split(COMMANDS[words].example)
    own = words.split()

    assert program == "equipoise"
    assert arguments[: len(own)] == own
    return arguments[len(own) :]


def function_of(words: str) -> Any:
    """Import a command's function."""
    module, _, name = COMMANDS[words].function.partition(":")
    return getattr(import_module(module), name)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with links to the files that ship."""
    for path in ("params.yaml", "data/cities.yaml", "data/medmcqa_diseases.yaml", "data/diagnoses.yaml"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).symlink_to(ROOT / path)
    for folder in SHIPPED:
        (tmp_path / folder).mkdir(parents=True)
        for file in (path for path in (ROOT / folder).iterdir() if path.is_file()):
            (tmp_path / folder / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_listed_as_it_describes_itself(words: str) -> None:
    """The summary is the first paragraph of the docstring: the list is shown before the code is imported."""
    first, *_ = inspect.getdoc(function_of(words)).split("\n\n")  # type: ignore[union-attr]  # a command has one

    assert COMMANDS[words].help == " ".join(first.split())


@pytest.mark.parametrize("words", COMMANDS)
def test_help_ends_with_the_example(words: str) -> None:
    """The last lines of --help are a command line; where a terminal is narrow it is broken, not changed."""
    shown = invoke(*words.split(), "--help").stdout

    assert "".join(shown.split()).endswith("".join(f"Example:{COMMANDS[words].example}".split()))


@pytest.mark.parametrize("words", COMMANDS)
def test_an_example_parses(words: str) -> None:
    """Every option of an example exists, has a value of its kind, and nothing that is required is missing."""
    command = load(words)

    with command.make_context(words, example_of(words)) as context:
        assert context.params.keys() == {parameter.name for parameter in command.params if parameter.name != "help"}


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_json(words: str) -> None:
    """--json is a flag of every command, and says what it prints."""
    (flag,) = (parameter for parameter in load(words).params if "--json" in parameter.opts)

    assert flag.is_flag
    assert flag.help.startswith("Print one JSON ")


def test_every_group_lists_its_commands() -> None:
    """Each command is in the list of its group, and a group's help ends with an example too."""
    for group in ("", *GROUPS, "models"):
        below = [words.rpartition(" ")[2] for words in COMMANDS if words.rpartition(" ")[0] == group]
        shown = invoke(*group.split(), "--help").stdout

        assert below
        assert all(any(line.startswith(f"│ {name} ") for line in shown.splitlines()) for name in below)
        assert "Example: equipoise " in shown


def test_a_mistyped_command_gets_the_nearest_name() -> None:
    """The nearest name is offered, at the top and in a group."""
    assert "Did you mean 'judge'?" in invoke("jugde").stderr
    assert "Did you mean 'silent'?" in invoke("score", "silnet").stderr


def test_the_list_imports_no_command() -> None:
    """--help needs neither the commands nor what is heavy, or it would take seconds."""
    seen = (
        "import sys; from typer.testing import CliRunner; from equipoise.cli.app import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())

    assert not loaded & {"numpy", "pandas", "scipy", "torch", "pydantic", "dvc", "yaml"}
    assert {name for name in loaded if name.startswith("equipoise")} == {
        "equipoise",
        "equipoise.cli",
        "equipoise.cli.app",
        "equipoise.cli.commands",
        "equipoise.cli.running",
        "equipoise.core",
        "equipoise.core.command",
        "equipoise.core.errors",
        "equipoise.core.extras",
        "equipoise.core.progress",
        "equipoise.core.shipped",
        "equipoise.core.stage",
        "equipoise.core.visible",
        "equipoise.studies",
        *(f"equipoise.studies.{name}" for name in STUDIES),
        *(f"equipoise.studies.{name}.commands" for name in STUDIES if find_spec(f"equipoise.studies.{name}.commands")),
    }


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("words", RUN)
def test_an_example_runs_on_what_ships(words: str) -> None:
    """The example as it is printed works, and with --json standard output is JSON, a value a line, and no more."""
    arguments = [*words.split(), *example_of(words)]
    done = invoke(*arguments)
    printed = invoke(*arguments, *([] if "--json" in arguments else ["--json"])).stdout

    assert (done.exit_code, bool(done.stdout)) == (0, True)
    assert all(isinstance(json.loads(line), dict | list) for line in printed.splitlines())


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("import amqa", {"example.jsonl": 2}),
        ("import medmcqa", {"example.jsonl": 4}),
        ("import openr1-psy", {"example.jsonl": 2}),
        ("import outputs", {"models/example.yaml": 1, "data/replays/example.jsonl": 3, "data/cases/example.jsonl": 3}),
        ("import vignettes", {"data/cases/cases.jsonl": 3}),
    ],
)
def test_written_files_are_listed_with_their_rows(project: Path, words: str, written: dict[str, int]) -> None:
    """With --json a command that writes names every file, from where it was run, with the number of its rows."""
    printed = json.loads(invoke(*words.split(), *dict.fromkeys([*example_of(words), "--json"])).stdout)
    # A line a row, but for the registry entry, which is one.
    counted = {
        name: len(text.splitlines()) if name.endswith(".jsonl") else 1
        for name in printed["written"]
        if (text := (project / name).read_text(encoding="utf-8"))
    }

    assert (printed["written"], counted) == (written, written)


@pytest.mark.parametrize("words", COMMANDS)
def test_help_shows_what_is_in_brackets(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets are the name of an extra or a list of studies, not markup of the terminal."""
    monkeypatch.setenv("COLUMNS", "400")
    command = load(words)
    told = " ".join(filter(None, (inspect.getdoc(command.callback), COMMANDS[words].example)))
    shown = invoke(*words.split(), "--help").stdout

    for bracketed in re.findall(r"\[\w[^\]]*\]", told):
        assert bracketed in shown


def test_the_help_of_inspects_logs_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """`equipoise[inspect]` is what users have to install."""
    monkeypatch.setenv("COLUMNS", "400")

    assert "Requires the extra `equipoise[inspect]`." in invoke("import", "inspect", "--help").stdout
