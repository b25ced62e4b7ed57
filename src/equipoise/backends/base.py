"""What is opened, used and closed: a backend answers prompts, a process turns items into results, perhaps kept ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from time import sleep
from types import TracebackType
from typing import Annotated, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

from pydantic import BaseModel, Field

from equipoise.core.cache import ContentCache
from equipoise.core.params import Count
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import Frozen

POLL = 0.5
"""Seconds between two looks at what another process is working on."""
NO_RAY = "infer.executor is ray, which is not installed: run `pip install 'equipoise[ray]'`, or set it to local"
Item = TypeVar("Item")
Result = TypeVar("Result")
M = TypeVar("M", bound=BaseModel)

Process = Callable[[Mapping[str, Item]], Iterator[Mapping[str, Result]]]
"""Gives the result of every item under the item's key, in any order, some at a time, as they are done.

A result depends on its item alone: not on the other items, their order or how many are processed at once.
"""
Opening = Callable[[], AbstractContextManager[Process[Item, Result]]]
"""Opens what a worker of a cluster holds: a model that answers prompts, or a judge of pairs."""


class Cluster(NamedTuple):
    """Where Ray is: HOST:PORT of a cluster's head, ray://HOST:PORT of its client server, or None: started here."""

    address: str | None = None


class Infer(Frozen):
    """The section `infer` of params.yaml: how the model is run; nothing here changes a result."""

    batch_size: Count
    executor: Literal["local", "ray"]
    address: Annotated[str, Field(pattern=r"^(ray://)?[^\s/:]+:[0-9]{1,5}$")] | None

    @property
    def cluster(self) -> Cluster | None:
        """The Ray cluster that answers the prompts; None where this process does it."""
        return Cluster(self.address) if self.executor == "ray" else None


class Backend(Protocol):
    """A model that is ready to answer."""

    def __enter__(self) -> Self:
        """Give what was opened."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it; by default nothing is held open."""
        return

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, each as soon as it is done, in any order.

        A response depends on its prompt alone: not on the other prompts, their order or how many are processed at once.
        """
        ...


@contextmanager
def answering(make: Callable[[], AbstractContextManager[Backend]]) -> Iterator[Process[Prompt, Response]]:
    """Open a backend, to answer prompts under any keys."""
    with make() as backend:

        def process(items: Mapping[str, Prompt]) -> Iterator[Mapping[str, Response]]:
            keys = {prompt.key: key for key, prompt in items.items()}
            for response in backend.answer(items.values()):
                yield {keys[response.key]: response}

        yield process


class Keeping(Generic[Item, M]):
    """A process whose results are kept in a cache, opened only if there is something to do.

    `computed` counts the results that it gave.
    """

    computed = 0

    def __init__(self, kept: ContentCache[M], make: Opening[Item, M]) -> None:
        """Hold the cache, and what opens the process."""
        self._kept, self._make = kept, make
        self._process: Process[Item, M] | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Give the process, not yet opened."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, if it was opened."""
        self._opened.__exit__(kind, error, trace)
        self._process = None

    def process(self, items: Mapping[str, Item]) -> Iterator[Mapping[str, M]]:
        """Process items that the cache does not hold; each result is safe on disk before it is given.

        What another process is working on is not done again: its result is waited for, unless the other gives up.
        """
        waiting = dict(items)
        try:
            while waiting:
                free = self._kept.leases.claim(waiting)
                if found := {key: result for key in waiting if (result := self._kept.find(key)) is not None}:
                    yield found
                mine = {key: item for key, item in waiting.items() if key in free and key not in found}
                waiting = {key: item for key, item in waiting.items() if key not in free and key not in found}
                if mine:
                    yield from self._processed(mine)
                elif waiting:
                    sleep(POLL)
        finally:
            self._kept.leases.release()

    def _processed(self, items: Mapping[str, Item]) -> Iterator[Mapping[str, M]]:
        self._process = self._process or self._opened.enter_context(self._make())
        for results in self._process(items):
            self._kept.keep(results)
            self.computed += len(results)
            yield results
