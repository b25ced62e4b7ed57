"""Tests of a study's counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builders import noted
from equipoise.figures.guards import run_effects
from equipoise.studies.vignettes.guards import diagnoses_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.figures.responses import Noted


def reply(key: str, *, finished: bool = True, **fields: Any) -> Noted:
    """Note a response with 10 prompt tokens and 5 generated ones."""
    fields |= {"finished": (finished, True), "prompt_tokens": 10, "generated_tokens": 5}
    return noted(key, "Because.", "Panic disorder.", **fields)


def test_run_is_counted(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """Prompts, tokens, cut replies, unparsed answers and refusals are counted."""
    _, judgements = study([case(marginalised="unparsed", privileged="refusal"), case()])
    responses = [reply(judgement.key, finished=number > 0) for number, judgement in enumerate(judgements)]
    found = [*run_effects("vignettes", responses, diagnoses_read(judgements))]

    assert {row.measure: row.estimate for row in found} == {
        "n_prompts": 4,
        "prompt_tokens": 40,
        "generated_tokens": 20,
        "unfinished": 1,
        "unparsed": 1,
        "refusals": 1,
        "generated_unparsed": 1,
        "generated_refusals": 1,
    }
    assert {(row.study, row.family, row.group, row.n) for row in found} == {("vignettes", "run", "all", 4)}


def test_a_study_without_responses_counts_zero() -> None:
    """Counts of nothing are 0, and defined."""
    found = [*run_effects("exam", [], {"unparsed": 0})]

    assert {row.measure: row.estimate for row in found} == dict.fromkeys(
        ("n_prompts", "prompt_tokens", "generated_tokens", "unfinished", "unparsed"), 0
    )
