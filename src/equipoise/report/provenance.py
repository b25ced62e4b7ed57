"""Where a report comes from: the model, the judge, the settings, and every input with its licence and sha256."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.judge import registry as judges
from equipoise.leaderboard.rows import flattened
from equipoise.records import read_text, sha256

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.judge.registry import JudgeEntry
    from equipoise.params import Params
    from equipoise.records import Manifest

FOLDERS = ("features", "lexicon", "raw", "stigma", "templates")
FILES = ("cities.yaml", "diagnoses.yaml", "medmcqa_diseases.yaml")
STATED = (
    re.compile(r"Licence: ([A-Za-z0-9.+-]*[A-Za-z0-9])"),
    re.compile(r"\(([A-Z]+)\)"),
    re.compile(r"(Apache-2\.0)"),
)
"""How a file's first comment states its licence: outright, in brackets behind the release it is from, or in passing."""
RELEASED = "released at"
UNSTATED = "not stated in the file; the repository's is Apache-2.0"


class Input(NamedTuple):
    """One input: its path from the root, its licence as stated, and its sha256."""

    path: str
    licence: str
    sha256: str


class Provenance(NamedTuple):
    """All that a run's figures depend on, for a table a field."""

    model: list[tuple[str, str]]
    hashes: list[tuple[str, str]]
    judge: list[tuple[str, str]]
    settings: list[tuple[str, str]]
    inputs: list[Input]


def provenance(manifest: Manifest, params: Params, root: Path) -> Provenance:
    """Collect a run's provenance; `root` is the project's."""
    judge = judges.load_entry(params.judge, root)
    fields = manifest.model_dump(exclude={"weights", "files", "versions", "fidelity", "settings"}, exclude_none=True)
    more = {
        **{f"version of {name}": version for name, version in sorted(manifest.versions.items())},
        **{f"setting {name}": value for name, value in sorted(manifest.settings.items())},
        **{f"fidelity, {name}": value for name, value in (manifest.fidelity or {})},
    }
    return Provenance(
        model=[(name.replace("_", " "), str(value)) for name, value in (fields | more).items()],
        hashes=sorted((manifest.weights | manifest.files).items()),
        judge=_judge(params.judge, judge),
        settings=[(name, _written(value)) for name, value in sorted(flattened(params.model_dump()).items())],
        inputs=inputs(params, root) + judge_inputs(judge),
    )


def inputs(params: Params, root: Path) -> list[Input]:
    """List the data files that the run reads, sorted by path; a question file that it names but lacks is left out."""
    data = root / "data"
    items = {params.items, params.sample.get("items"), params.pair.get("items")} - {None}
    paths = {path for folder in FOLDERS for path in (data / folder).rglob("*.yaml")}
    paths |= {path for name in FILES if (path := data / name).is_file()}
    paths |= {path for name in items if (path := data / "items" / f"{name}.jsonl").is_file()}
    return sorted(Input(path.relative_to(root).as_posix(), licence(path), sha256(path)) for path in paths)


def judge_inputs(entry: JudgeEntry) -> list[Input]:
    """List the judge's weights where the registry holds them to their hashes."""
    folder, files = getattr(entry.source, "folder", ""), getattr(entry.source, "files", {})
    hashes = files if isinstance(files, dict) else {}
    return [Input(f"{folder}/{name}".lstrip("/"), entry.licence, found) for name, found in sorted(hashes.items())]


def licence(path: Path) -> str:
    """Read a file's licence: from its rows (JSONL), else from its first comment."""
    text = read_text(path)
    if path.suffix == ".jsonl":
        return ", ".join(sorted({json.loads(line).get("licence", UNSTATED) for line in text.splitlines()})) or "no rows"
    head = " ".join(
        line.lstrip("# ") for line in text.split("\n\n")[:4] for line in line.splitlines() if line[:1] == "#"
    )
    outright, bracketed, passing = STATED
    if found := outright.search(head):
        return found[1]
    if RELEASED in head and (found := bracketed.search(head.partition(RELEASED)[2])):
        return found[1]
    return found[1] if (found := passing.search(head)) else UNSTATED


def _judge(name: str, entry: JudgeEntry) -> list[tuple[str, str]]:
    rows = [("judge", name), ("title", entry.title), ("licence", entry.licence), ("source", entry.source.kind)]
    rows += [
        (field, str(getattr(entry.source, field))) for field in ("repo", "revision") if hasattr(entry.source, field)
    ]
    if error := entry.error:
        for label, found in (("silent", error.silent), ("not silent", error.not_silent)):
            rows.append((f"read as labelled, {label}", f"{found.right} of {found.of}"))
        rows.append(("labels", error.labels))
    return rows


def _written(value: Any) -> str:  # noqa: ANN401  (any value of params.yaml)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
