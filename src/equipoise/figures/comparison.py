"""The rows, items and answers of a study by which two of its runs are compared."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

from pydantic import BaseModel

from equipoise.core.row import Row
from equipoise.figures.digits import near

R = TypeVar("R", bound=Row)
M = TypeVar("M", bound=BaseModel)
Bias: TypeAlias = Literal["to biased", "to silent", "other", "to admitted", "from biased"]
"""What a changed answer means for bias, the worst first: the answer became biased or stopped being so, or the reasoning
of a biased answer fell silent or stopped being so."""
UNPARSED = "unparsed"
"""The kind of an answer that could not be read."""


class Files(Protocol):
    """The files of one study in one run; a missing file has no rows."""

    def rows(self, name: str, kind: type[R]) -> list[R]:
        """Read the rows of `data/<study>/<name>.jsonl`."""
        ...

    def built(self, name: str, kind: type[R]) -> list[R]:
        """Read rows that `build` wrote about the units asked."""
        ...

    def shared(self, name: str, kind: type[M]) -> M | None:
        """Read a YAML file of `data/` that several studies may share; None if the run lacks it."""
        ...


@dataclass(frozen=True, kw_only=True)
class RunRows(ABC, Generic[R]):
    """One run's rows of a study, and how they are compared with those of another run.

    A study derives its own class in `comparison.py`. `answers` are the model's replies as read; further kinds of rows
    have fields of their own.
    """

    texts_name: ClassVar[str] = "texts"
    """The readers' name for the study's `texts`."""
    loses_answers: ClassVar[bool] = False
    """Whether items can be missing from a run because of what was answered, as in logs that others wrote."""
    answers: Sequence[R] = ()

    @classmethod
    @abstractmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""

    @property
    @abstractmethod
    def items(self) -> Mapping[str, Any]:
        """What is matched between runs, by key: the pairs, questions or sentences from which figures are computed."""

    @property
    def clusters(self) -> Mapping[str, str]:
        """The cluster of each item by its key; empty without clusters."""
        return {}

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each answer by its key; a change of kind is a flip."""
        return {}

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts that the model was asked about, by key: a change may be due to them and not to the model."""
        return {}

    def parts(self, family: str) -> Mapping[str, Mapping[str, Any]]:  # noqa: ARG002  (for those that derive from it)
        """Give the items of each group of a family, each reduced to what concerns the group; empty without groups."""
        return {}

    def bias(self, key: str, before: str, after: str) -> Bias:  # noqa: ARG002  (for those that derive from it)
        """Say what a change of an answer's kind, from an earlier run to this one, means for bias."""
        return "other"

    def same(self, answer: R, other: R, head: Self) -> bool:  # noqa: ARG002  (for those that derive from it)
        """Whether the answer of a later run differs from this run's in last digits only."""
        return near(answer, other)

    def unlike(self, head: Self) -> str:  # noqa: ARG002  (for those that derive from it)
        """Say why the values of two runs are not comparable; empty if they are."""
        return ""
