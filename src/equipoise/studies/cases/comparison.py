"""Comparison of two runs of the study, by the pairs among the cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from equipoise.figures.comparison import Files
from equipoise.materials.pair_rows import PairRows
from equipoise.materials.pairs import Pair
from equipoise.studies.cases.effects import case_pairs
from equipoise.studies.cases.rows import Case, CaseJudgement


@dataclass(frozen=True, kw_only=True)
class CaseRows(PairRows[CaseJudgement]):
    """Other people's cases, and the judged outputs to them."""

    loses_answers = True
    cases: Sequence[Case] = ()

    @classmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""
        return cls(cases=files.built("cases", Case), answers=files.rows("judgements", CaseJudgement))

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs that have both outputs."""
        return case_pairs(self.cases, self.answers)
