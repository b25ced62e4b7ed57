"""Manifests of models that are not exported: weights that run as published, a server, saved answers."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Manifest, sha256
from equipoise.models.registry import ApiEntry, TorchEntry, VllmEntry
from equipoise.models.weights import locate

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.models.registry import ReplayEntry


def describe(name: str, entry: TorchEntry | VllmEntry | ApiEntry | ReplayEntry, root: Path) -> Manifest:
    """Describe a model that needs no export; weights or saved answers that are missing are an EquipoiseError.

    A server's part in the identity is its address, the model's name there, and what each request carries. What lies
    behind the name can change without notice: prefer names that carry a date.
    """
    if isinstance(entry, TorchEntry | VllmEntry):
        return _of_weights(name, entry, root)
    if isinstance(entry, ApiEntry):
        return Manifest(
            model=name,
            backend=entry.backend,
            repo=entry.base_url,
            revision=entry.model,
            licence=entry.licence,
            settings=entry.settings,
        )
    verified_file(name, entry, root)
    verified_cases(name, entry, root)
    return Manifest(
        model=name,
        backend=entry.backend,
        repo=entry.file,
        revision=entry.sha256,
        licence=entry.licence,
        settings={"cases": entry.cases.sha256} if entry.cases else {},
    )


def _of_weights(name: str, entry: TorchEntry | VllmEntry, root: Path) -> Manifest:
    """Describe weights that run as published; the libraries and the kind of device belong to the identity."""
    import torch

    cuda = isinstance(entry, VllmEntry) or (entry.device_map != "cpu" and torch.cuda.is_available())
    weights = locate(entry, root)
    return Manifest(
        model=name,
        backend=entry.backend,
        repo=weights.repo,
        revision=weights.revision,
        licence=entry.licence,
        weights=weights.files,
        provider="cuda" if cuda else "cpu",
        settings=entry.settings,
        versions={library: _version(library, entry) for library in _libraries(entry)},
    )


def _libraries(entry: TorchEntry | VllmEntry) -> list[str]:
    if isinstance(entry, VllmEntry):
        return ["torch", "transformers", "vllm"]
    return ["torch", "transformers", *(["bitsandbytes"] if entry.bits else [])]


def _version(library: str, entry: TorchEntry | VllmEntry) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        message = f"{entry.title}: {library} is not installed: run `pip install 'equipoise[{library}]'`"
        raise EquipoiseError(message) from None


def verified_file(name: str, entry: ReplayEntry, root: Path) -> Path:
    """Find the file of saved answers, once it is the one that the registry names.

    Raises:
        EquipoiseError: The file is missing or altered; the message names it and the mend.
    """
    return _verified(root / entry.file, entry.sha256, "saved answers", "", name)


def verified_cases(name: str, entry: ReplayEntry, root: Path) -> Path | None:
    """Find the cases that saved outputs answer, if any, likewise."""
    if entry.cases is None:
        return None
    return _verified(root / entry.cases.file, entry.cases.sha256, "cases of saved answers", "cases.", name)


def _verified(path: Path, expected: str, what: str, fields: str, name: str) -> Path:
    if not path.is_file():
        message = f"{what} missing: {path}: put the file there, or mend the field {fields}file in models/{name}.yaml"
        raise EquipoiseError(message)
    if (found := sha256(path)) != expected:
        message = (
            f"{what} altered: {path} has sha256 {found}, not {expected}: "
            f"restore the file, or mend the field {fields}sha256 in models/{name}.yaml"
        )
        raise EquipoiseError(message)
    return path
