from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.backends.base import Cluster, Infer
from equipoise.backends.ray.cluster import WHOLE_NODE, Place, connection, gpus_of, places
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.models.registry import LocalSource, OnnxEntry, TorchEntry, VllmEntry

if TYPE_CHECKING:
    from equipoise.models.registry import AnyEntry

GENERATION = {"reasoning_tokens": 8, "answer_tokens": 4}
SETTINGS: dict[str, Any] = {"batch_size": 4, "executor": "ray", "address": None}


def node(name: str, cores: float, devices: float = 0, *, alive: bool = True) -> dict[str, Any]:
    """Describe a node as Ray does."""
    return {
        "NodeID": name,
        "Alive": alive,
        "Resources": {"CPU": cores, "memory": 1e9} | ({"GPU": devices} if devices else {}),
    }


def test_a_model_without_a_gpu_has_one_worker_a_node() -> None:
    """It takes all of the node's cores; a head that offers none, and a node that is gone, get no worker."""
    nodes = [node("b", 8, 2), node("a", 4), node("head", 0), node("gone", 4, alive=False)]

    assert places(nodes, 0) == [Place("a", 4, 0), Place("b", 8, 0)]


def test_a_node_holds_as_many_workers_as_its_gpus_allow() -> None:
    """Eight GPUs hold four workers of two, which share the cores; three hold one, and one GPU none."""
    nodes = [node("a", 64, 8), node("b", 12, 3), node("c", 4, 1), node("d", 4)]

    assert places(nodes, 2) == [*[Place("a", 16, 2)] * 4, Place("b", 12, 2)]


def test_a_model_that_is_spread_takes_all_gpus_of_a_node() -> None:
    """Each node with any is one place."""
    nodes = [node("a", 64, 8), node("b", 12, 3), node("c", 4)]

    assert places(nodes, WHOLE_NODE) == [Place("a", 64, 8), Place("b", 12, 3)]


SOURCE = LocalSource(kind="local", path="weights")
KIND = {
    "title": "t",
    "licence": "l",
    "source": SOURCE,
    "generation": GENERATION,
    "parameters": "1M",
    "max_length": 64,
}


@pytest.mark.parametrize(
    ("entry", "provider", "gpus"),
    [
        (OnnxEntry.model_validate(KIND | {"backend": "onnx"}), "CPUExecutionProvider", 0),
        (OnnxEntry.model_validate(KIND | {"backend": "onnx"}), "CUDAExecutionProvider", 1),
        (TorchEntry.model_validate(KIND | {"backend": "torch"}), "cpu", 0),
        (TorchEntry.model_validate(KIND | {"backend": "torch"}), "cuda", WHOLE_NODE),
        (TorchEntry.model_validate(KIND | {"backend": "torch", "device_map": "cuda:0"}), "cuda", 1),
        # Three copies on two GPUs each.
        (VllmEntry.model_validate(KIND | {"backend": "vllm", "tensor_parallel": 2, "data_parallel": 3}), "cuda", 6),
    ],
)
def test_gpus_follow_from_manifest_and_entry(entry: AnyEntry, provider: str, gpus: int) -> None:
    """A copy takes what its backend uses on the kind of device that the manifest names."""
    manifest = Manifest(model="m", backend=entry.backend, repo="r", revision="v", licence="l", provider=provider)

    assert gpus_of(manifest, entry) == gpus


def test_a_missing_ray_is_told_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the executor is refused in one line."""
    monkeypatch.setitem(sys.modules, "ray", None)

    with (
        pytest.raises(EquipoiseError, match=r"not installed: run `pip install 'equipoise\[ray\]'`"),
        connection(Cluster()),
    ):
        pass


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_that_does_not_answer_is_told(scheme: str) -> None:
    """A port on which nobody listens is refused at once, by name, with the fix."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'equipoise[ray]'")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"{scheme}127.0.0.1:{free.getsockname()[1]}"

    with (
        pytest.raises(EquipoiseError, match=rf"infer\.address {address}: no Ray cluster answers there .*: start the"),
        connection(Cluster(address)),
    ):
        pass


# Ray leaves its processes and sockets to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:Ray Client connection timed out:UserWarning")
def test_a_server_that_does_not_speak_ray_is_told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """What listens there and does not speak Ray is refused by name, and the next cluster is reached all the same."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'equipoise[ray]'")
    monkeypatch.setattr("ray.util.client.worker.INITIAL_TIMEOUT_SEC", 1)
    monkeypatch.setattr("ray.util.client.worker.MAX_TIMEOUT_SEC", 1)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"ray://127.0.0.1:{mute.getsockname()[1]}"
        refused = rf"infer\.address {address}: no Ray cluster can be used there .*: fix it"
        with pytest.raises(EquipoiseError, match=refused), connection(Cluster(address)):
            pass
    with connection(cluster):
        assert len(ray.nodes()) >= 2


def test_settings_name_the_cluster() -> None:
    """With `executor: ray` the address is the cluster's; without it none is used."""
    assert Infer.model_validate(SETTINGS).cluster == Cluster(None)
    assert Infer.model_validate(SETTINGS | {"address": "ray://head:10001"}).cluster == Cluster("ray://head:10001")
    assert Infer.model_validate(SETTINGS | {"executor": "local", "address": "head:6379"}).cluster is None


@pytest.mark.parametrize("address", ["auto", "head", "http://head:6379", "head:6379/", "ray://head", "head:123456"])
def test_an_address_that_cannot_be_one_is_refused(address: str) -> None:
    """An address is HOST:PORT, or ray://HOST:PORT."""
    with pytest.raises(ValueError, match="address"):
        Infer.model_validate(SETTINGS | {"address": address})
