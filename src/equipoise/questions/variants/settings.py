"""The section `perturb` of params.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise.core.params import Name
from equipoise.questions.variants.arms import Design


class Perturb(BaseModel):
    """Which variants are made, by which agents.

    `answering`: whether a letter is read from likelihoods or from a generated reply. `generator` and `fuser` are
    `rules`, `replay` or a model of the registry; `replay` is the file of earlier attempts or variants that the agent
    of that name reads. `templates` is the folder of prompts and of the grammar.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    design: Design = "crossed"
    answering: Literal["likelihood", "generate"] = "likelihood"
    generator: Name = "rules"
    fuser: Name = "rules"
    attempts: Annotated[int, Field(ge=1, le=3)] = 3
    templates: Path = Path("data/templates")
    replay: Path | None = None

    @model_validator(mode="after")
    def _replay_has_a_file(self) -> Self:
        if "replay" in (self.generator, self.fuser) and self.replay is None:
            message = "an agent is replay, but replay names no file: give the JSONL of earlier attempts or variants"
            raise ValueError(message)
        return self
