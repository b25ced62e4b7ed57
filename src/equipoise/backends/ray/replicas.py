"""Copies of a processor on the nodes of a Ray cluster, which share the items: prompts, or the judge's pairs.

Plain actors rather than Ray Data: what Ray Data hands on is a block of rows, so that a worker that dies takes a whole
block of finished results with it. An actor is asked again and again for what it has finished, and so every result is in
the cache a fraction of a second after it is there. What a lost worker had not done goes to the others, and a new
worker takes its place.
"""

from __future__ import annotations

import logging
import math
import pickle
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar

import equipoise
from equipoise.backends.base import Backend, Processor
from equipoise.backends.ray import worker as workers
from equipoise.backends.ray.cluster import Cluster, Place, connected, places
from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Prompt, Response

PATIENCE = 120.0
"""Seconds to wait for a first node to make room for a worker."""
FAREWELL = 10.0
"""Seconds that workers have to close their processors."""
SHARES = 2
"""A share is this part of what is left for each worker: large at first, small at the end, so that all end alike."""
FIX = "lower infer.batch_size if memory runs out"

Step = Literal["place", "open", "work"]
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(eq=False)
class _Worker(Generic[Item]):
    """One actor: its place, whether a node has taken it, and what it has yet to do.

    It is free when its processor is open and has come to the end of a share.
    """

    place: Place
    actor: Any
    placed: bool = False
    opened: bool = False
    free: bool = False
    share: dict[str, Item] = field(default_factory=dict)


class _Sent(NamedTuple):
    """What a worker reports. See `Worker.work`."""

    finished: bytes
    done: bool
    error: str | None


