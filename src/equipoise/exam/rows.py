"""Row type of the exam study: a question as part of a city's subset."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from equipoise.core.records import Row, Text
from equipoise.questions.rows import Disease, Letter, Options

CLASSES = ("A", "B", "C", "D")
"""The options of a MedMCQA question: the classes that macro averages are taken over."""


class Sampled(Row):
    """A question in the subset of a city; the key is `<city>/<item>`. A question may be in several cities' subsets."""

    study: Literal["exam"] = "exam"
    city: Text
    item: Text
    disease: Disease
    gold: Letter
    options: Options

    @model_validator(mode="after")
    def _gold_is_an_option(self) -> Self:
        if self.gold not in self.options:
            message = f"gold {self.gold!r} is not one of the options {', '.join(self.options)}"
            raise ValueError(message)
        return self
