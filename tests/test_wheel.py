"""Tests of the wheel: what it brings along, and what works where neither the repository nor an extra is there."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from equipoise.cli.app import COMMANDS
from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import EXTRAS, extras_named
from equipoise.core.shipped import HOME, shipped

ROOT = Path(__file__).parents[1]
EXAMPLES = "data/examples"
ABSENT = [module for modules in EXTRAS.values() for module in modules]
SCORES = {
    "cases": "",
    "score amqa": f"{EXAMPLES}/amqa_answers.jsonl --allow-incomplete",
    "score equity": f"{EXAMPLES}/amqa_answers.jsonl --allow-incomplete",
    "score medmcqa": f"{EXAMPLES}/medmcqa_london.jsonl",
    "score silent": f"{EXAMPLES}/outputs.jsonl --cases {EXAMPLES}/cases.json --mode legacy",
    "score stigma": f"--rq1 {EXAMPLES}/mental.csv --rq1 {EXAMPLES}/control.csv",
    "neutralize": f"{EXAMPLES}/amqa_items.jsonl --field original_question",
    "parse": f"{EXAMPLES}/replies.jsonl",
    "import medmcqa": f"{EXAMPLES}/medmcqa_questions.jsonl --out example.jsonl",
}
"""Commands that need no extra, with their arguments."""
REFUSED = {
    "score silent": (f"{EXAMPLES}/outputs.jsonl --cases {EXAMPLES}/cases.json", "run `pip install 'equipoise[judge]'`"),
    "judge": (f"{EXAMPLES}/reasoning.jsonl", "run `pip install 'equipoise[judge]'`"),
    "compare": (
        "HEAD",
        "equipoise compare needs a clone of the repository, and this folder is not in one: dvc is",
    ),
    "leaderboard": ("", "this folder is not in one: dvc is not installed: run `pip install 'equipoise[run]'`"),
    "results": ("", "this folder is not in one: params.yaml: no such file: check the path"),
    "show": (
        "race-01",
        "this folder is not in one: data/vignettes/built/vignettes.jsonl: no such file: check the path",
    ),
}
"""Commands that need an extra or a clone, with what they say."""
RUN = """
import shlex, sys
class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
from typer.testing import CliRunner
from equipoise.cli.app import app
import equipoise
print(equipoise.__file__)
for words in {commands!r}:
    done = CliRunner().invoke(app, shlex.split(words))
    print(done.exit_code, done.output.strip().splitlines()[-1], sep="\\t")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it, as an installation does."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(site: Path, folder: Path, commands: list[str]) -> list[list[str]]:
    """Run commands from the unpacked wheel in an empty folder, without the modules of any extra."""
    code = RUN.format(absent=ABSENT, commands=commands)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    where, *lines = done.stdout.splitlines()
    assert Path(where).is_relative_to(site)
    return [line.split("\t") for line in lines]


def test_the_wheel_brings_what_it_reads(site: Path) -> None:
    """Nothing lies beside the package, and its files are those of the repository, the judge with its card included."""
    assert {path.name.partition("-")[0] for path in site.iterdir()} == {"equipoise"}
    files = [path for path in (site / "equipoise/shipped").rglob("*") if path.is_file()]
    names = {path.relative_to(site / "equipoise/shipped").as_posix() for path in files}
    assert {"params.yaml", "data/cities.yaml", "judge/README.md", "models/judges/minilm_passages.yaml"} <= names
    assert "requirements/optimum.txt" in names
    for path in files:
        assert path.read_bytes() == (ROOT / path.relative_to(site / "equipoise/shipped")).read_bytes(), path


def test_the_scores_need_no_extra_and_no_repository(site: Path, tmp_path: Path) -> None:
    """In an empty folder every score of saved answers is computed, of the examples that the package brings along."""
    done = run(site, tmp_path, [f"{words} {arguments}" for words, arguments in SCORES.items()])

    assert [code for code, _ in done] == ["0"] * len(SCORES), done


def test_what_needs_more_says_so_in_one_line(site: Path, tmp_path: Path) -> None:
    """A command that needs an extra names it, one that needs a clone says that there is none."""
    done = run(site, tmp_path, [f"{words} {arguments}" for words, (arguments, _) in REFUSED.items()])

    for words, (code, line), (_, message) in zip(REFUSED, done, REFUSED.values(), strict=True):
        # For a comparison, 1 means worse.
        assert code == ("3" if words == "compare" else "1")
        assert line.startswith("error: ")
        assert message in line


def test_every_command_has_its_help_there(site: Path, tmp_path: Path) -> None:
    """No command imports the module of an extra to show its help."""
    done = run(site, tmp_path, [f"{words} --help" for words in COMMANDS])

    assert [(words, outcome) for words, outcome in zip(COMMANDS, done, strict=True) if outcome[0] != "0"] == []


def test_extras_are_those_of_the_project() -> None:
    """Every extra that an error names is one of the project; another missing module is an error of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert EXTRAS.keys() <= project["optional-dependencies"].keys()
    message = r"torch is not installed: run `pip install 'equipoise\[run\]'`"
    with pytest.raises(EquipoiseError, match=message), extras_named():
        raise ModuleNotFoundError(name="torch.nn")
    with pytest.raises(ModuleNotFoundError), extras_named():
        raise ModuleNotFoundError(name="elsewhere")


def test_files_of_the_working_folder_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that exists is taken; else the package's file of that name; else the path as it is, for the message."""
    monkeypatch.chdir(tmp_path)

    assert shipped("data/cities.yaml") == HOME / "data/cities.yaml"
    Path("data").mkdir()
    Path("data/cities.yaml").touch()
    assert shipped("data/cities.yaml") == Path("data/cities.yaml")
    assert shipped("data/no.yaml") == Path("data/no.yaml")
