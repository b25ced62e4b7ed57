"""The one protocol that every backend follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from equipoise.core.records import Prompt, Response


class Backend(Protocol):
    """A model that is ready to answer."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, each as soon as it is done, in any order.

        A response depends on its prompt alone: not on the other prompts, their order or how many are worked on at once.
        """
        ...

    def __enter__(self) -> Self:
        """Take the model for use."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the model go."""
        ...