class RayProcessor(Generic[Item, Result]):
    """As many copies of a processor as a Ray cluster has room for when items come."""

    def __init__(
        self,
        make: Callable[[], Processor[Item, Result]],
        cluster: Cluster,
        *,
        gpus: int,
        least: int,
        noun: str,
        fix: str,
    ) -> None:
        """Hold what makes a copy.

        Args:
            make: makes a copy; it is sent to every node.
            cluster: where Ray is.
            gpus: how many GPUs a copy takes.
            least: items in a share, if there are so many.
            noun: what an item is called in messages.
            fix: what to do where one worker after another is lost.
        """
        self._make, self._cluster, self._gpus, self._least = make, cluster, gpus, least
        self._noun, self._fix = noun, fix
        self._crew: _Crew[Item, Result] | None = None
        self._connection = ExitStack()

    def __enter__(self) -> Self:
        """Reach the cluster. See `connected`."""
        self._connection.enter_context(connected(self._cluster))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the copies, if all went well, and leave the cluster, with which every worker ends."""
        with self._connection:
            if self._crew and kind is None:
                self._crew.dismiss()
        self._crew = None

    def process(self, items: Mapping[str, Item]) -> Iterator[dict[str, Result]]:
        """Give the result of every item. See `Processor.process`. The copies stay open for the items of a next call.

        Raises:
            EquipoiseError: A copy raised one, no node has room for a worker, or one worker after another is lost.
        """
        import ray

        named = self._cluster.address or "on this machine"
        room = places(ray.nodes(), self._gpus)
        if not room:
            what = f"{self._gpus} GPUs for a worker" if self._gpus else "a core for a worker"
            message = f"the Ray cluster {named} has no node with {what}: add one, or set infer.executor to local"
            raise EquipoiseError(message)
        self._crew = self._crew or _Crew(self._make, least=self._least, named=named, noun=self._noun, fix=self._fix)
        yield from self._crew.results(items, room)


class _Crew(Generic[Item, Result]):
    """The workers that share items, and what they are waited for."""

    def __init__(
        self, make: Callable[[], Processor[Item, Result]], *, least: int, named: str, noun: str, fix: str
    ) -> None:
        """Take what a worker opens, and the words for messages; there is no worker yet."""
        import ray
        from ray import cloudpickle

        cloudpickle.register_pickle_by_value(workers)
        self._make = cloudpickle.dumps(make)
        self._left: deque[tuple[str, Item]] = deque()
        self._least, self._named, self._noun, self._fix = least, named, noun, fix
        self._actor: Any = ray.remote(workers.Worker)
        self._calls: dict[Any, tuple[_Worker[Item], Step]] = {}
        self._lost_in_a_row = 0
        self._workers: list[_Worker[Item]] = []

    def results(self, items: Mapping[str, Item], room: list[Place]) -> Iterator[dict[str, Result]]:
        """Give results as they come; at first as many workers are started as there is room for, and items to share."""
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
                yield from self._received(worker, _Sent(*outcome))

    def _start(self, place: Place) -> _Worker[Item]:
        """Start a worker, on its place if that is still there."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = self._actor.options(
            num_cpus=place.cpus,
            num_gpus=place.gpus,
            scheduling_strategy=NodeAffinitySchedulingStrategy(place.node, soft=True),
        ).remote(str(Path(equipoise.__file__).resolve().parents[1]), str(cache.root().resolve()))
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
        """Wait for any worker; the outcome of a call as a tuple, None where its worker was lost and is replaced."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        placed = any(worker.placed for worker in self._workers)
        done, _ = ray.wait(list(self._calls), num_returns=1, timeout=None if placed else PATIENCE)
        if not done:
            needed = self._workers[0].place
            message = (
                f"no node of the Ray cluster {self._named} took a worker within {PATIENCE:.0f} s (it needs "
                f"{needed.cpus} cores and {needed.gpus} GPUs): wait until they are free; what is finished is kept"
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

    def _received(self, worker: _Worker[Item], sent: _Sent) -> Iterator[dict[str, Result]]:
        """Take what a worker has finished, and ask it to go on."""
        finished: dict[str, Result] = pickle.loads(sent.finished)  # noqa: S301  (sent by our own worker)
        if finished:
            self._lost_in_a_row = 0
            for key in finished:
                del worker.share[key]
            yield finished
        _require_no_error(sent.error)
        worker.free = sent.done
        if not sent.done:
            self._calls[worker.actor.work.remote(None)] = (worker, "work")
        elif worker.share:
            what = f"{self._noun} {min(worker.share)!r}"
            message = f"{what} was asked and not answered: run again; what is finished is kept"
            raise EquipoiseError(message)

    def _replace(self, worker: _Worker[Item], error: Exception) -> None:
        """Put back what a lost worker had not done, and start another in its place."""
        import ray

        said = str(error).strip().partition("\n")[0]
        self._lost_in_a_row += 1
        # All of a crew may be lost at once, with their nodes, and their successors with the next ones.
        if self._lost_in_a_row > 2 * len(self._workers):
            message = (
                f"{self._lost_in_a_row} workers on the Ray cluster {self._named} ended in a row before a {self._noun} "
                f"was done ({said}): {self._fix}; what is finished is kept"
            )
            raise EquipoiseError(message)
        note = "a worker on node %s was lost (%s): its %d %ss go to others"
        logging.getLogger(__name__).warning(note, worker.place.node[:8], said, len(worker.share), self._noun)
        ray.kill(worker.actor)
        self._calls = {call: held for call, held in self._calls.items() if held[0] is not worker}
        self._left.extendleft(reversed(worker.share.items()))
        self._workers[self._workers.index(worker)] = self._start(worker.place)

    def dismiss(self) -> None:
        """Let the workers close their processors, then end them."""
        import ray

        if leaving := [worker.actor.close.remote() for worker in self._workers if worker.free]:
            ray.wait(leaving, num_returns=len(leaving), timeout=FAREWELL)
        for worker in self._workers:
            ray.kill(worker.actor)


def _require_no_error(line: str | None) -> None:
    if line is not None:
        raise EquipoiseError(line)


class Answering:
    """A backend, opened where the prompts are processed."""

    def __init__(self, make: Callable[[], Backend]) -> None:
        """Hold what makes the backend."""
        self._make = make
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Open the backend."""
        self._backend = self._opened.enter_context(self._make())
        return self

    def __exit__(self, *_: object) -> None:
        """Close the backend."""
        self._opened.close()

    def process(self, items: Mapping[str, Prompt]) -> Iterator[dict[str, Response]]:
        """Answer prompts. See `Processor.process`."""
        for response in self._backend.answer(items.values()):
            yield {response.key: response}


class RayBackend:
    """As many copies of a backend as a Ray cluster has room for when the prompts come."""

    def __init__(self, make: Callable[[], Backend], cluster: Cluster, *, gpus: int, least: int) -> None:
        """Hold what makes a copy, and how many GPUs it takes; a share has `least` prompts, if there are so many."""
        self._copies: RayProcessor[Prompt, Response] = RayProcessor(
            partial(Answering, make), cluster, gpus=gpus, least=least, noun="prompt", fix=FIX
        )

    def __enter__(self) -> Self:
        """Reach the cluster. See `connected`."""
        self._copies.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the cluster, and with it end every worker."""
        self._copies.__exit__(kind, error, trace)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt. See `Backend.answer` and, for the errors, `RayProcessor.process`."""
        for responses in self._copies.process({prompt.key: prompt for prompt in prompts}):
            yield from responses.values()
