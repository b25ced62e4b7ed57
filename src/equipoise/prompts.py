"""Vignettes turned into prompts: two turns, reason first, then name the diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.records import Prompt

if TYPE_CHECKING:
    from equipoise.params import Build
    from equipoise.records import Vignette


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
        turns=(build.reason.format(case=vignette.text), build.answer),
        candidates=tuple(sorted(answer.label for answer in answers)),
    )
