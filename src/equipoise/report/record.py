"""A run as a result file: its figures, and what the report says of how they were made."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from equipoise.compare.leaderboard import without_words
from equipoise.compare.record import Record
from equipoise.core import jsonl, params
from equipoise.core import provenance as made
from equipoise.core.manifest import Manifest
from equipoise.core.yamlfile import read_yaml
from equipoise.models import registry
from equipoise.report.inputs import Input, provenance
from equipoise.report.page import identity
from equipoise.studies.registry import chosen

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
    """Give the sha256 of each input, and of those in a folder below `data` one for the folder."""
    found: dict[str, str | None] = {}
    folders: dict[str, dict[str, str | None]] = {}
    for one in inputs:
        top, *names = one.path.split("/")
        if top == "data" and len(names) > 1:
            folders.setdefault(f"data/{names[0]}", {})[one.path] = one.sha256
        else:
            found[one.path] = one.sha256
    return found | {name: jsonl.digest(files) for name, files in folders.items()}


def _metrics(path: Path) -> Any:  # noqa: ANN401  (any JSON value)
    return jsonl.json_value(str(path), jsonl.read_text(path))
