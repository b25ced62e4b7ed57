"""Copies of a process on the nodes of a Ray cluster, which share the items: prompts, or the judge's pairs.

It uses plain actors instead of Ray Data: Ray Data transfers blocks of rows, so a worker that dies loses a whole block
of finished results. An actor is asked repeatedly for its finished results, so every result is in the cache a fraction
of a second after it is computed. Unfinished items of a lost worker go to the others, and a new worker replaces it.
"""

import logging
import math
import os
import pickle
import socket
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, Literal, NamedTuple

from equipoise.backends.base import NO_RAY, Cluster, Item, Opening, Process, Result
from equipoise.backends.ray import worker as workers
from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.shipped import PACKAGE
from equipoise.models.registry import AnyEntry, OnnxEntry, TorchEntry, VllmEntry

ANSWER_WAIT = 10.0
"""Seconds within which the address must accept a connection. Ray itself would wait for many minutes."""
PATIENCE = 120.0
"""Seconds to wait until a first node has room for a worker."""
FAREWELL = 10.0
"""Seconds that workers have to close their processes."""
SHARES = 2
"""A share is this fraction of the remaining items per worker: large at first, small at the end, so that all workers
finish together."""
WHOLE_NODE = -1
"""GPU count of a worker that takes all GPUs of a node."""

Step = Literal["place", "open", "work"]


class Place(NamedTuple):
    """Room for one worker on a node: the resources that the worker takes."""

    node: str
    cpus: int
    gpus: int


