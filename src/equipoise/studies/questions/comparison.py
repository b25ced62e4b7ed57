"""The rows that `equipoise compare` reads of the study: questions, each with all its variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from equipoise.figures.comparison import UNPARSED, Bias, Files, RunRows
from equipoise.figures.digits import near, tied
from equipoise.materials.cities import FILE, Cities, City
from equipoise.materials.questions import Choice
from equipoise.studies.questions.effects import Answered, parts, tabulate
from equipoise.studies.questions.rows import Variant
from equipoise.studies.questions.variants.loop import ATTACK


@dataclass(frozen=True, kw_only=True)
class QuestionRows(RunRows[Choice]):
    """The variants of a run's questions, the options chosen for them, and the cities of its figures.

    An answer is right, wrong or unparsed; a change from one wrong letter to another is not a flip.
    """

    texts_name = "variants of questions"
    variants: Sequence[Variant] = ()
    cities: Mapping[str, City] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Files) -> Self:
        """Read the rows of a run without attacks, which are specific to one model."""
        variants, choices = files.built("variants", Variant), files.rows("judgements", Choice)
        cities = files.shared(FILE.name, Cities)
        return cls(
            variants=variants,
            answers=[row for row in choices if ATTACK not in row.key],
            cities={} if cities is None else cities.root,
        )

    @cached_property
    def items(self) -> Mapping[str, Answered]:
        """The answered questions."""
        letters = {row.key: row.letter for row in self.answers}
        return {row.question: row for row in tabulate(self.variants, letters)} if letters else {}

    def parts(self, family: str) -> Mapping[str, Mapping[str, Answered]]:
        """The questions that have each attribute, with its arms alone, or with those of one background."""
        return parts(self.items.values(), family)

    @property
    def kinds(self) -> Mapping[str, str]:
        """Whether each answer is right."""
        gold = {variant.key: variant.gold for variant in self.variants}
        return {
            row.key: UNPARSED if row.letter is None else "right" if row.letter == gold.get(row.key) else "wrong"
            for row in self.answers
        }

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of the variants, with their options and the right letter."""
        return {row.key: "\n".join((row.text, *row.options.values(), row.gold)) for row in self.variants}

    def bias(self, key: str, before: str, after: str) -> Bias:
        """An answer about the unprivileged patient is biased if it is not right."""
        if "/unprivileged/" not in key or "right" not in (before, after):
            return "other"
        return "to biased" if before == "right" else "from biased"

    def same(self, answer: Choice, other: Choice, head: Self) -> bool:  # noqa: ARG002  (the choices suffice)
        """Whether choices are equal up to their last digits, which may decide between tied letters."""
        return near(answer, other, frozenset({"letter"})) and (
            answer.letter == other.letter or tied(answer.letter, other.letter, *map(_mean_chances, (answer, other)))
        )


def _mean_chances(choice: Choice) -> dict[str, float]:
    """Average the probability of each option over the orders in which a letter was read."""
    read = [order.probabilities for order in choice.orders if order.probabilities]
    return {letter: sum(chances[letter] for chances in read) / len(read) for letter in (read[0] if read else ())}
