"""Comparison of two runs of the study, by the pairs among the cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from equipoise.figures.comparison import Files
from equipoise.materials.pair_rows import PairRows
from equipoise.materials.pairs import Pair
from equipoise.studies.cases.effects import case_pairs
from equipoise.studies.cases.rows import Case, CaseJudgement, spelling


@dataclass(frozen=True, kw_only=True)
class CaseRows(PairRows[CaseJudgement]):
    """Other people's cases, and the judged outputs to them."""

    texts_name = "cases"
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

    @property
    def texts(self) -> Mapping[str, str]:
        """The cases, with what decides how a reply is read, by the place in their pair: logs name samples as they like.

        A log in which an arm of a pair is another patient, or another answer is right, is about other cases.
        """
        return {f"{case.pair}/{case.role}" if case.pair else case.key: _told(case) for case in self.cases}


def _told(case: Case) -> str:
    """Write all of a case that the figures of its pair depend on; neither spaces nor spelling make another case."""
    decides = (case.feature, *sorted(case.features), case.label, *sorted(case.synonyms), case.expected or "")
    others = (*sorted(case.expected_synonyms), *case.options.values(), case.story or "")
    return "\n".join((" ".join(case.prompt.split()), *map(spelling, (*decides, *others))))
