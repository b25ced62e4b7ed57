"""Prompts answered on a Ray cluster: a backend as what a worker holds, and the cluster as one backend."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Self

from equipoise.backends.ray.replicas import RayProcessor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType

    from equipoise.backends.base import Backend
    from equipoise.backends.ray.cluster import Cluster
    from equipoise.core.records import Prompt, Response

MEND = "lower infer.batch_size if memory runs out"


class Answering:
    """A backend, opened where the prompts are worked on."""

    def __init__(self, make: Callable[[], Backend]) -> None:
        """Hold what makes the backend."""
        self._make = make

    def __enter__(self) -> Self:
        """Open the backend."""
        self._backend = self._make().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the backend go."""
        self._backend.__exit__(kind, error, trace)

    def process(self, items: Mapping[str, Prompt]) -> Iterator[dict[str, Response]]:
        """Answer prompts. See `Processor.process`."""
        for response in self._backend.answer(items.values()):
            yield {response.key: response}


class RayBackend:
    """As many copies of a backend as a Ray cluster has room for when the prompts come."""

    def __init__(self, make: Callable[[], Backend], cluster: Cluster, *, gpus: int, least: int) -> None:
        """Hold what makes a copy, and how many GPUs it takes; a share has `least` prompts, if there are so many."""
        self._copies: RayProcessor[Prompt, Response] = RayProcessor(
            partial(Answering, make), cluster, gpus=gpus, least=least, noun="prompt", mend=MEND
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
