"""Tests of `equipoise pack` and `equipoise pull` in a DVC repository and its clone, and of the committed archive."""

from __future__ import annotations

import io
import json
import lzma
import re
import subprocess
import tarfile
from hashlib import md5
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo

import projects
from equipoise.cli.archive import _unrestored, pack, pull
from equipoise.compare.archive import ARCHIVE, LISTS, PAGE
from equipoise.core.errors import EquipoiseError
from equipoise.studies.registry import STUDIES
from repositories import commit, run

ROOT = Path(__file__).parents[2]
PIPELINE = {
    "stages": {
        "rows": {"cmd": "cp raw rows", "deps": ["raw"], "outs": ["rows"]},
        "built": {"cmd": "mkdir built && cp raw built/one && date > built/two", "deps": ["raw"], "outs": ["built"]},
        "figure": {"cmd": "wc -l < raw > figure", "deps": ["raw"], "outs": [{"figure": {"cache": False}}]},
    }
}


def entries(content: bytes) -> dict[str, bytes]:
    """Give the objects of an archive by the hashes that their names have."""
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(content))) as archive:
        return {
            "".join(Path(member.name).parts[-2:]): file.read()
            for member in archive
            if (file := archive.extractfile(member)) is not None
        }


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the tags `first` and `second`, each with its rows and their archive."""
    folder = tmp_path_factory.mktemp("project")
    run(folder, "git", "init", "--quiet")
    run(folder, "dvc", "init", "--quiet")
    (folder / ".dvc/config").write_bytes((ROOT / ".dvc/config").read_bytes())
    (folder / ".gitignore").write_text(".cache/\n", encoding="utf-8")
    (folder / "dvc.yaml").write_text(yaml.safe_dump(PIPELINE), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for tag in ("first", "second"):
            (folder / "raw").write_text(f"{tag}\n", encoding="utf-8")
            run(folder, "dvc", "repro", "--quiet")
            pack()
            commit(folder, tag)
    return folder


@pytest.fixture
def clone(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of it, in which nothing was run."""
    run(tmp_path, "git", "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


def renewed(capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Pack, and name the archives that were written."""
    pack(as_json=True)
    return {*json.loads(capsys.readouterr().out.splitlines()[-1])["written"]}


def test_a_clone_has_the_outputs_without_a_run(project: Path, clone: Path) -> None:
    """Files and folders that DVC keeps come back as they were, and DVC finds nothing changed."""
    pull()

    assert (clone / "rows").read_text("utf-8") == "second\n"
    assert (clone / "built/two").read_bytes() == (project / "built/two").read_bytes()
    assert json.loads(run(clone, "dvc", "status", "--json")) == {}


def test_rows_of_an_older_revision_come_from_its_own_archive(clone: Path) -> None:
    """A revision's archive fills the cache, from which DVC reads without checking anything out."""
    pull(["first"])

    with Repo() as repo, repo.switch("first"):
        assert repo.dvcfs.read_text("/rows", encoding="utf-8") == "first\n"
    assert (clone / "rows").read_text("utf-8") == "second\n"


def test_the_same_outputs_give_the_same_archive(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the time nor the machine is in it: three objects, and the list of the folder."""
    monkeypatch.chdir(project)
    before = (project / ARCHIVE).read_bytes()
    pack()

    # rows and built/one have the same bytes, hence one object; built/two; built itself. `figure` is in Git.
    assert len(entries(before)) == 3
    assert (project / ARCHIVE).read_bytes() == before


def test_an_archive_of_the_same_outputs_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes of the same objects, as another version of xz writes, stay; a damaged archive is packed anew."""
    monkeypatch.chdir(project)
    path = project / ARCHIVE
    before = path.read_bytes()
    other = lzma.compress(lzma.decompress(before), preset=0)
    path.write_bytes(other)
    pack()
    kept = path.read_bytes()
    path.write_bytes(other[: len(other) // 2])
    pack()

    assert other != before
    assert kept == other
    assert path.read_bytes() == before


def test_an_archive_is_renewed_where_an_output_moved(
    clone: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change that leaves every output as it was leaves the archive too; changed rows are packed."""
    pull()
    before = (clone / ARCHIVE).read_bytes()
    lines = (clone / "dvc.yaml").read_text(encoding="utf-8").replace("wc -l < raw", "wc --lines < raw")
    (clone / "dvc.yaml").write_text(lines, encoding="utf-8")
    run(clone, "dvc", "repro", "--quiet")
    same = renewed(capsys)
    (clone / "raw").write_text("third\n", encoding="utf-8")
    run(clone, "dvc", "repro", "--quiet")

    assert (project / ARCHIVE).read_bytes() == before
    assert same == set()
    assert renewed(capsys) == {ARCHIVE}
    assert b"third\n" in entries((clone / ARCHIVE).read_bytes()).values()


def test_a_change_of_code_renews_the_archive_of_lists_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows and the page stay as they were, byte for byte; a clone has the outputs of all three archives."""
    made = {"data/code": "code", "rows": "raw", "report/index.html": "raw"}
    stages = {
        f"stage{n}": {"cmd": f"mkdir -p {Path(out).parent} && cp {dep} {out}", "deps": [dep], "outs": [out]}
        for n, (out, dep) in enumerate(made.items())
    }
    project = tmp_path / "project"
    project.mkdir()
    for name, text in (("raw", "raw"), ("code", "a"), ("dvc.yaml", yaml.safe_dump({"stages": stages}))):
        (project / name).write_text(text, encoding="utf-8")
    run(project, "git", "init", "--quiet")
    run(project, "dvc", "init", "--quiet")
    monkeypatch.chdir(project)
    run(project, "dvc", "repro", "--quiet")
    first = renewed(capsys)
    (project / "code").write_text("b", encoding="utf-8")
    run(project, "dvc", "repro", "--quiet")
    again = renewed(capsys)
    commit(project, "both")
    run(tmp_path, "git", "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    pull()

    assert first == {ARCHIVE, PAGE, LISTS}
    assert again == {LISTS}
    assert [Path(name).read_text("utf-8") for name in made] == ["b", "raw", "raw"]


MODEL = {
    "rows": {"cmd": "grep ^model: params.yaml > rows", "deps": ["params.yaml"], "outs": ["rows"]},
    "figure": {"cmd": "cp rows metrics/a.json", "deps": ["rows"], "metrics": [{"metrics/a.json": {"cache": False}}]},
}


@pytest.fixture
def two_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone that has the run of model `a`, and an archive beside it of that of `b`; nothing was run in it."""
    project = tmp_path / "project"
    (project / "metrics").mkdir(parents=True)
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    (project / "dvc.yaml").write_text(yaml.safe_dump({"stages": MODEL}), encoding="utf-8")
    run(project, "git", "init", "--quiet")
    run(project, "dvc", "init", "--quiet")
    monkeypatch.chdir(project)
    for name in ("b", "a"):
        (project / "params.yaml").write_text(yaml.safe_dump({**params, "model": name}), encoding="utf-8")
        run(project, "dvc", "repro", "--quiet")
        pack(beside=name == "b")
    commit(project, "both")
    run(tmp_path, "git", "clone", "--quiet", str(project), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


def test_another_models_run_comes_with_its_settings_and_figures(two_models: Path) -> None:
    """Rows, metrics and params.yaml are those of the other model, and DVC finds nothing to run; Git leads back."""
    pull(model="b")
    status = json.loads(run(two_models, "dvc", "status", "--json"))
    contents = {(two_models / name).read_text("utf-8") for name in ("rows", "metrics/a.json")}
    run(two_models, "git", "restore", ".")
    pull()

    assert status == {}
    assert contents == {"model: b\n"}
    assert (two_models / "rows").read_text("utf-8") == "model: a\n"


def test_an_edit_is_not_replaced_by_another_models_run(two_models: Path) -> None:
    """The line names the file, and both ways on."""
    path = two_models / "params.yaml"
    path.write_text(path.read_text("utf-8") + "# mine\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"^params\.yaml: `pull --model` would overwrite uncommitted.*git restore"):
        pull(model="b")
    assert path.read_text("utf-8").endswith("# mine\n")


def test_a_model_without_an_archive_gets_one_line(two_models: Path) -> None:
    """It names the models that have one, and the command that runs another."""
    with pytest.raises(EquipoiseError, match=r"models/c\.tar\.xz: no such archive \(available: b\): run `make repro"):
        pull(model="c")
    assert not (two_models / "rows").exists()


def test_what_the_archive_says_is_checked(clone: Path) -> None:
    """An object that does not have its hash is refused by name, and takes no place in the cache."""
    damaged = io.BytesIO()
    with lzma.open(damaged, "wb") as compressed, tarfile.open(fileobj=compressed, mode="w") as archive:
        member = tarfile.TarInfo(f"files/md5/00/{30 * '1'}")
        member.size = 5
        archive.addfile(member, io.BytesIO(b"other"))
    (clone / ARCHIVE).write_bytes(damaged.getvalue())

    with pytest.raises(EquipoiseError, match=r"run\.tar\.xz: damaged \(files/md5/00/1+: checksum mismatch\): restore"):
        pull()
    assert not [path for path in (clone / ".dvc/cache/files").rglob("*") if path.is_file()]


def test_a_damaged_object_of_the_cache_is_replaced(clone: Path) -> None:
    """What a full disk has left in DVC's cache under a hash does not count as restored."""
    pull()
    cached = [path for path in (clone / ".dvc/cache/files").rglob("*") if path.is_file()]
    (damaged,) = (path for path in cached if path.read_bytes() == b"second\n")
    damaged.chmod(0o644)
    damaged.write_bytes(b"")
    damaged.chmod(0o444)
    (clone / "rows").unlink()
    pull()

    assert (clone / "rows").read_text("utf-8") == "second\n"


@pytest.mark.parametrize("name", ["../escape", "/etc/escape", "files/md5/00/../../../escape"])
def test_a_name_outside_the_remote_is_refused(clone: Path, name: str) -> None:
    """An archive names objects of DVC's and nothing else."""
    hostile = io.BytesIO()
    with lzma.open(hostile, "wb") as compressed, tarfile.open(fileobj=compressed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    (clone / ARCHIVE).write_bytes(hostile.getvalue())

    with pytest.raises(EquipoiseError, match="not an object of DVC's"):
        pull()


@pytest.mark.parametrize("content", [b"", b"no archive", lzma.compress(b"no tar")])
def test_half_an_archive_is_refused(clone: Path, content: bytes) -> None:
    """What cannot be unpacked is named with the fix."""
    (clone / ARCHIVE).write_bytes(content)

    with pytest.raises(EquipoiseError, match=r"damaged .*: restore it with `git checkout"):
        pull()


def test_a_revision_without_an_archive_gets_one_line(clone: Path) -> None:
    """It says how to have its rows."""
    (clone / ARCHIVE).unlink()

    with pytest.raises(EquipoiseError, match=r"workspace: has no archive/run\.tar\.xz: run `dvc repro`"):
        pull()


def test_an_unknown_revision_is_named(clone: Path) -> None:
    """The line says what is not there, and what to give."""
    assert (clone / ARCHIVE).is_file()

    with pytest.raises(EquipoiseError, match=r"^unknown Git revision 'nothing': give a commit, a branch or a tag"):
        pull(["nothing"])


def test_a_teams_remote_is_not_asked(clone: Path) -> None:
    """The committed run needs no remote, and a default one that cannot be reached keeps nobody from it."""
    (clone / ".dvc/config.local").write_text(
        "[core]\n    remote = own\n['remote \"own\"']\n    url = http://localhost:1/path\n", encoding="utf-8"
    )
    pull(["first"])

    assert (clone / "rows").read_text("utf-8") == "second\n"


@pytest.mark.parametrize("command", ["push", "pull"])
def test_without_a_teams_remote_nothing_seems_shared(clone: Path, command: str) -> None:
    """As committed there is no remote, so that DVC stops and says why, instead of sharing with the clone itself."""
    done = subprocess.run(["dvc", command], cwd=clone, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert re.search("no (remote specified|remote provided|default remote)", done.stderr, re.IGNORECASE)


def test_outside_a_repository_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where the command works."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(EquipoiseError, match="run this in a clone of the project"):
        pull()


def test_the_committed_archive_has_the_committed_run() -> None:
    """Every output in dvc.lock that Git does not have is in an archive: else `equipoise pack` was forgotten."""
    packed = {name: entries((ROOT / name).read_bytes()) for name in (ARCHIVE, PAGE, LISTS)}
    objects = {digest: content for contents in packed.values() for digest, content in contents.items()}
    lock = yaml.safe_load(projects.committed("dvc.lock"))
    outs = [out for stage in lock["stages"].values() for out in stage.get("outs", [])]
    needed = {out["md5"] for out in outs if not out["path"].startswith(("metrics/", "plots/"))}
    needed |= {file["md5"] for name in needed if name.endswith(".dir") for file in json.loads(objects[name])}

    assert needed == set(objects)
    # Lists change with the code, rows and the page do not.
    codes = next(out["md5"] for out in outs if out["path"] == "data/code")
    assert codes in packed[LISTS].keys() - packed[ARCHIVE].keys() - packed[PAGE].keys()
    assert all(
        md5(content, usedforsecurity=False).hexdigest() == name.removesuffix(".dir")
        for name, content in objects.items()
    )


def test_the_committed_run_has_no_rows_of_studies_that_are_off() -> None:
    """The report was made without rows that another run had left: else every clone finds it out of date."""
    lock = yaml.safe_load(projects.committed("dvc.lock"))
    off = STUDIES.keys() - yaml.safe_load(projects.committed("params.yaml"))["studies"]
    folders = {f"data/{study}" for study in off}
    left = {row["path"]: row["nfiles"] for row in lock["stages"]["report"]["deps"] if row["path"] in folders}

    assert left
    # The .gitignore that Git keeps.
    assert set(left.values()) == {1}


def test_what_dvc_advises_is_no_option_of_pull() -> None:
    """Files that a killed experiment left are in no cache, and deleting them is what helps."""
    told = _unrestored("Can't remove the following unsaved files without confirmation. Use `--force` to force. report")

    assert "--force" not in told
    assert told.endswith("report): delete what an interrupted run left there, and pull again")
    assert _unrestored("no space").endswith("run `dvc repro`")
