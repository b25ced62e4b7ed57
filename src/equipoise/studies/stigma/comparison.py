"""The rows that `equipoise compare` reads of the study: sentences, clustered by condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from equipoise.figures.comparison import Files, RunRows
from equipoise.studies.stigma.rows import Fill


@dataclass(frozen=True, kw_only=True)
class FillRows(RunRows[Fill]):
    """The sentences of a run with the probabilities of their subjects' gender."""

    @classmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""
        return cls(answers=files.rows("judgements", Fill))

    @property
    def items(self) -> Mapping[str, Fill]:
        """The sentences."""
        return {fill.key: fill for fill in self.answers}

    def unlike(self, head: Self) -> str:
        """The probabilities of a masked and of a causal model are not on the same scale."""
        scorers = sorted({fill.scorer for fill in (*self.answers, *head.answers)})
        return f"scorers {' and '.join(scorers)} are not on one scale" if len(scorers) > 1 else ""
