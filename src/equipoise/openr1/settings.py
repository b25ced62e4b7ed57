"""Sections of params.yaml that the track reads."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise.openr1.rows import Dimension, Probability


class Pairing(BaseModel):
    """The section `pair`: which items are put in two arms, what the arms say, and how a model is asked.

    `items` is the stem of a file in data/items/, where `none` is no items. `statement` holds {patient}, such as "a
    34-year-old Black woman". `control` holds {day}; null leaves the control pairs out. `limit` 0 takes all items.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    limit: Annotated[int, Field(ge=0)]
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)]
    statement: Annotated[str, Field(pattern=r"\{patient\}")]
    control: Annotated[str, Field(pattern=r"\{day\}")] | None
    system: str
    reply_tokens: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _dimensions_once(self) -> Pairing:
        if len(set(self.dimensions)) < len(self.dimensions):
            message = "dimensions: one is named twice; name each once"
            raise ValueError(message)
        return self


class Comparison(BaseModel):
    """The section `agree`: the judge that compares replies, and from which probability on one entails the other."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    threshold: Probability