def gpus_of(manifest: Manifest, entry: AnyEntry) -> int:
    """Return the GPUs that a copy of a model takes; `WHOLE_NODE` if transformers spreads it over all visible GPUs."""
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
    """List the room for workers that take `gpus` GPUs each, node by node, as described by `ray.nodes()`.

    A worker without a GPU takes every core of its node, since ONNX Runtime and torch use them all; a node without
    cores, as a head may be, is skipped.
    """
    rooms = []
    for node in sorted(nodes, key=lambda entry: str(entry["NodeID"])):
        offered = node["Resources"] if node["Alive"] else {}
        cores, devices = int(offered.get("CPU", 0)), int(offered.get("GPU", 0))
        each = devices if gpus == WHOLE_NODE else gpus
        if gpus == 0 and cores:
            rooms.append(Place(node["NodeID"], cores, 0))
        elif gpus and devices and each <= devices:
            copies = devices // each
            rooms += [Place(node["NodeID"], cores // copies, each)] * copies
    return rooms


@contextmanager
def connection(cluster: Cluster) -> Iterator[None]:
    """Keep a connection to the cluster open; a cluster started here is stopped at the end.

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
    # A worker without a GPU keeps the node's own CUDA_VISIBLE_DEVICES; without this setting, Ray warns.
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
            reason = " ".join(str(error).split())[:300]
            where = f"infer.address {cluster.address}" if cluster.address else "on this machine"
            message = f"{where}: no Ray cluster can be used there ({reason}): fix it, or set infer.executor to local"
            raise EquipoiseError(message) from error
        yield
    finally:
        # Also after a refused client: Ray would otherwise treat the next cluster as a client's.
        ray.shutdown()


def _require_answer(address: str) -> None:
    host, port = address.removeprefix("ray://").rsplit(":", maxsplit=1)
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_WAIT).close()
    except (OSError, OverflowError) as error:
        fix = "start the cluster (`ray start --head`), correct the address, or set infer.executor to local"
        raise EquipoiseError(f"infer.address {address}: no Ray cluster answers there ({error}): {fix}") from None


@dataclass(eq=False)
class _Worker(Generic[Item]):
    """One actor: its place, whether a node has accepted it, and its remaining items."""

    place: Place
    actor: Any
    placed: bool = False
    opened: bool = False
    free: bool = False
    share: dict[str, Item] = field(default_factory=dict)


@contextmanager
def copies(
    make: Opening[Item, Result], cluster: Cluster, *, gpus: int, least: int, noun: str, fix: str
) -> Iterator[Process[Item, Result]]:
    """Open as many copies of a process as a Ray cluster has room for when items come; they stay open between calls.

    Args:
        make: Opens a copy; it is sent to every node.
        cluster: The address of Ray.
        gpus: Number of GPUs that a copy takes.
        least: Minimum number of items in a share, if there are so many.
        noun: The name of an item in messages.
        fix: The fix to suggest if one worker after another is lost.
    """
    with connection(cluster):  # every worker ends with it
        named = cluster.address or "on this machine"
        crew: _Crew[Item, Result] = _Crew(make, named=named, gpus=gpus, least=least, noun=noun, fix=fix)
        yield crew.process
        crew.dismiss()


class _Crew(Generic[Item, Result]):
    """The workers that share items, and their pending calls."""

    def __init__(self, make: Opening[Item, Result], *, named: str, gpus: int, least: int, noun: str, fix: str) -> None:
        """Take what a worker opens, and words for messages; no worker is started yet. See `copies`."""
        import ray
        from ray import cloudpickle

        cloudpickle.register_pickle_by_value(workers)
        self._make = cloudpickle.dumps(make)
        self._left: deque[tuple[str, Item]] = deque()
        self._gpus, self._least, self._named, self._noun, self._fix = gpus, least, named, noun, fix
        self._actor: Any = ray.remote(workers.Worker)
        self._calls: dict[Any, tuple[_Worker[Item], Step]] = {}
        self._lost_in_a_row = 0
        self._workers: list[_Worker[Item]] = []

    def process(self, items: Mapping[str, Item]) -> Iterator[dict[str, Result]]:
        """Yield results as they arrive; first, start as many workers as there is room for and items to share.

        Raises:
            EquipoiseError: A copy raised it, no node has room for a worker, or one worker after another is lost.
        """
        import ray

        room = places(ray.nodes(), self._gpus)
        if not room:
            what = f"{self._gpus} GPUs for a worker" if self._gpus else "a core for a worker"
            message = f"the Ray cluster {self._named} has no node with {what}: add one, or set infer.executor to local"
            raise EquipoiseError(message)
        self._left.extend(items.items())
        more = math.ceil(len(items) / self._least) - len(self._workers)
        free = (Counter(room) - Counter(worker.place for worker in self._workers)).elements()
        self._workers += [self._start(place) for place in islice(free, max(0, more))]
        while self._left or any(worker.share for worker in self._workers):
            for worker in self._workers:
                if worker.free and self._left:
                    self._give(worker)
            worker, step, outcome = self._next()
            if outcome is None:
                continue
            if step == "place":
                worker.placed = True
            elif step == "open":
                _require_no_error(outcome[0])
                worker.opened = worker.free = True
            else:
                yield from self._receive(worker, outcome)

    def _start(self, place: Place) -> _Worker[Item]:
        """Start a worker, at its place if that still exists."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = self._actor.options(
            num_cpus=place.cpus,
            num_gpus=place.gpus,
            scheduling_strategy=NodeAffinitySchedulingStrategy(place.node, soft=True),
        ).remote(str(PACKAGE.resolve().parent), str(cache.root().resolve()))
        worker: _Worker[Item] = _Worker(place, actor)
        self._calls[actor.place.remote()] = (worker, "place")
        self._calls[actor.open.remote(self._make)] = (worker, "open")
        return worker

    def _give(self, worker: _Worker[Item]) -> None:
        size = max(self._least, math.ceil(len(self._left) / (SHARES * len(self._workers))))
        worker.share = dict(self._left.popleft() for _ in range(min(size, len(self._left))))
        worker.free = False
        self._calls[worker.actor.work.remote(pickle.dumps(worker.share))] = (worker, "work")

    def _next(self) -> tuple[_Worker[Item], Step, tuple[Any, ...] | None]:
        """Wait for any worker; return a call's outcome as a tuple, None if its worker was lost and is replaced."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        placed = any(worker.placed for worker in self._workers)
        done, _ = ray.wait(list(self._calls), num_returns=1, timeout=None if placed else PATIENCE)
        if not done:
            needed = self._workers[0].place
            raise EquipoiseError(
                f"no node of the Ray cluster {self._named} took a worker within {PATIENCE:.0f} s (it needs "
                f"{needed.cpus} cores and {needed.gpus} GPUs): wait until they are free; finished results are kept"
            )
        worker, step = self._calls.pop(done[0])
        try:
            outcome = ray.get(done[0])
        except RayTaskError:  # a fault of the program, raised as in this process
            raise
        except RayError as error:
            self._replace(worker, error)
            return worker, step, None
        return worker, step, outcome if step == "work" else (outcome,)

    def _receive(self, worker: _Worker[Item], outcome: tuple[Any, ...]) -> Iterator[dict[str, Result]]:
        """Receive a worker's finished results, and ask it to continue. See `Worker.work`."""
        sent, done, error = outcome
        finished: dict[str, Result] = pickle.loads(sent)  # noqa: S301  (sent by our own worker)
        if finished:
            self._lost_in_a_row = 0
            for key in finished:
                del worker.share[key]
            yield finished
        _require_no_error(error)
        worker.free = done
        if not done:
            self._calls[worker.actor.work.remote(None)] = (worker, "work")
        elif worker.share:
            what = f"{self._noun} {min(worker.share)!r}"
            raise EquipoiseError(f"{what} was asked and not answered: run again; finished results are kept")

    def _replace(self, worker: _Worker[Item], error: Exception) -> None:
        """Put back the unfinished items of a lost worker, and start another in its place."""
        import ray

        reason = str(error).strip().partition("\n")[0]
        self._lost_in_a_row += 1
        # All workers may be lost at once, with their nodes, and so may their successors.
        if self._lost_in_a_row > 2 * len(self._workers):
            raise EquipoiseError(
                f"{self._lost_in_a_row} workers on the Ray cluster {self._named} ended in a row before a {self._noun} "
                f"was done ({reason}): {self._fix}; finished results are kept"
            )
        note = "a worker on node %s was lost (%s): its %d %ss go to others"
        logging.getLogger(__name__).warning(note, worker.place.node[:8], reason, len(worker.share), self._noun)
        ray.kill(worker.actor)
        self._calls = {call: held for call, held in self._calls.items() if held[0] is not worker}
        self._left.extendleft(reversed(worker.share.items()))
        self._workers[self._workers.index(worker)] = self._start(worker.place)

    def dismiss(self) -> None:
        """Let the workers close their processes, then end them."""
        import ray

        if leaving := [worker.actor.close.remote() for worker in self._workers if worker.free]:
            ray.wait(leaving, num_returns=len(leaving), timeout=FAREWELL)
        for worker in self._workers:
            ray.kill(worker.actor)


def _require_no_error(line: str | None) -> None:
    if line is not None:
        raise EquipoiseError(line)
