"""A Ray cluster of two nodes on this machine, which the tests of a process share."""

from __future__ import annotations

import socket
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

import fakes
from equipoise.backends.base import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = 80_000_000
"""Bytes of each node's object store, about the least that Ray takes."""


@pytest.fixture(scope="session")
def nodes() -> Iterator[Any]:
    """Two nodes with a core each; `client` is the address of the client server."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'equipoise[ray]'")
    client = pytest.importorskip("ray.util.client.worker", reason="Ray's client is not installed")
    from ray import cloudpickle
    from ray.cluster_utils import Cluster as Nodes

    cloudpickle.register_pickle_by_value(fakes)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    head = {
        "num_cpus": 1,
        "object_store_memory": MEMORY,
        "include_dashboard": False,
        "ray_client_server_port": port,
    }
    # Not in the session's folder, whose name is too long for that of a socket.
    with TemporaryDirectory(prefix="ray-", dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        # Without it a client now and then finds no server: github.com/ray-project/ray/issues/63202.
        patch.setenv("GRPC_ENABLE_FORK_SUPPORT", "0")
        # Seconds that a client waits for its server, and the head for the server's start: a busy machine fails no test.
        patch.setattr(client, "INITIAL_TIMEOUT_SEC", 60)
        patch.setattr(client, "MAX_TIMEOUT_SEC", 60)
        patch.setenv("RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S", "120")
        made = Nodes(initialize_head=True, head_node_args=head)
        made.add_node(num_cpus=1, object_store_memory=MEMORY)
        made.client = f"ray://127.0.0.1:{port}"
        yield made
        made.shutdown()


@pytest.fixture
def cluster(nodes: Any) -> Cluster:
    """The same cluster, as params.yaml names it."""
    return Cluster(nodes.address)
