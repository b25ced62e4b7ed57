"""Tests of `equipoise record` in a DVC repository whose pipeline only writes the files of a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import projects
from equipoise.cli.leaderboard import read_runs
from equipoise.cli.record import record
from equipoise.compare.leaderboard import standings
from equipoise.compare.record import Record
from equipoise.core import jsonl, provenance
from equipoise.core.errors import EquipoiseError
from repositories import commit, run

ROOT = Path(__file__).parents[2]
PIPELINE = """\
stages:
  measure:
    cmd: python made.py
    params: [model, measure]
    deps: [made.py, src]
    outs:
      - data/manifest.json
      - data/vignettes/effects.jsonl
      - report/index.html
      - metrics/vignettes.json: {cache: false}
"""
MADE = """\
import json, pathlib, yaml
params = yaml.safe_load(pathlib.Path("params.yaml").read_text())
shift = params["measure"]["power"]
figures = {"n": 2, "stereotype_shift_net": {"estimate": shift, "ci_low": shift - 1, "ci_high": shift + 1}}
model = {"model": params["model"], "backend": "phantom", "repo": "planted", "revision": "1" * 64, "licence": "MIT"}
page = '<div data-page="' + format(int(shift * 10), "064d") + '">'
files = {"data/manifest.json": json.dumps(model), "data/vignettes/effects.jsonl": str(shift), "report/index.html": page}
for name, text in (files | {"metrics/vignettes.json": json.dumps(figures)}).items():
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_text(text)
"""
PAGE = f"{8:064d}"
"""The id of the page of the first run, whose power is 0.8."""
FILE = Path("results/phantom_fair@111111111111.json")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which a phantom was run, and its run committed."""
    folder = projects.copy(tmp_path_factory.mktemp("project"))
    shutil.copy(ROOT / "data/inputs.yaml", folder / "data/inputs.yaml")
    settings = projects.committed("params.yaml").replace("model: smollm2", "model: phantom_fair")
    studies = "studies: [vignettes, questions, exam, stigma, decisions]"
    texts = {
        "params.yaml": settings.replace(studies, "studies: [vignettes]"),
        "dvc.yaml": PIPELINE,
        "made.py": MADE,
        "src/code.py": "",
        "report/.gitignore": "/run.js\n",
    }
    for name, text in texts.items():
        jsonl.write_text(folder / name, text)
    run(folder, "git", "init", "--quiet", "--initial-branch", "main")
    run(folder, "dvc", "init", "--quiet")
    run(folder, "dvc", "repro", "--quiet")
    commit(folder, "first")
    return folder


@pytest.fixture
def project(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of it, with the record of the run beside its page."""
    shutil.copytree(ran, tmp_path / "project", symlinks=True)
    monkeypatch.chdir(tmp_path / "project")
    made = provenance.made(PAGE, Path())
    provenance.write(Path("report/run.js"), made.model_copy(update={"date": "2026-03-01T12:00:00+00:00"}))
    return tmp_path / "project"


def rerun(project: Path, *changes: tuple[str, str]) -> None:
    """Change params.yaml and run the pipeline again."""
    path = project / "params.yaml"
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    run(project, "dvc", "repro", "--quiet")


def read() -> dict[str, Any]:
    """Read the result file."""
    result: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return result


def test_a_result_has_figures_settings_hashes_and_the_machine(project: Path) -> None:
    """The figures are those of the metrics file, the hashes those of dvc.lock, and the rest that of the report."""
    record()
    result = read()

    assert result["schema"] == 1
    assert result["metrics"]["vignettes"] == json.loads(Path("metrics/vignettes.json").read_text(encoding="utf-8"))
    assert result["model"]["revision"] == "1" * 64
    assert result["settings"]["measure"]["power"] == 0.8
    # The md5 of effects.jsonl, which holds "0.8", as DVC computes it; the code is a folder.
    assert result["hashes"].keys() == {"src", "data/vignettes/effects.jsonl"}
    assert result["hashes"]["data/vignettes/effects.jsonl"] in Path("dvc.lock").read_text(encoding="utf-8")
    assert result["made"]["commit"] == run(project, "git", "rev-parse", "HEAD").strip()
    assert (result["made"]["n_edited"], result["made"]["date"]) == (0, "2026-03-01T12:00:00+00:00")
    assert result["judge"]["sha256 of model.onnx"] == jsonl.sha256(ROOT / "judge/reader/model.onnx")
    assert result["drawing"]["measure.seed"] == "0"
    assert "data/raw" in result["inputs"]


def test_the_record_of_another_page_is_not_taken(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run.js that an earlier run left says nothing about this run: its date is unknown, and the command says so."""
    provenance.write(project / "report/run.js", provenance.made("f" * 64, project))
    record()

    assert read()["made"] is None
    assert "date, commit and machine are not recorded: this run was not made here" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_recording_again_changes_no_byte(capsys: pytest.CaptureFixture[str]) -> None:
    """A later date alone leaves the file as it was, so that two branches do not conflict in it; force renews it."""
    record()
    before = FILE.read_bytes()
    provenance.write(Path("report/run.js"), provenance.made(PAGE, Path()))
    record(as_json=True)
    again = FILE.read_bytes()
    record(force=True)

    assert again == before
    assert json.loads(capsys.readouterr().out.splitlines()[1]) == {"written": {}}
    assert FILE.read_bytes() != before


def test_equal_figures_of_other_code_are_recorded(project: Path) -> None:
    """Where only the code changed, the file is renewed without force."""
    record()
    before = read()
    (project / "src/code.py").write_text("# changed\n", encoding="utf-8")
    run(project, "dvc", "repro", "--quiet")
    record()

    assert read()["hashes"]["src"] != before["hashes"]["src"]
    assert read()["metrics"] == before["metrics"]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [("power: 0.8", "power: 0.9", "figures"), ("n_bootstrap: 10000", "n_bootstrap: 20000", "settings")],
)
def test_another_result_is_replaced_by_force_alone(project: Path, old: str, new: str, kind: str) -> None:
    """Other figures, or other settings, of the same model and revision are refused with the fix."""
    record()
    before = FILE.read_bytes()
    rerun(project, (old, new))
    with pytest.raises(EquipoiseError, match=rf"{FILE.name}: recorded with other {kind}: replace it with --force$"):
        record()
    kept = FILE.read_bytes()
    record(force=True)

    assert kept == before
    assert Record.model_validate(read()).settings["measure"] != json.loads(before)["settings"]["measure"]


