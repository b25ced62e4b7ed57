"""How two runs of the study are compared: by pairs, each with all decisions about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from equipoise.figures.comparison import UNPARSED, Bias, Files, RunRows
from equipoise.figures.digits import near, tied
from equipoise.studies.decisions.asked import Asked, Reading
from equipoise.studies.decisions.effects import Decided, by_pair, decided


@dataclass(frozen=True, kw_only=True)
class DecisionRows(RunRows[Reading]):
    """The decisions that a run asked for, and the levels that were read.

    The kind of an answer is the level that is chosen.
    """

    asked: Sequence[Asked] = ()

    @classmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""
        return cls(asked=files.built("decisions", Asked), answers=files.rows("judgements", Reading))

    @cached_property
    def decided(self) -> list[Decided]:
        """The decisions about pairs; none where the model made none, or where its patients are a panel."""
        return decided([row for row in self.asked if row.dimensions], self.answers) if self.answers else []

    @cached_property
    def items(self) -> Mapping[str, list[Decided]]:
        """The decisions of the headline figures about each pair."""
        return by_pair(row for row in self.decided if row.main)

    @property
    def clusters(self) -> Mapping[str, str]:
        """The clinical story that each pair tells."""
        return {row.pair: row.asked.story for row in self.decided}

    @property
    def kinds(self) -> Mapping[str, str]:
        """The level chosen for each arm."""
        return {arm.key: arm.chosen or UNPARSED for row in self.decided for arm in row.arms}

    def bias(self, key: str, before: str, after: str) -> Bias:
        """A decision about the marginalised patient is the more biased the further it is towards the stereotype."""
        levels = self._towards.get(key, ())
        if before not in levels or after not in levels:
            return "other"
        return "to biased" if levels.index(after) > levels.index(before) else "from biased"

    @cached_property
    def _towards(self) -> dict[str, tuple[str, ...]]:
        """The levels towards the stereotype, by the key of the marginalised patient's decision."""
        return {row.arms[0].key: row.asked.towards for row in self.decided}

    def same(self, answer: Reading, other: Reading, head: Self) -> bool:  # noqa: ARG002  (the reading has its digits)
        """Whether readings are equal up to last digits, which may decide the level where two tie."""
        return near(answer, other, frozenset({"chosen"})) and (
            answer.chosen == other.chosen
            or tied(answer.chosen, other.chosen, answer.probabilities, other.probabilities)
        )
