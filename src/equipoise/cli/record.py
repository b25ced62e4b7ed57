"""`equipoise record`: the last run as one small file in results/, which stays when another model is run."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli.archive import repository
from equipoise.compare.leaderboard import without_words
from equipoise.compare.record import Record, hashes
from equipoise.core import jsonl, params, printing
from equipoise.core import provenance as made
from equipoise.core.display import first_of
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.progress import progress
from equipoise.core.provenance import FILE
from equipoise.core.yamlfile import read_yaml
from equipoise.models import registry
from equipoise.report.inputs import Input, provenance
from equipoise.report.page import identity
from equipoise.studies.registry import chosen


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


REPORT = Path("report/index.html")


def collect(root: Path, hashes: Mapping[str, str]) -> Record:
    """Read the last run of the project at `root`, of which dvc.lock has the `hashes`.

    Raises EquipoiseError for a file that is missing or malformed.
    """
    settings = params.load(root / params.FILE)
    manifest = jsonl.read_one(root / "data/manifest.json", Manifest)
    known = provenance(manifest, settings, root)
    page = identity(jsonl.read_text(root / REPORT))
    fields = manifest.model_dump(include={"backend", "repo", "revision", "licence", "weights", "provider", "versions"})
    record: dict[str, Any] = {
        "schema": 1,
        "model": fields | {"name": settings.model, "title": registry.load_entry(settings.model, root).title},
        "judge": dict(known.judge),
        "drawing": dict(known.drawing),
        "settings": read_yaml(root / params.FILE),
        "metrics": without_words(
            {study.name: _metrics(root / f"metrics/{study.name}.json") for study in chosen(settings)}
        ),
        "inputs": _by_folder(known.inputs),
        "hashes": dict(hashes),
        "made": made.read((root / REPORT).with_name(made.FILE), page),
    }
    return Record.model_validate(record)


def _by_folder(inputs: Iterable[Input]) -> dict[str, str | None]:
    """Give the sha256 of each input; inputs in a folder below `data` share one for the folder."""
    digests: dict[str, str | None] = {}
    folders: dict[str, dict[str, str | None]] = {}
    for file in inputs:
        top, *names = file.path.split("/")
        if top == "data" and len(names) > 1:
            folders.setdefault(f"data/{names[0]}", {})[file.path] = file.sha256
        else:
            digests[file.path] = file.sha256
    return digests | {name: jsonl.digest(files) for name, files in folders.items()}


def _metrics(path: Path) -> Any:  # noqa: ANN401  (any JSON value)
    return jsonl.json_value(str(path), jsonl.read_text(path))
