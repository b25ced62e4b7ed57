"""Vignettes turned into prompts: two turns, reason first, then name the diagnosis."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.records import Prompt, Vignette


class Build(BaseModel):
    """The section `build` of params.yaml: which vignettes, and how a model is asked about them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: Literal["core", "full", "powered"]
    system: str
    reason: Annotated[str, Field(pattern=r"\{case\}")]
    answer: Annotated[str, Field(min_length=1)]
    answer_prefix: str


def vignette_prompt(vignette: Vignette, build: Build) -> Prompt:
    """Ask for reasoning about the case, then for the diagnosis, with every answer of the case as a candidate.

    Candidates are sorted by name, so their order says nothing about which is expected.
    """
    answers = (vignette.expected, vignette.stereotyped, *vignette.distractors)
    return Prompt(
        key=vignette.key,
        study=vignette.study,
        system=build.system,
        prefix=build.answer_prefix,
        turns=(build.reason.replace("{case}", vignette.text), build.answer),
        candidates=tuple(sorted(answer.label for answer in answers)),
    )
