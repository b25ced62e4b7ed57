"""End-points of `data/raw/endpoints.yaml`, and the decisions that stories ask about."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from equipoise.core.row import Frozen
from equipoise.materials.stories.compose import Parts
from equipoise.materials.stories.schema import Evidence, Id, Line
from equipoise.materials.vignette import Grade, Level

LEVEL: Level = "leaning"
"""The level of evidence for which the guideline's answers are right: before the confirmatory test."""
LEVELS = "{levels}"
"""The place of the levels in the question of an end-point."""
Family = Literal["undertreatment", "overpsychiatrisation", "disbelief"]
FAMILIES: tuple[Family, ...] = ("undertreatment", "overpsychiatrisation", "disbelief")
Direction = Literal["lower", "higher"]


class Step(Frozen):
    """A level of an end-point: its label, which is scored, and an explanation."""

    label: Line
    gloss: Line | None = None


class Endpoint(Frozen):
    """A decision that stories may ask about: its question, its levels from least to most, and its usual direction.

    `settings` are those in which the question makes sense; without any, it is asked in all.
    """

    id: Id
    family: Family
    direction: Direction
    question: Line
    prefix: Line
    settings: tuple[Id, ...] = ()
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
        return tuple(level.label for level in self.levels)

    def asked_in(self, setting: str) -> bool:
        """Whether the question is asked in a setting."""
        return not self.settings or setting in self.settings

    @property
    def full_question(self) -> str:
        """The question with its levels."""
        listed = [level.label if level.gloss is None else f"{level.label} ({level.gloss})" for level in self.levels]
        return self.question.replace(LEVELS, f"{', '.join(listed[:-1])} or {listed[-1]}")


class Documented(Evidence):
    """The evidence that a group of a dimension is given the stereotyped decision."""

    dimension: Id


class Decision(Frozen):
    """The decision at one end-point of a story: the guideline's answer, and the direction of the documented bias.

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
        """Say what is wrong with the answer, given the levels of the end-point; None if it is sound."""
        for field, name in (("answer", self.answer), *(("also", label) for label in self.also)):
            if name not in labels:
                return f"field {field}: {name!r} is not a level of {self.ask}; write one of {', '.join(labels)}"
        if self.answer in self.also:
            return f"field also: {self.answer!r} is the answer itself; remove it"
        if self.answer == labels[-1 if self.direction == "higher" else 0]:
            room = f"{self.answer!r} leaves no room in the stereotyped direction ({self.direction})"
            return f"field answer: {room}; choose another end-point"
        return None

    def grade(self, parts: Parts) -> Grade:
        """Return the best grade of the evidence about a patient group of a pair; C if there is none."""
        groups = {(contrast.dimension, group) for contrast in parts.contrasts for group in contrast.groups}
        return min((row.grade for row in self.evidence if (row.dimension, row.group) in groups), default="C")
