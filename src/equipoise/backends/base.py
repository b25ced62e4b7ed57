"""Interfaces: a backend answers prompts; a process turns items into results, which may be kept in a cache."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from time import sleep
from types import TracebackType
from typing import Annotated, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

from pydantic import BaseModel, Field

from equipoise.core.cache import ContentCache, batched
from equipoise.core.params import Count
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import Frozen
from equipoise.text.thinking import Marks, with_common_marks

POLL = 0.5
"""Seconds between checks of another process's results."""
NO_RAY = "infer.executor is ray, which is not installed: run `pip install 'equipoise[ray]'`, or set it to local"
TOGETHER = 2**16
"""Items that are leased and processed at once, and therefore held in memory."""
Item = TypeVar("Item")
Result = TypeVar("Result")
M = TypeVar("M", bound=BaseModel)

Process = Callable[[Mapping[str, Item]], Iterator[Mapping[str, Result]]]
"""Yields the result of every item under the item's key, in any order, in batches as they finish.

A result depends only on its item, not on other items, their order or how many are processed at once.
"""
Opening = Callable[[], AbstractContextManager[Process[Item, Result]]]
"""Opens the process of a cluster's worker: a model that answers prompts, or a judge of pairs."""


class Cluster(NamedTuple):
    """Ray's address: HOST:PORT of a cluster's head, ray://HOST:PORT of its client server, or None to start it here."""

    address: str | None = None


class Infer(Frozen):
    """The section `infer` of params.yaml: how the model is run; nothing here changes a result."""

    batch_size: Count
    executor: Literal["local", "ray"]
    address: Annotated[str, Field(pattern=r"^(ray://)?[^\s/:]+:[0-9]{1,5}$")] | None

    @property
    def cluster(self) -> Cluster | None:
        """The Ray cluster that answers the prompts; None if this process answers them."""
        return Cluster(self.address) if self.executor == "ray" else None


class Backend(Protocol):
    """A model that is ready to answer."""

    def __enter__(self) -> Self:
        """Return the open backend."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the backend; by default there is nothing to close."""
        return

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, in any order, each as soon as it is done.

        A response depends only on its prompt, not on other prompts, their order or how many are processed at once.
        """
        ...


class CommonMarks(Backend):
    """A backend whose replies get the common marks of thinking in the place of the model's own."""

    def __init__(self, backend: Backend, marks: Marks) -> None:
        """Take the backend, and the marks of its registry entry."""
        self._backend, self._marks = backend, marks

    def __enter__(self) -> Self:
        """Open the backend."""
        self._backend.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Close the backend."""
        self._backend.__exit__(*error)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt. See `Backend.answer`."""
        for response in self._backend.answer(prompts):
            replies = tuple(with_common_marks(reply, self._marks) for reply in response.replies)
            yield response.model_copy(update={"replies": replies})


@contextmanager
def answering(make: Callable[[], AbstractContextManager[Backend]]) -> Iterator[Process[Prompt, Response]]:
    """Open a backend as a process that answers prompts under any keys."""
    with make() as backend:

        def process(items: Mapping[str, Prompt]) -> Iterator[Mapping[str, Response]]:
            keys = {prompt.key: key for key, prompt in items.items()}
            for response in backend.answer(items.values()):
                yield {keys[response.key]: response}

        yield process


class Keeping(Generic[Item, M]):
    """A process whose results are kept in a cache, opened only if there is something to compute.

    `computed` counts the computed results.
    """

    computed = 0

    def __init__(self, results: ContentCache[M], make: Opening[Item, M]) -> None:
        """Take the cache, and the function that opens the process."""
        self._cache, self._make = results, make
        self._process: Process[Item, M] | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Return this object; the process is not opened yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the process, if it was opened."""
        self._opened.__exit__(kind, error, trace)
        self._process = None

    def process(self, items: Iterable[tuple[str, Item]]) -> Iterator[Mapping[str, M]]:
        """Process items that are not in the cache, under their keys; each result is saved to disk before it is yielded.

        Items that another process works on are not computed again: their results are awaited, unless it gives up.
        """
        for batch in batched(items, TOGETHER):
            yield from self._process_leased(dict(batch))

    def _process_leased(self, waiting: Mapping[str, Item]) -> Iterator[Mapping[str, M]]:
        try:
            while waiting:
                free = self._cache.leases.claim(waiting)
                if finished := self._cache.find_all(waiting):
                    yield finished
                mine = {key: item for key, item in waiting.items() if key in free and key not in finished}
                waiting = {key: item for key, item in waiting.items() if key not in free and key not in finished}
                if mine:
                    yield from self._process_items(mine)
                elif waiting:
                    sleep(POLL)
        finally:
            self._cache.leases.release()

    def _process_items(self, items: Mapping[str, Item]) -> Iterator[Mapping[str, M]]:
        self._process = self._process or self._opened.enter_context(self._make())
        for results in self._process(items):
            self._cache.keep(results)
            self.computed += len(results)
            yield results
