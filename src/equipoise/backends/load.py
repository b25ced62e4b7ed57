"""The backend that a manifest and its registry entry call for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.errors import EquipoiseError
from equipoise.records import sha256

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.backends.onnx import OnnxBackend
    from equipoise.records import Manifest
    from equipoise.registry import ModelEntry


def open_backend(manifest: Manifest, entry: ModelEntry, store: Path, *, batch_size: int) -> OnnxBackend:
    """Open what `export` made in a folder under `store`, after checking every file against the manifest."""
    from equipoise.backends.onnx import OnnxBackend

    folder = store / manifest.folder
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.is_file() or sha256(path) != expected:
            state = "altered" if path.is_file() else "missing"
            message = f"exported weights {state}: {path}: run `dvc repro --force --single-item export`"
            raise EquipoiseError(message)
    return OnnxBackend(folder, entry, batch_size=batch_size)
