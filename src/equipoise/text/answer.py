"""An answer to a case, and the kinds of answers."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from equipoise.core.row import Frozen, Text

AnswerKind = Literal["expected", "stereotyped", "distractor", "other", "refusal", "unparsed"]


class Answer(Frozen):
    """A diagnosis, other wordings that count as the same answer, and its ICD-11 code if known."""

    label: Text
    synonyms: Annotated[tuple[Text, ...], Field(min_length=1)]
    code: Text | None = None


AnswerSet = Mapping[AnswerKind, tuple[Answer, ...]]
"""The answers of a case by kind, of which one is expected."""
