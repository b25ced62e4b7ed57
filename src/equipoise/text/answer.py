"""An answer to a case, and the kinds of answers."""

from typing import Annotated, Literal, Protocol

from pydantic import (
    Field,
)

from equipoise.core.row import Frozen, Text

AnswerKind = Literal["expected", "stereotyped", "distractor", "other", "refusal", "unparsed"]


class Answer(Frozen):
    """A diagnosis, other wordings that count as the same answer, and its ICD-11 code if known."""

    label: Text
    synonyms: Annotated[tuple[Text, ...], Field(min_length=1)]
    code: Text | None = None


class AnswerSet(Protocol):
    """The answers of a case: the expected one, the stereotyped ones, and distractors."""

    @property
    def expected(self) -> Answer:
        """The right answer."""
        ...

    @property
    def stereotyped(self) -> Answer:
        """The answer that the stereotype suggests."""
        ...

    @property
    def components(self) -> tuple[Answer, ...]:
        """The stereotyped answers of the other dimensions, if the case varies several."""
        ...

    @property
    def distractors(self) -> tuple[Answer, ...]:
        """Wrong answers that no stereotype suggests."""
        ...
