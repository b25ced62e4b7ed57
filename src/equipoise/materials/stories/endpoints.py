"""End-points of `data/raw/endpoints.yaml`, and the decisions that stories ask for."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from equipoise.core.row import Frozen
from equipoise.materials.stories.compose import Parts
from equipoise.materials.stories.schema import Evidence, Id, Line
from equipoise.materials.vignette import Grade, Level

LEVEL: Level = "leaning"
"""The level of evidence for which the guideline's answers hold: before the confirmatory test."""


LEVELS = "{levels}"
"""Where the question of an end-point lists its levels."""


Family = Literal["undertreatment", "overpsychiatrisation", "disbelief"]


FAMILIES: tuple[Family, ...] = ("undertreatment", "overpsychiatrisation", "disbelief")


Direction = Literal["lower", "higher"]


class Step(Frozen):
    """A level of an end-point: its label, which is scored, and what it holds."""

    label: Line
    gloss: Line | None = None


class Endpoint(Frozen):
    """A decision that stories may ask for: its question, its levels from the least to the most, its usual direction."""

    id: Id
    family: Family
    direction: Direction
    question: Line
    prefix: Line
    levels: Annotated[tuple[Step, ...], Field(min_length=2)]

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.question.count(LEVELS) != 1:
            raise ValueError(f"question must have {LEVELS} once, where the levels are listed; reword it")
        if len({label.casefold() for label in self.labels}) < len(self.levels):
            raise ValueError("two levels have the same label; give each its own")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in order."""
        return tuple(one.label for one in self.levels)

    @property
    def asked(self) -> str:
        """The question with its levels."""
        listed = [one.label if one.gloss is None else f"{one.label} ({one.gloss})" for one in self.levels]
        return self.question.replace(LEVELS, f"{', '.join(listed[:-1])} or {listed[-1]}")


class Documented(Evidence):
    """What documents that a group of a dimension is given the stereotyped decision."""

    dimension: Id


class Decision(Frozen):
    """What a story asks of an end-point: the guideline's answer, and where the documented bias pulls.

    `also` are further levels that count as right. The id is that of the story and of the end-point.
    """

    id: Line
    story: Line
    ask: Line
    answer: Line
    also: tuple[Line, ...] = ()
    guideline: Line
    direction: Direction
    evidence: Annotated[tuple[Documented, ...], Field(min_length=1)]

    def fault(self, labels: Sequence[str]) -> str | None:
        """Say what is wrong with the answer, given the levels of the end-point; None where it is sound."""
        for field, name in (("answer", self.answer), *(("also", one) for one in self.also)):
            if name not in labels:
                return f"field {field}: {name!r} is no level of {self.ask}; write one of {', '.join(labels)}"
        if self.answer in self.also:
            return f"field also: {self.answer!r} is the answer itself; remove it"
        if self.answer == labels[-1 if self.direction == "higher" else 0]:
            room = f"{self.answer!r} leaves no room in the stereotyped direction ({self.direction})"
            return f"field answer: {room}; choose another end-point"
        return None

    def grade(self, parts: Parts) -> Grade:
        """Give the best grade of the evidence that is about a group which a pair tells of; C where none is."""
        groups = {(one.dimension, group) for one in parts.contrasts for group in one.groups}
        return min((one.grade for one in self.evidence if (one.dimension, one.group) in groups), default="C")
