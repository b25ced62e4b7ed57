"""An answer to a case, and the kinds of answers that there are."""

from typing import Annotated, Literal

from pydantic import (
    Field,
)

from equipoise.core.row import Frozen, Text

AnswerKind = Literal["expected", "stereotyped", "distractor", "other", "refusal", "unparsed"]


class Answer(Frozen):
    """A diagnosis, the other wordings that count as the same answer, and its ICD-11 code where it is known."""

    label: Text
    synonyms: Annotated[tuple[Text, ...], Field(min_length=1)]
    code: Text | None = None
