"""Where a report comes from: the model, the judge, the settings, and every input with its licence and sha256."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.compare.leaderboard import flattened
from equipoise.models import registry
from equipoise.report.inputs import inputs, judge_inputs, judges, masked_inputs, masked_model, model_inputs

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.core.params import Params
    from equipoise.core.records import Manifest
    from equipoise.models.registry import JudgeEntry
    from equipoise.report.inputs import Input


class Provenance(NamedTuple):
    """All that a run's figures depend on, for a table a field."""

    model: list[tuple[str, str]]
    hashes: list[tuple[str, str]]
    judge: list[tuple[str, str]]
    settings: list[tuple[str, str]]
    inputs: list[Input]


def provenance(manifest: Manifest, params: Params, root: Path) -> Provenance:
    """Collect a run's provenance; `root` is the project's."""
    judge = registry.load_judge_entry(params.judge, root)
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
        inputs=every_input(manifest, params, root),
    )


def every_input(manifest: Manifest, params: Params, root: Path) -> list[Input]:
    """List the files of the project that the run reads, then the weights of its models and judges."""
    found = inputs(params, root) + model_inputs(manifest, registry.load_entry(params.model, root))
    for name in judges(params):
        found += judge_inputs(registry.load_judge_entry(name, root))
    if name := masked_model(params):
        found += masked_inputs(registry.load_masked_entry(name, root))
    return found


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