@pytest.mark.parametrize("how", ["settings", "missing", "edited"])
def test_a_run_that_is_not_up_to_date_is_refused(project: Path, how: str) -> None:
    """After a change of a setting, or of an output, the figures are not those of the workspace: nothing is written."""
    if how == "settings":
        path = project / "params.yaml"
        path.write_text(path.read_text(encoding="utf-8").replace("power: 0.8", "power: 0.9"), encoding="utf-8")
    elif how == "missing":
        (project / "data/vignettes/effects.jsonl").unlink()
    else:
        (project / "metrics/vignettes.json").write_text("{}", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"^the last run is not up to date \(measure\): run `dvc repro`"):
        record()
    assert not FILE.exists()


def test_a_run_and_its_result_stand_once_on_the_leaderboard(project: Path) -> None:
    """The commit, the workspace and the result are one row; the result of another version of the model has none."""
    record()
    alone = standings(*_runs())
    other = read() | {"model": read()["model"] | {"name": "phantom_silent"}}
    jsonl.write_text(project / "results/phantom_silent@1.json", json.dumps(other))

    assert [row.model for row in alone] == ["phantom_fair"]
    assert [(row.model, row.run.name) for row in standings(*_runs())] == [
        ("phantom_fair", alone[0].run.name),
        ("phantom_silent", "phantom_silent@1"),
    ]


def test_a_malformed_result_is_named_by_the_leaderboard(project: Path) -> None:
    """The line has the file and the field, and the leaderboard shows nothing else."""
    record()
    jsonl.write_text(project / FILE, json.dumps(read() | {"schema": 9}))

    with pytest.raises(EquipoiseError, match=rf"^{FILE.as_posix()}: field schema: Input should be 1$"):
        read_runs()


def test_two_models_merge_without_a_conflict_of_results(project: Path) -> None:
    """Branches with a model each conflict in dvc.lock and metrics; the results of both lie side by side."""
    for name in ("phantom_open", "phantom_silent"):
        run(project, "git", "switch", "--quiet", "--create", name, "main")
        rerun(project, ("model: phantom_fair", f"model: {name}"))
        record()
        commit(project, f"ran-{name}")
    run(project, "sh", "-c", "! git -c user.name=Tester -c user.email=tester@example.org merge phantom_open")
    conflicts = run(project, "git", "diff", "--name-only", "--diff-filter=U").splitlines()

    assert {path.name.partition("@")[0] for path in Path("results").iterdir()} == {"phantom_open", "phantom_silent"}
    assert "dvc.lock" in conflicts
    assert [path for path in conflicts if path.startswith("results/")] == []


def _runs() -> tuple[list[Any], dict[str, Any]]:
    runs, _ = read_runs()
    return runs, dict(runs[0].params)
