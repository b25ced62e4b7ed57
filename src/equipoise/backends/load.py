"""The backend that a manifest and its registry entry call for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import sha256
from equipoise.models.registry import ApiEntry, OnnxEntry, ReplayEntry, TorchEntry, VllmEntry
from equipoise.models.weights import locate, verified_file

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.backends.base import Backend
    from equipoise.core.records import Manifest
    from equipoise.models.registry import AnyEntry
    from equipoise.models.weights import Weights

EXPORT = "run `dvc repro --force --single-item export`"


def open_backend(manifest: Manifest, entry: AnyEntry, store: Path, *, batch_size: int) -> Backend:
    """Open the model that `export` described; exported weights lie in a folder under `store`.

    Raises:
        EquipoiseError: The entry's backend is not the manifest's, or a file is missing or altered.
    """
    if manifest.backend != entry.backend:
        was = f"the manifest is of {manifest.backend}"
        message = f"models/{manifest.model}.yaml: field backend is {entry.backend}, but {was}: {EXPORT}"
        raise EquipoiseError(message)
    match entry:
        case OnnxEntry():
            from equipoise.backends.onnx import OnnxBackend

            return OnnxBackend(_exported(manifest, store), entry, batch_size=batch_size)
        case ApiEntry():
            from equipoise.backends.openai import ApiBackend

            return ApiBackend(manifest.model, entry)
        case ReplayEntry():
            from equipoise.backends.replay import ReplayBackend

            return ReplayBackend(verified_file(manifest.model, entry, cache.root()))
        case TorchEntry():
            from equipoise.backends.torch import TorchBackend

            return TorchBackend(_published(manifest, entry), entry)
        case VllmEntry():
            from equipoise.backends.vllm import open_vllm

            return open_vllm(_published(manifest, entry), entry)


def _published(manifest: Manifest, entry: TorchEntry | VllmEntry) -> Weights:
    """Find weights that run as they are published, after checking that they are those of the manifest."""
    weights = locate(entry, cache.root())
    if (weights.files, entry.settings) != (manifest.weights, manifest.settings):
        what = "settings" if weights.files == manifest.weights else "weights"
        message = f"models/{manifest.model}.yaml: its {what} are not those of the manifest: {EXPORT}"
        raise EquipoiseError(message)
    return weights


def _exported(manifest: Manifest, store: Path) -> Path:
    """Find the folder of an export, after checking every file in it against the manifest."""
    folder = store / (manifest.folder or "")
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.is_file() or sha256(path) != expected:
            state = "altered" if path.is_file() else "missing"
            message = f"exported weights {state}: {path}: {EXPORT}"
            raise EquipoiseError(message)
    return folder
