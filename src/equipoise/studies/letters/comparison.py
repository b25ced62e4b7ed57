"""A run's rows of the study: letters in pairs, matched between two runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from equipoise.figures.comparison import Files, RunRows
from equipoise.studies.letters.effects import Pair, pairs_of
from equipoise.studies.letters.rows import Case, Reading


@dataclass(frozen=True, kw_only=True)
class LetterRows(RunRows[Reading]):
    """The letters of a run, and the cases that they are about."""

    cases: tuple[Case, ...] = ()

    @classmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run."""
        return cls(cases=tuple(files.built("patients", Case)), answers=files.rows("judgements", Reading))

    @cached_property
    def items(self) -> Mapping[str, Pair]:
        """The pairs of the headline figures by name."""
        return pairs_of(self.answers)

    @property
    def clusters(self) -> Mapping[str, str]:
        """The story that each pair tells."""
        return {name: pair.story for name, pair in self.items.items()}

    @property
    def texts(self) -> Mapping[str, str]:
        """The cases by key, with the facts that are looked for."""
        return {case.key: "\n".join((case.text, *(": ".join(fact) for fact in case.facts))) for case in self.cases}
