"""Copies of a backend on the nodes of a Ray cluster, which share out the prompts.

Plain actors rather than Ray Data: what Ray Data hands on is a block of rows, so that a worker that dies takes a whole
block of finished answers with it. An actor is asked again and again for what it has finished, and so every answer is in
the cache a fraction of a second after it is given. What a lost worker had not answered goes to the others, and a new
worker takes its place.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import equipoise
from equipoise import cache
from equipoise.errors import EquipoiseError
from equipoise.executors import worker as workers
from equipoise.executors.cluster import Place, connected, places
from equipoise.records import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from equipoise.backends.base import Backend
    from equipoise.executors.cluster import Cluster
    from equipoise.records import Prompt

PATIENCE = 120.0
"""Seconds to wait for a first node to make room for a worker."""
FAREWELL = 10.0
"""Seconds that workers have to let their backends go."""
SHARES = 2
"""A share is this part of what is left for each worker: large at first, small at the end, so that all end alike."""

Step = Literal["place", "open", "work"]


@dataclass(eq=False)
class _Worker:
    """One actor: its place, whether a node has taken it, and what it has yet to answer.

    It is free when its backend is open and has come to the end of a share.
    """

    place: Place
    actor: Any
    placed: bool = False
    opened: bool = False
    free: bool = False
    share: dict[str, Prompt] = field(default_factory=dict)


class _Sent(NamedTuple):
    """What a worker tells. See `Worker.work`."""

    finished: list[workers.Row]
    done: bool
    error: str | None


class RayBackend:
    """As many copies of a backend as a Ray cluster has room for when the prompts come."""

    def __init__(self, make: Callable[[], Backend], cluster: Cluster, *, gpus: int, least: int) -> None:
        """Hold what makes a copy, and how many GPUs it takes; a share has `least` prompts, if there are so many."""
        self._make, self._cluster, self._gpus, self._least = make, cluster, gpus, least
        self._connection = ExitStack()

    def __enter__(self) -> Self:
        """Reach the cluster. See `connected`."""
        self._connection.enter_context(connected(self._cluster))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the cluster, and with it end every worker."""
        self._connection.close()

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt. See `Backend.answer`.

        Raises:
            EquipoiseError: A backend raised one, no node has room for a worker, or worker after worker is lost.
        """
        import ray

        asked = list(prompts)
        room = places(ray.nodes(), self._gpus)
        if not room:
            what = f"{self._gpus} GPUs for a worker" if self._gpus else "a core for a worker"
            message = (
                f"the Ray cluster {self._named()} has no node with {what}: add one, or set infer.executor to local"
            )
            raise EquipoiseError(message)
        yield from _Crew(self._make, room, asked, least=self._least, named=self._named()).answers()

    def _named(self) -> str:
        return self._cluster.address or "on this machine"


class _Crew:
    """The workers that answer one list of prompts, and what they are waited for."""

    def __init__(
        self, make: Callable[[], Backend], room: list[Place], asked: list[Prompt], *, least: int, named: str
    ) -> None:
        """Start as many workers as there is room for, and prompts to share."""
        import ray
        from ray import cloudpickle

        cloudpickle.register_pickle_by_value(workers)
        self._make = cloudpickle.dumps(make)
        self._left = deque(asked)
        self._least, self._named = least, named
        self._actor: Any = ray.remote(workers.Worker)
        self._calls: dict[Any, tuple[_Worker, Step]] = {}
        self._lost_in_a_row = 0
        self._workers = [self._start(place) for place in room[: max(1, math.ceil(len(asked) / least))]]

    def answers(self) -> Iterator[Response]:
        """Give each response as it comes."""
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
                yield from self._received(worker, _Sent(*outcome))
        self._dismiss()

    def _start(self, place: Place) -> _Worker:
        """Start a worker, on its place if that is still there."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = self._actor.options(
            num_cpus=place.cpus,
            num_gpus=place.gpus,
            scheduling_strategy=NodeAffinitySchedulingStrategy(place.node, soft=True),
        ).remote(str(Path(equipoise.__file__).resolve().parents[1]), str(cache.root().resolve()))
        worker = _Worker(place, actor)
        self._calls[actor.place.remote()] = (worker, "place")
        self._calls[actor.open.remote(self._make)] = (worker, "open")
        return worker

    def _give(self, worker: _Worker) -> None:
        size = max(self._least, math.ceil(len(self._left) / (SHARES * len(self._workers))))
        share = [self._left.popleft() for _ in range(min(size, len(self._left)))]
        worker.share, worker.free = {prompt.key: prompt for prompt in share}, False
        self._calls[worker.actor.work.remote([prompt.model_dump() for prompt in share])] = (worker, "work")

    def _next(self) -> tuple[_Worker, Step, tuple[Any, ...] | None]:
        """Wait for any worker; the outcome of a call as a tuple, None where its worker was lost and is replaced."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        placed = any(worker.placed for worker in self._workers)
        done, _ = ray.wait(list(self._calls), num_returns=1, timeout=None if placed else PATIENCE)
        if not done:
            needed = self._workers[0].place
            message = (
                f"no node of the Ray cluster {self._named} took a worker within {PATIENCE:.0f} s (it needs "
                f"{needed.cpus} cores and {needed.gpus} GPUs): wait until they are free; finished answers are kept"
            )
            raise EquipoiseError(message)
        worker, step = self._calls.pop(done[0])
        try:
            outcome = ray.get(done[0])
        except RayTaskError:  # a fault of the program, as it would be in this process
            raise
        except RayError as error:
            self._replace(worker, error)
            return worker, step, None
        return worker, step, outcome if step == "work" else (outcome,)

    def _received(self, worker: _Worker, sent: _Sent) -> Iterator[Response]:
        """Take what a worker has finished, and ask it to go on."""
        for row in sent.finished:
            self._lost_in_a_row = 0
            del worker.share[row["key"]]
            yield Response.model_validate(row)
        _require_no_error(sent.error)
        worker.free = sent.done
        if not sent.done:
            self._calls[worker.actor.work.remote(None)] = (worker, "work")
        elif worker.share:
            message = f"prompt {min(worker.share)!r} was asked and not answered: run again; finished answers are kept"
            raise EquipoiseError(message)

    def _replace(self, worker: _Worker, error: Exception) -> None:
        """Put back what a lost worker had not answered, and start another in its place."""
        import ray

        said = str(error).strip().partition("\n")[0]
        self._lost_in_a_row += 1
        # All of a crew may be lost at once, with their nodes, and their successors with the next ones.
        if self._lost_in_a_row > 2 * len(self._workers):
            message = (
                f"{self._lost_in_a_row} workers on the Ray cluster {self._named} ended in a row before they had "
                f"answered a prompt ({said}): lower infer.batch_size if memory runs out; finished answers are kept"
            )
            raise EquipoiseError(message)
        note = "a worker on node %s was lost (%s): its %d prompts go to others"
        logging.getLogger(__name__).warning(note, worker.place.node[:8], said, len(worker.share))
        ray.kill(worker.actor)
        self._calls = {call: held for call, held in self._calls.items() if held[0] is not worker}
        self._left.extendleft(reversed(worker.share.values()))
        self._workers[self._workers.index(worker)] = self._start(worker.place)

    def _dismiss(self) -> None:
        """Let the workers close their backends, then end them."""
        import ray

        leaving = [worker.actor.close.remote() for worker in self._workers if worker.opened]
        ray.wait(leaving, num_returns=len(leaving), timeout=FAREWELL)
        for worker in self._workers:
            ray.kill(worker.actor)


def _require_no_error(line: str | None) -> None:
    if line is not None:
        raise EquipoiseError(line)
