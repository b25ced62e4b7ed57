"""A Ray cluster: how it is reached, and which of its nodes have room for a worker."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Manifest
from equipoise.models.registry import AnyEntry, OnnxEntry, TorchEntry, VllmEntry

PATIENCE = 10.0
"""Seconds in which the address must take a connection. Ray itself would wait for many minutes."""
NO_RAY = "infer.executor is ray, which is not installed: run `pip install 'equipoise[ray]'`, or set it to local"
WHOLE_NODE = -1
"""GPUs of a worker that takes all those of a node."""


class Cluster(NamedTuple):
    """Where Ray is: HOST:PORT of a cluster's head, ray://HOST:PORT of its client server, or None: started here."""

    address: str | None = None


class Place(NamedTuple):
    """Room for one worker on a node: what of it the worker takes."""

    node: str
    cpus: int
    gpus: int


def gpus_of(manifest: Manifest, entry: AnyEntry) -> int:
    """Count the GPUs that a copy of a model takes; `WHOLE_NODE` where transformers spreads it over all that it sees."""
    match entry:
        case VllmEntry():
            return entry.tensor_parallel * entry.data_parallel
        case OnnxEntry():
            return int((manifest.provider or "").startswith("CUDA"))
        case TorchEntry() if manifest.provider == "cuda":
            return WHOLE_NODE if entry.device_map == "auto" else 1
        case _:
            return 0


def places(nodes: Iterable[Mapping[str, Any]], gpus: int) -> list[Place]:
    """List the room for workers that take `gpus` GPUs each, node by node, as `ray.nodes()` describes them.

    A worker without a GPU takes every core of its node, since ONNX Runtime and torch use them all; a node that offers
    no core, as a head may, is left alone.
    """
    found = []
    for node in sorted(nodes, key=lambda one: str(one["NodeID"])):
        offered = node["Resources"] if node["Alive"] else {}
        cores, devices = int(offered.get("CPU", 0)), int(offered.get("GPU", 0))
        each = devices if gpus == WHOLE_NODE else gpus
        if gpus == 0 and cores:
            found.append(Place(node["NodeID"], cores, 0))
        elif gpus and devices and each <= devices:
            copies = devices // each
            found += [Place(node["NodeID"], cores // copies, each)] * copies
    return found


@contextmanager
def connected(cluster: Cluster) -> Iterator[None]:
    """Hold a connection to the cluster; what is started here is stopped at the end.

    Raises:
        EquipoiseError: Ray is not installed, or the address does not answer; raised within seconds.
    """
    try:
        import ray
    except ImportError:
        raise EquipoiseError(NO_RAY) from None
    if cluster.address is not None:
        _require_answer(cluster.address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # A worker without a GPU keeps the node's own setting of CUDA_VISIBLE_DEVICES; Ray warns where this is not said.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        try:
            ray.init(
                address=cluster.address or "local",
                logging_level=logging.ERROR,
                log_to_driver=False,
                include_dashboard=None if cluster.address else False,
            )
        except (OSError, RuntimeError, ValueError, ImportError) as error:
            said = " ".join(str(error).split())[:300]
            where = f"infer.address {cluster.address}" if cluster.address else "on this machine"
            message = f"{where}: no Ray cluster can be used there ({said}): fix it, or set infer.executor to local"
            raise EquipoiseError(message) from error
        yield
    finally:
        # After a client that was refused too: Ray would take the next cluster for a client's.
        ray.shutdown()


def _require_answer(address: str) -> None:
    host, port = address.removeprefix("ray://").rsplit(":", maxsplit=1)
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        fix = "start the cluster (`ray start --head`), correct the address, or set infer.executor to local"
        message = f"infer.address {address}: no Ray cluster answers there ({error}): {fix}"
        raise EquipoiseError(message) from None
