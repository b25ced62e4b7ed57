"""The one protocol of all that a worker can hold: a model that answers prompts, a judge of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

Item_contra = TypeVar("Item_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Processor(Protocol[Item_contra, Result_co]):
    """What is opened once, and then turns items into results."""

    def process(self, items: Mapping[str, Item_contra]) -> Iterator[Mapping[str, Result_co]]:
        """Give the result of every item under the item's key, in any order, some at a time, as they are done.

        A result depends on its item alone: not on the other items, their order or how many are worked on at once.
        """
        ...

    def __enter__(self) -> Self:
        """Take for use what the work needs."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let it go."""
        ...
