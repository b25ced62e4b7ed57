"""A result file of tests: a model with one figure of one study."""

from __future__ import annotations

from typing import Any

from equipoise.compare.record import Record
from equipoise.core.provenance import Made


def made_at(date: str = "2026-03-01T12:00:00+00:00", **changed: Any) -> Made:
    """Give the record of a page that was written then, on a clean commit."""
    fields = {"page": "a" * 64, "date": date, "commit": "c" * 40, "n_edited": 0, "edited": (), "python": "3.11.7"}
    more = {"packages": {"numpy": "2.5.0"}, "system": "Linux", "processor": "a CPU", "gpus": ()}
    return Made.model_validate(fields | more | changed)


def record_of(name: str = "a", shift: float = 0.0, **changed: Any) -> Record:
    """Give the result of a model; `changed` are fields of the record, or `revision` and `weights` of its model."""
    model = {
        "name": name,
        "title": f"Model {name}",
        "backend": "onnx",
        "repo": "r",
        "revision": "1.0",
        "licence": "MIT",
    }
    model |= {field: changed.pop(field) for field in ("revision", "weights") if field in changed}
    figure = {"estimate": shift, "ci_low": shift - 1, "ci_high": shift + 1}
    fields: dict[str, Any] = {
        "schema": 1,
        "model": model,
        "judge": {"judge": "keyword"},
        "drawing": {"measure.seed": "0"},
        "settings": {"model": name, "measure": {"alpha": 0.05}},
        "metrics": {"vignettes": {"n": 2, "stereotype_shift_net": figure, "silent_bias_rate_moved": {"n": 0}}},
        "inputs": {"data/cities.yaml": "b" * 64},
        "hashes": {"src": "d" * 32},
        "made": made_at(),
    }
    return Record.model_validate(fields | changed)
