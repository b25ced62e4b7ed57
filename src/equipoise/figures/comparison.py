"""What a study declares so that two of its runs can be compared: its rows, items and answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

from pydantic import BaseModel

from equipoise.core.row import Row
from equipoise.figures.digits import near

R = TypeVar("R", bound=Row)
M = TypeVar("M", bound=BaseModel)
Bias: TypeAlias = Literal["to biased", "to silent", "other", "to considered", "from biased"]
"""What another answer means for bias, the worst first: the answer became a biased one or is one no more, or the
reasoning of a biased answer fell silent or is silent no more."""
UNPARSED = "unparsed"
"""The kind of an answer that could not be read."""


class Files(Protocol):
    """The files of one study in one run; a file that the run does not have has no rows."""

    def rows(self, name: str, kind: type[R]) -> list[R]:
        """Read the rows of `data/<study>/<name>.jsonl`."""
        ...

    def built(self, name: str, kind: type[R]) -> list[R]:
        """Read rows that `build` wrote, of the units that were asked."""
        ...

    def shared(self, name: str, kind: type[M]) -> M | None:
        """Read a YAML file of `data/`, which several studies may share; None where the run does not have it."""
        ...


@dataclass(frozen=True, kw_only=True)
class RunRows(ABC, Generic[R]):
    """One run's rows of a study, and how they are compared with those of another run.

    A study derives its own class in `comparison.py`, with a field for each kind of rows that it needs beside the
    `answers`: what was read of the model's replies.
    """

    texts_name: ClassVar[str] = "texts"
    """What readers know the study's `texts` as."""
    answers: Sequence[R] = ()

    @classmethod
    @abstractmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""

    @property
    @abstractmethod
    def items(self) -> Mapping[str, Any]:
        """What is matched between runs, by key: a pair, a question or a sentence, as the figures' functions take it."""

    @property
    def clusters(self) -> Mapping[str, str]:
        """The cluster of each item by its key; empty where each item is its own."""
        return {}

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each answer by its key; a change of kind is a flip."""
        return {}

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts that the model was asked about, by key: a change may be the text's and not the model's."""
        return {}

    def bias(self, key: str, before: str, after: str) -> Bias:  # noqa: ARG002  (for those that derive from it)
        """Say what it means that the answer of a key was of one kind in an earlier run, and is of another here."""
        return "other"

    def same(self, answer: R, other: R, head: Self) -> bool:  # noqa: ARG002  (for those that derive from it)
        """Whether the answer of a later run differs from this run's in last digits alone."""
        return near(answer, other)

    def unlike(self, head: Self) -> str:  # noqa: ARG002  (for those that derive from it)
        """Say why the values of two runs are not on one scale; empty where they are."""
        return ""
