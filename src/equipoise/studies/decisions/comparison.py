"""Comparison of two runs of the study, by pairs, each with all decisions about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from equipoise.core.keys import grouped
from equipoise.figures.comparison import UNPARSED, Bias, Files, RunRows
from equipoise.figures.digits import near, tied
from equipoise.materials.vignette import Vignette
from equipoise.studies.decisions.effects import GROUPED, PairReading, groups_of, pair_readings
from equipoise.studies.decisions.rows import CaseDecision, Reading


@dataclass(frozen=True, kw_only=True)
class DecisionRows(RunRows[Reading]):
    """The decisions that a run asked for, and the levels that were read: a level is the kind of an answer."""

    decisions: Sequence[CaseDecision] = ()
    vignettes: Sequence[Vignette] = ()

    @classmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""
        return cls(
            decisions=files.built("decisions", CaseDecision),
            vignettes=[row for name in ("vignettes", "tellings") for row in files.built(name, Vignette)],
            answers=files.rows("judgements", Reading),
        )

    @cached_property
    def readings(self) -> list[PairReading]:
        """The decisions about pairs; empty if the model made none, or if the patients are a panel."""
        decisions = [decision for decision in self.decisions if decision.dimensions]
        return pair_readings(decisions, self.answers) if self.answers else []

    @cached_property
    def items(self) -> Mapping[str, list[PairReading]]:
        """The decisions of the headline figures about each pair."""
        return grouped((reading.pair, reading) for reading in self.readings if reading.main)

    @property
    def texts(self) -> Mapping[str, str]:
        """The cases, and what is asked in each decision: question, levels, right answers, and direction of the bias."""
        return {row.key: row.text for row in self.vignettes} | {
            row.key: "\n".join((row.question, row.prefix, *row.levels, row.answer or "", *row.also, row.direction))
            for row in self.decisions
        }

    def parts(self, family: str) -> Mapping[str, Mapping[str, list[PairReading]]]:
        """The decisions about each pair, by the groups of a family on which a verdict rests."""
        main = [reading for reading in self.readings if reading.main] if family in GROUPED else []
        groups = groups_of(main, family)
        return {name: grouped((reading.pair, reading) for reading in readings) for name, readings in groups.items()}

    @property
    def clusters(self) -> Mapping[str, str]:
        """The clinical story that each pair tells."""
        return {reading.pair: reading.decision.story for reading in self.readings}

    @property
    def kinds(self) -> Mapping[str, str]:
        """The level chosen for each arm."""
        return {arm.key: arm.chosen or UNPARSED for reading in self.readings for arm in reading.arms}

    def bias(self, key: str, before: str, after: str) -> Bias:
        """A decision about the marginalised patient is the more biased the further it is towards the stereotype."""
        levels = self._towards.get(key, ())
        if before not in levels or after not in levels:
            return "other"
        return "to biased" if levels.index(after) > levels.index(before) else "from biased"

    @cached_property
    def _towards(self) -> dict[str, tuple[str, ...]]:
        return {reading.arms[0].key: reading.decision.towards for reading in self.readings}

    def same(self, answer: Reading, other: Reading, head: Self) -> bool:  # noqa: ARG002  (the reading has its digits)
        """Whether readings are equal up to last digits, which may decide the level in a tie."""
        return near(answer, other, frozenset({"chosen"})) and (
            answer.chosen == other.chosen
            or tied(answer.chosen, other.chosen, answer.probabilities, other.probabilities)
        )
