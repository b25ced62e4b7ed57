"""Protocols of what is opened, used and closed: a backend answers prompts, a processor turns items into results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Protocol, Self, TypeVar

from equipoise.core.records import Prompt, Response

Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Opened(Protocol):
    """What a `with` block opens and closes."""

    def __enter__(self) -> Self:
        """Give what was opened."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it; by default nothing is held open."""
        return


class Backend(Opened, Protocol):
    """A model that is ready to answer."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, each as soon as it is done, in any order.

        A response depends on its prompt alone: not on the other prompts, their order or how many are processed at once.
        """
        ...


class Processor(Opened, Protocol[Item_contra, Result_co]):
    """What a worker of a cluster holds: a model that answers prompts, or a judge of pairs."""

    def process(self, items: Mapping[str, Item_contra]) -> Iterator[Mapping[str, Result_co]]:
        """Give the result of every item under the item's key, in any order, some at a time, as they are done.

        A result depends on its item alone: not on the other items, their order or how many are processed at once.
        """
        ...
