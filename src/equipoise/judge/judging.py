"""A judge as what a worker holds: pairs in, probabilities out, some at a time; here, and on each node of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from equipoise.judge.model import LocatedJudge

    Pair = tuple[str, str]

Triple = tuple[float, float, float]
"""Probabilities of entailment, neutral and contradiction, in full."""


class Judging:
    """A judge, opened where the pairs are worked on, if it is there the judge that was asked for."""

    def __init__(self, located: LocatedJudge, identity: str, together: int) -> None:
        """Take where the judge is, its identity, and how many pairs are judged before their results are handed on."""
        self._located, self._identity, self._together = located, identity, together

    def __enter__(self) -> Self:
        """Open the judge.

        Raises:
            EquipoiseError: a file is missing, or the files or ONNX Runtime are others than where the work was begun.
        """
        if self._located.identity != self._identity:
            message = (
                f"{self._located.folder}: not the judge that was asked for: have the same files and the same version "
                "of onnxruntime on every node as where the stage runs"
            )
            raise EquipoiseError(message)
        self._judge = self._located.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the judge go."""
        del self._judge

    def process(self, items: Mapping[str, Pair]) -> Iterator[dict[str, Triple]]:
        """Judge (premise, hypothesis) pairs, `together` at a time, in their order. See `Processor.process`."""
        keys = list(items)
        for first in range(0, len(keys), self._together):
            batch = keys[first : first + self._together]
            rows = self._judge.probabilities([items[key] for key in batch]).tolist()
            yield {key: (row[0], row[1], row[2]) for key, row in zip(batch, rows, strict=True)}
