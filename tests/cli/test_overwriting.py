"""No command overwrites a file that it did not write, unless it is asked to."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import projects
from equipoise.cli.app import app
from equipoise.compare.leaderboard import csv_text, is_leaderboard, markdown
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.overwriting import require_own
from equipoise.core.sheets import table_text
from equipoise.judge.rating.agreement import LISTED
from equipoise.materials.stories.library import load_library
from equipoise.studies.vignettes.profiles import build_pairs

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "data/examples"
REFUSED = "not written by this command: name another file, or overwrite it with --force\n"
IMPORTS = {
    "amqa": ("amqa", str(EXAMPLES / "amqa_items.jsonl")),
    "medmcqa": (
        *("medmcqa", str(EXAMPLES / "medmcqa_questions.jsonl")),
        *("--mapping", str(ROOT / "data/medmcqa_diseases.yaml")),
    ),
    "openr1-psy": ("openr1-psy", str(EXAMPLES / "openr1.json")),
    "vignettes": ("vignettes", str(EXAMPLES / "cases.json")),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    """Run a command; give its exit code and what it prints."""
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output


@pytest.mark.parametrize("name", IMPORTS)
@pytest.mark.parametrize("content", [projects.committed("params.yaml").encode(), b"\xff\x00", b"{}\n", b"\n{"])
def test_an_import_keeps_what_it_did_not_write(folder: Path, name: str, content: bytes) -> None:
    """Settings, or anything else, are not lost to `--out`; --force overwrites them."""
    (folder / "params.yaml").write_bytes(content)

    assert run("import", *IMPORTS[name], "--out", "params.yaml") == (1, f"error: params.yaml: {REFUSED}")
    assert (folder / "params.yaml").read_bytes() == content
    assert run("import", *IMPORTS[name], "--out", "params.yaml", "--force")[0] == 0
    assert (folder / "params.yaml").read_bytes() != content


@pytest.mark.parametrize("name", IMPORTS)
def test_an_import_is_repeated(folder: Path, name: str) -> None:
    """What the same import wrote before is replaced, and so is an empty file."""
    (folder / "rows.jsonl").touch()

    assert [run("import", *IMPORTS[name], "--out", "rows.jsonl")[0] for _ in range(2)] == [0, 0]


def test_items_of_another_source_are_kept(folder: Path) -> None:
    """The project's own items, and those of another import, are of the same kind but not of this source."""
    authored = (ROOT / "data/items/authored.jsonl").read_bytes()
    (folder / "items.jsonl").write_bytes(authored)

    assert run("import", *IMPORTS["amqa"], "--out", "items.jsonl") == (1, f"error: items.jsonl: {REFUSED}")
    assert run("import", *IMPORTS["medmcqa"], "--out", "medmcqa.jsonl")[0] == 0
    assert run("import", *IMPORTS["amqa"], "--out", "medmcqa.jsonl")[0] == 1
    assert (folder / "items.jsonl").read_bytes() == authored


def test_a_folder_is_not_written_over(folder: Path) -> None:
    """A folder of that name is one line, also with --force."""
    (folder / "out").mkdir()

    for force in ([], ["--force"]):
        refused = run("import", *IMPORTS["amqa"], "--out", "out", *force)
        assert refused == (1, "error: out: a folder: name another file\n")


def test_saved_outputs_keep_what_others_wrote(folder: Path) -> None:
    """An entry of the registry, cases or answers of that name that are not the import's are named and kept."""
    command = ("import", "outputs", str(EXAMPLES / "outputs.jsonl"), "--name", "saved")
    command += ("--cases", str(EXAMPLES / "cases.json"))

    for path in ("models/saved.yaml", "data/replays/saved.jsonl", "data/cases/saved.jsonl"):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("title: mine\n", encoding="utf-8")
        code, message = run(*command)
        assert (code, message) == (1, f"error: {path}: {REFUSED.replace('name another file', 'choose another --name')}")
        assert (folder / path).read_text("utf-8") == "title: mine\n"
        (folder / path).unlink()
    assert [run(*command)[0], run(*command)[0]] == [0, 0]


def test_an_export_keeps_the_cases_of_others(folder: Path) -> None:
    """Published cases are of the same form as exported ones, but not ours; an earlier export is replaced."""
    published = (EXAMPLES / "cases.json").read_bytes()
    (folder / "cases.json").write_bytes(published)
    rows = build_pairs(load_library(ROOT / "data/raw"), "core")[:2]
    jsonl.write(folder / "vignettes.jsonl", rows)
    command = ("export", "vignettes", "cases.json", "--vignettes", "vignettes.jsonl")

    assert run(*command) == (1, f"error: cases.json: {REFUSED}")
    assert (folder / "cases.json").read_bytes() == published
    assert run(*command, "--force")[0] == 0
    assert run(*command)[0] == 0
    assert len(json.loads((folder / "cases.json").read_bytes())["cases"]) == 2


@pytest.mark.parametrize("text", [markdown([]), csv_text([])])
def test_a_leaderboard_replaces_leaderboards_alone(folder: Path, text: str) -> None:
    """A README is not lost to `--markdown README.md`."""
    path = folder / "README.md"
    path.write_text("# A project\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match="not written by this command"):
        require_own(path, is_leaderboard, force=False)
    require_own(path, is_leaderboard, force=True)
    path.write_text(text, encoding="utf-8")
    require_own(path, is_leaderboard, force=False)


def test_a_list_of_disagreements_replaces_lists_alone(folder: Path) -> None:
    """A filled sheet is not overwritten by what `blind import` lists."""
    from equipoise.studies.vignettes.blind import is_list

    path = folder / "anna.csv"
    path.write_text(table_text(("row", "mentioned"), [{"row": "r001", "mentioned": "yes"}]), encoding="utf-8")

    with pytest.raises(EquipoiseError, match="not written by this command"):
        require_own(path, is_list, force=False)
    path.write_text(table_text(LISTED, []), encoding="utf-8")
    require_own(path, is_list, force=False)
