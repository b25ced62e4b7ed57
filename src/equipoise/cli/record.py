"""`equipoise record`: the last run as one small file in results/, which stays when another model is run."""

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.archive import repository
from equipoise.compare.record import Record, hashes
from equipoise.core import jsonl, printing
from equipoise.core.display import first_of
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.core.provenance import FILE
from equipoise.report.record import collect


def record(
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a result of this model and revision that has other figures.")
    ] = False,
    as_json: printing.AsJson = False,
) -> None:
    """Record the last run in results/MODEL@REVISION.json: verdicts, figures, and what they were made from."""
    with repository() as repo, progress("record"):
        root = Path(repo.root_dir)
        if stale := sorted(repo.status()):
            raise EquipoiseError(f"the last run is not up to date ({first_of(stale)}): run `dvc repro`, then record it")
        new = collect(root, hashes(repo))
    changed = _write(root / new.file, new, force=force)
    done = "commit it" if changed else "unchanged: it already holds these figures"
    elsewhere = f"date, commit and machine are not recorded: this run was not made here (no report/{FILE} of its own)"
    size = (root / new.file).stat().st_size
    printing.report(
        {"written": {new.file.as_posix(): size} if changed else {}},
        "" if new.made else elsewhere,
        f"{new.file.as_posix()}: {size / 1000:.1f} kB: {done}",
        as_json=as_json,
    )


def _write(path: Path, new: Record, *, force: bool) -> bool:
    """Write a result, and say whether that changed the file; one with other figures is replaced by force alone."""
    old = jsonl.read_one(path, Record) if path.exists() and not force else None
    if old is not None:
        if not old.equals(new):
            what = "figures" if old.metrics != new.metrics else "settings"
            raise EquipoiseError(f"{path}: recorded with other {what}: replace it with --force")
        # If only the date or the machine is another one, two branches that record the run must not conflict.
        if old.model_copy(update={"made": new.made}) == new and (old.made or not new.made):
            return False
    jsonl.write_text(path, new.written())
    return True
