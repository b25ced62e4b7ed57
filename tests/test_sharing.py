"""Tests of a run that a team shares by a DVC remote, and of two branches with a model each that are merged."""

from __future__ import annotations

import urllib.request
import warnings
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from clones import Clone, changes

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow
SMALL = ("studies=[questions]", "neutralize.limit=6", "perturb.orders=1", "measure.n_bootstrap=200")
MODELS = ("phantom_fair", "phantom_silent")
"""Two models whose figures differ; each has a branch."""
ROWS = "data/questions/responses.jsonl"


class Fresh(Clone):
    """A clone that Git has made, in which nothing was run."""

    def __init__(self, folder: Path) -> None:
        """Take it as it is."""
        self.folder = folder


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone whose team's remote is a folder; each model has a branch with its run, and an experiment of its name."""
    made = Clone(tmp_path_factory.mktemp("clone"))
    # Committed first: DVC pushes an experiment's rows to the remote of the commit that it was run on.
    made.dvc("remote", "add", "--default", "team", str(tmp_path_factory.mktemp("team")))
    made.commit()
    for model in MODELS:
        made.git("switch", "--quiet", "--create", f"with-{model}", "main")
        made.dvc("exp", "run", "--name", model, *changes(f"model={model}", *SMALL))
        made.run("equipoise", "pack")
        made.commit()
    return made


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """What a clone sets of its team's remote: nothing, or a bucket of a server that speaks S3 over HTTP."""
    if request.param == "folder":
        yield {}
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of its dependencies
        from moto.server import ThreadedMotoServer
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT")):  # noqa: S310  (of ours)
        yield {"url": "s3://bucket/equipoise", "endpointurl": endpoint}
    server.stop()


def test_a_team_shares_rows(clone: Clone, place: dict[str, str], tmp_path: Path) -> None:
    """A fresh clone pulls what was pushed, and is up to date; an experiment comes with its rows."""
    ours, theirs = MODELS
    clone.git("clone", "--quiet", "--bare", ".", str(tmp_path / "hub"))
    clone.git("clone", "--quiet", "--branch", f"with-{ours}", str(tmp_path / "hub"), str(tmp_path / "fresh"))
    fresh = Fresh(tmp_path / "fresh")
    for name, value in place.items():
        for repository in (clone, fresh):
            repository.dvc("remote", "modify", "--local", "team", name, value)
    clone.git("switch", "--quiet", f"with-{ours}")
    pushed = clone.dvc("push").stdout
    uploaded = clone.dvc("exp", "push", str(tmp_path / "hub"), theirs).stdout
    fresh.dvc("pull")
    status, pulled = fresh.dvc("status").stdout, (fresh.folder / ROWS).read_bytes()
    fresh.dvc("exp", "pull", "origin", theirs)
    fresh.dvc("exp", "apply", theirs)
    applied = (fresh.folder / ROWS).read_bytes()

    assert "files pushed" in pushed
    assert "files uploaded" in uploaded
    assert "Data and pipelines are up to date." in status
    assert pulled != applied
    assert [md5(rows, usedforsecurity=False).hexdigest() for rows in (pulled, applied)] == [
        locked(clone, f"with-{model}") for model in MODELS
    ]


def locked(clone: Clone, revision: str) -> str:
    """Give the hash of the responses that a revision has."""
    stage = yaml.safe_load(clone.git("show", f"{revision}:dvc.lock"))["stages"]["infer@questions"]
    return next(out["md5"] for out in stage["outs"] if out["path"] == ROWS)


def merge(clone: Clone, ours: str, theirs: str) -> list[str]:
    """Merge a branch into another one; give the files in conflict."""
    clone.git("switch", "--quiet", "--force-create", "merged", ours)
    clone.dvc("checkout", "--quiet")
    author = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    assert clone.run("git", *author, "merge", theirs, check=False).returncode == 1
    return clone.git("diff", "--name-only", "--diff-filter=U").split()


def resolve(clone: Clone, *variables: str, check: bool = True) -> tuple[str, str, list[str]]:
    """Run `make resolve`, which must install nothing; give what it prints and the files still in conflict."""
    done = clone.run("make", "--old-file", ".venv/installed", "resolve", *variables, check=check)
    return done.stdout, done.stderr, clone.git("diff", "--name-only", "--diff-filter=U").split()


def tree(clone: Clone, revision: str) -> str:
    """Give Git's hash of all files of a commit."""
    return clone.git("rev-parse", f"{revision}^{{tree}}")


@pytest.mark.parametrize("kept", MODELS)
def test_one_command_finishes_a_merge(clone: Clone, kept: str) -> None:
    """The lock, the archive and the figures are those of the model that is kept, and have no line of the other."""
    ours, theirs = (f"with-{model}" for model in MODELS)
    conflicts = merge(clone, ours, theirs)
    marked = [name for name in conflicts if b"<<<<<<< " in (clone.folder / name).read_bytes()]
    # This branch's model is kept unless another is named.
    printed, _, left = resolve(clone, *([] if kept == MODELS[0] else [f"MODEL={kept}"]))
    staged, status = clone.git("write-tree"), clone.dvc("status").stdout
    clone.git("merge", "--abort")

    assert {"dvc.lock", "archive/run.tar.xz", "metrics/questions.json", "params.yaml"} <= set(conflicts)
    assert marked == ["params.yaml"]
    assert f"params.yaml: the model is {kept}" in printed
    assert left == []
    assert staged == tree(clone, f"with-{kept}")
    assert "Data and pipelines are up to date." in status


def test_what_people_wrote_is_left_to_them(clone: Clone) -> None:
    """Another conflict stops the command until it is resolved, and is named; without a merge there is nothing to do."""
    _, outside, _ = resolve(clone, check=False)
    for model in MODELS:
        clone.git("switch", "--quiet", "--create", f"edited-{model}", f"with-{model}")
        (clone.folder / "SECURITY.md").write_text(f"{model}\n", encoding="utf-8")
        clone.commit()
    merge(clone, *(f"edited-{model}" for model in MODELS))
    _, stopped, left = resolve(clone, check=False)
    clone.git("checkout", "--ours", "SECURITY.md")
    clone.git("add", "SECURITY.md")
    _, _, none = resolve(clone)
    staged = clone.git("write-tree")
    clone.git("merge", "--abort")

    assert outside.startswith("error: no merge has stopped: run git merge BRANCH first\n")
    assert stopped.startswith("error: edit these by hand, git add them, and repeat make resolve: SECURITY.md\n")
    assert {"SECURITY.md", "dvc.lock"} <= set(left)
    assert none == []
    assert staged == tree(clone, f"edited-{MODELS[0]}")


def test_git_merges_no_lines_of_what_a_run_writes(clone: Clone) -> None:
    """The attributes cover what `make resolve` renews, and no other file."""
    files = clone.git("ls-files").split("\n")[:-1]
    unset = clone.run("git", "check-attr", "merge", "--", *files).stdout.splitlines()
    unmerged = {line.split(":")[0] for line in unset if line.endswith(" unset")}

    assert unmerged == {name for name in files if name.startswith(("archive/", "dvc.lock", "metrics/", "plots/"))}
