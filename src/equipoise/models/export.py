"""Models made ready to be used: weights exported to ONNX and admitted only if they answer as the original does.

`new_folder`, `exported_once` and `write_onnx` serve every kind of model; `prepare` makes the model under test ready and
describes it: an export, weights that run as published, a server or saved answers.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Manifest, digest, read_one, sha256, write_json
from equipoise.core.yamlfile import load_yaml
from equipoise.models.engine import GRAPH, provider
from equipoise.models.fidelity import chat_fidelity, require_agreement
from equipoise.models.fusion import ELSEWHERE, fuse_attention, obstacle
from equipoise.models.readiness import DISK_COPIES, FP32
from equipoise.models.registry import ApiEntry, OnnxEntry, TorchEntry, VllmEntry
from equipoise.models.weights import loading, locate, verified_cases, verified_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from equipoise.models.registry import AnyEntry, ReplayEntry
    from equipoise.models.weights import Weights

OPSET = 18
MANIFEST = "manifest.json"
LIBRARIES = ("onnx", "optimum", "optimum-onnx", "torch", "transformers", "onnxruntime")
"""Libraries that determine an export."""


class ExportManifest(BaseModel):
    """What an export is kept with: the sha256 of each of its files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: dict[str, str]


M = TypeVar("M", bound=ExportManifest)


class _Probes(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    probes: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]


def load_probes(path: Path) -> tuple[str, ...]:
    """Read the questions on which an export is compared with its original; at least one is needed."""
    return load_yaml(path, _Probes).probes


def versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Give the versions of some libraries; that of ONNX Runtime, whose package has several names, as it says itself."""
    import onnxruntime

    own = {"onnxruntime": str(onnxruntime.__version__)}
    return {library: own.get(library) or metadata.version(library) for library in libraries}


@contextmanager
def new_folder(store: Path, name: str) -> Iterator[Path]:
    """Give an empty folder to fill; without a fault it becomes `name` under `store`, else nothing is left of it.

    It is filled under a name of its own and then renamed, so that no process needs a lock and none sees half of it.
    """
    make_store(store)
    try:
        with tempfile.TemporaryDirectory(dir=store, prefix=".export-") as place:
            made = Path(place) / "made"
            made.mkdir()
            yield made
            shutil.rmtree(store / name, ignore_errors=True)
            made.rename(store / name)
    except OSError as error:
        message = f"{store}: the export cannot be written ({error.strerror or error}): free space and run again"
        raise EquipoiseError(message) from error


def make_store(store: Path, needed: float = 0.0) -> None:
    """Make the folder of exports, which must have so many bytes free."""
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{store}: cannot be created ({error.strerror}): correct the permissions of its parent folder"
        raise EquipoiseError(message) from error
    if (free := shutil.disk_usage(store).free) < needed:
        message = (
            f"{store}: {needed / 1e9:.1f} GB of disk is needed, {free / 1e9:.1f} GB is free: free more and run again"
        )
        raise EquipoiseError(message)


def exported_once(store: Path, name: str, kind: type[M], fill: Callable[[Path], M]) -> M:
    """Give the manifest of the export `name` under `store`; unless it is there whole, `fill` makes it anew."""
    path = store / name / MANIFEST
    if path.is_file():
        manifest = read_one(path, kind)
        if all(
            (path.with_name(file)).is_file() and sha256(path.with_name(file)) == expected
            for file, expected in manifest.files.items()
        ):
            return manifest
    with new_folder(store, name) as made:
        manifest = fill(made)
        write_json(made / MANIFEST, manifest.model_dump(mode="json"))
    return manifest


def hashes(folder: Path) -> dict[str, str]:
    """Take the sha256 of every file of an export."""
    return {path.name: sha256(path) for path in sorted(folder.iterdir())}


def write_onnx(model: PreTrainedModel, folder: Path, task: str) -> None:
    """Export a model through optimum as it is."""
    from optimum.exporters.onnx.convert import onnx_export_from_model

    # The exporter's warnings are of values that tracing fixes; the comparison with torch shows whether that did harm.
    logging.getLogger("optimum").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnx_export_from_model(model=model, output=folder, task=task, opset=OPSET, device="cpu", do_validation=False)


def prepare(name: str, entry: AnyEntry, root: Path, store: Path, probes: Sequence[str]) -> Manifest:
    """Make a model of the registry ready to be asked, as its backend needs it, and describe it."""
    return export(name, entry, root, store, probes) if isinstance(entry, OnnxEntry) else describe(name, entry, root)


def export(name: str, entry: OnnxEntry, root: Path, store: Path, probes: Sequence[str]) -> Manifest:
    """Export a registry entry into a folder under `store`, compare it with torch on the probes, and describe it.

    Agreement below the entry's threshold is an EquipoiseError, and nothing is kept.
    """
    weights = locate(entry, root)
    model, tokenizer = _load(weights, entry.max_length)
    libraries = versions()
    folder = f"{name}-{digest([weights.files, libraries, OPSET, entry.max_length])[:16]}"
    make_store(store, DISK_COPIES * FP32 * model.num_parameters())
    with new_folder(store, folder) as made:
        _write_fused(model, made, entry.max_length)
        tokenizer.save_pretrained(made)
        fidelity = chat_fidelity(name, entry, model, tokenizer, made, probes)
        require_agreement(name, fidelity, entry.fidelity)
        files = hashes(made)
    return Manifest(
        model=name,
        repo=weights.repo,
        revision=weights.revision,
        licence=entry.licence,
        weights=weights.files,
        folder=folder,
        files=files,
        opset=OPSET,
        precision="fp32",
        provider=provider(),
        settings=entry.settings,
        versions=libraries,
        fidelity=fidelity,
    )


def _load(weights: Weights, max_length: int) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load the original into torch; one that is damaged, or of a kind that cannot be asked, is an EquipoiseError."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # Neither code of the repository nor pickled weights are ever run.
    safe = weights.arguments | {"trust_remote_code": False}
    with loading(weights.folder):
        tokenizer = AutoTokenizer.from_pretrained(weights.folder, **safe)
        safe |= {} if weights.gguf else {"use_safetensors": True}
        model = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32, **safe).eval()
    rotary = hasattr(getattr(model, "model", None), "rotary_emb")
    if found := obstacle(model.config, max_length) if rotary else "has no rotary attention to fuse":
        message = f"{weights.folder}: a {model.config.model_type} model {found}: {ELSEWHERE}"
        raise EquipoiseError(message)
    if tokenizer.chat_template is None:
        message = f"{weights.folder}: the tokenizer has no chat template: choose a model tuned to follow instructions"
        raise EquipoiseError(message)
    return model, tokenizer


def _write_fused(model: PreTrainedModel, folder: Path, max_length: int) -> None:
    """Export, fuse the attention, and leave one graph with its weights beside it."""
    import onnx
    import torch

    plain = folder / "plain"
    write_onnx(model, plain, "text-generation-with-past")
    config = model.config
    positions = torch.arange(max_length)[None]
    cos, sin = model.model.rotary_emb(torch.zeros(1, 1, 1), positions)
    head_size = cos.shape[-1]
    graph = fuse_attention(
        onnx.load(plain / GRAPH),
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        scale=head_size**-0.5,
        cos=cos[0, :, : head_size // 2].numpy(),
        sin=sin[0, :, : head_size // 2].numpy(),
    )
    shutil.rmtree(plain)
    onnx.save(graph, folder / GRAPH, save_as_external_data=True, location=f"{GRAPH}.data")
    config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)


def describe(name: str, entry: TorchEntry | VllmEntry | ApiEntry | ReplayEntry, root: Path) -> Manifest:
    """Describe a model that needs no export; weights or saved answers that are missing are an EquipoiseError.

    A server is identified by its address, the model's name there, and what each request carries. What the name refers
    to can change without notice: prefer names with a date.
    """
    more: dict[str, Any]
    common = {"model": name, "backend": entry.backend, "licence": entry.licence}
    match entry:
        case TorchEntry() | VllmEntry():
            import torch

            weights = locate(entry, root)
            cuda = isinstance(entry, VllmEntry) or (entry.device_map != "cpu" and torch.cuda.is_available())
            more = {
                "repo": weights.repo,
                "revision": weights.revision,
                "weights": weights.files,
                "provider": "cuda" if cuda else "cpu",
                "settings": entry.settings,
                "versions": {library: _version(library, entry) for library in _libraries(entry)},
            }
        case ApiEntry():
            more = {"repo": entry.base_url, "revision": entry.model, "settings": entry.settings}
        case _:
            verified_file(name, entry, root)
            verified_cases(name, entry, root)
            cases = {"cases": entry.cases.sha256} if entry.cases else {}
            more = {"repo": entry.file, "revision": entry.sha256, "settings": cases}
    return Manifest.model_validate(common | more)


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
