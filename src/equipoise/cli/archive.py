"""`equipoise pack` and `equipoise pull`: a run's outputs into an archive that Git keeps, and out of it in a clone."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli import completing
from equipoise.compare import archive
from equipoise.core import params, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import write_bytes
from equipoise.core.overwriting import Force
from equipoise.core.progress import progress

FORCED = re.compile(r"\s*Use `(?:-f|--force)` to force\.")
"""Advice of DVC about an option of its own commands."""


def pack(
    *,
    beside: Annotated[
        bool, typer.Option(help="Pack the run beside the committed one, as archive/models/MODEL.tar.xz.")
    ] = False,
    evidence: Annotated[
        Path | None,
        typer.Option(help="Pack the run into one file that `equipoise verify` checks anywhere.", metavar="FILE"),
    ] = None,
    force: Force = False,
    as_json: printing.AsJson = False,
) -> None:
    """Pack the outputs of the last run into the folder archive, which is committed with dvc.lock.

    Rows, the report and lists have an archive each. An archive that already holds the outputs of dvc.lock is not
    rewritten.
    """
    if evidence is not None:
        from equipoise.cli.evidence import pack_evidence

        pack_evidence(evidence, force=force, as_json=as_json)
        return
    if beside:
        _pack_beside(as_json=as_json)
        return
    written, lines = {}, []
    with repository() as repo, progress("pack"):
        for name, hashes in archive.digests(repo).items():
            path = Path(repo.root_dir) / name
            if not hashes:
                path.unlink(missing_ok=True)
                continue
            if not (same := archive.packed(path) == hashes):
                write_bytes(path, archive.pack(repo, hashes))
                written[name] = path.stat().st_size
            done = "unchanged: it already holds these outputs" if same else "commit it with dvc.lock"
            lines.append(f"{name}: {path.stat().st_size / 1e6:.2f} MB: {done}")
    printing.report({"written": written}, *lines, as_json=as_json)


def _pack_beside(*, as_json: bool) -> None:
    """Pack the last run whole, with the files of it that Git keeps, so that Git can go back to the committed run."""
    name = f"{archive.MODELS}/{params.load().model}.tar.xz"
    with repository() as repo, progress("pack"):
        hashes = set().union(*archive.digests(repo).values())
        path = Path(repo.root_dir) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, archive.pack(repo, hashes, archive.tracked(repo)))
        size = path.stat().st_size
    printing.report({"written": {name: size}}, f"{name}: {size / 1e6:.2f} MB: commit it", as_json=as_json)


def pull(
    revisions: Annotated[
        list[str] | None,
        typer.Argument(
            help="Further Git revisions whose rows to restore, for comparison.",
            metavar="[REVISION]...",
            autocompletion=completing.revisions,
        ),
    ] = None,
    *,
    model: Annotated[
        str | None, typer.Option(help="Restore the run of this model, from archive/models.", metavar="NAME")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: what was restored.")] = False,
) -> None:
    """Restore the outputs of the committed run without running it: rows, report and plots.

    The outputs come from the archive in Git; each file is checked against its hash and put into DVC's cache, from which
    DVC restores it. Files in the workspace that belong to no run are not overwritten. With --model, params.yaml,
    dvc.lock, metrics and plots are replaced too, as by `dvc exp run`.
    """
    from dvc.exceptions import DvcException

    if model is not None:
        _unpack_model(model)
    with repository() as repo, progress("pull"):
        for name in ("workspace", *(revisions or ())):
            with nullcontext() if name == "workspace" else repo.switch(name):
                # The workspace has the other model's run now, and the committed one's archive.
                if not archive.unpack(repo):
                    raise EquipoiseError(f"{name}: has no {archive.ARCHIVE}: run `dvc repro` at that revision")
        try:
            done = repo.checkout()
        except DvcException as error:
            raise EquipoiseError(_unrestored(" ".join(str(error).split()))) from error
    restored = sorted((*done.get("added", ()), *done.get("modified", ())))
    summary = f"{len(restored)} files and folders restored: open report/index.html"
    printing.report(
        {"restored": restored}, *restored, summary if restored else "everything is up to date", as_json=as_json
    )


def _unrestored(problem: str) -> str:
    """Say what keeps DVC from restoring outputs, without the option that it advises and `pull` lacks."""
    if FORCED.search(problem):
        told = FORCED.sub("", problem).strip()
        return f"outputs cannot be restored ({told}): delete what an interrupted run left there, and pull again"
    return f"outputs cannot be restored ({problem}): run `dvc repro`"


def _unpack_model(name: str) -> None:
    """Write a model's run over the committed one, unless that would lose an edit."""
    with repository() as repo, progress("pull"):
        staged, unstaged, _ = repo.scm.status(untracked_files="no")
        changed = [path for paths in (*staged.values(), unstaged) for path in paths]
        if edited := sorted({os.fsdecode(path) for path in changed if archive.TRACKED.fullmatch(os.fsdecode(path))}):
            fix = "commit them, or run `git restore --staged --worktree params.yaml dvc.lock metrics plots`"
            raise EquipoiseError(f"{edited[0]}: `pull --model` would overwrite uncommitted changes: {fix}")
        archive.unpack_model(repo, name)


@contextmanager
def repository() -> "Iterator[Any]":
    """Open the DVC repository around the working folder; one line where there is none, or where it cannot be read."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.scm import RevError

    try:
        with Repo() as repo:
            yield repo
    except RevError as error:
        raise EquipoiseError(f"{error}: give a commit, a branch or a tag of this clone") from error
    except DvcException as error:
        message = f"not a clone that DVC can read ({' '.join(str(error).split())}): run this in a clone of the project"
        raise EquipoiseError(message) from error
