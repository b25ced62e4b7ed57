"""Tests of the run's own counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from builders import noted
from equipoise.core.errors import EquipoiseError
from equipoise.metrics.run import run_metrics, vignette_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.metrics.noted import Noted


def reply(key: str, *, finished: bool = True, **fields: Any) -> Noted:
    """Note a response with 10 prompt tokens and 5 generated ones."""
    fields |= {"finished": (finished, True), "prompt_tokens": 10, "generated_tokens": 5}
    return noted(key, "Because.", "Panic disorder.", **fields)


def test_run_is_counted(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """Prompts, tokens, cut replies, unparsed answers and refusals are counted."""
    _, judgements = study([case(marginalised="unparsed", privileged="refusal"), case()])
    responses = [reply(judgement.key, finished=number > 0) for number, judgement in enumerate(judgements)]

    assert vignette_run(responses, judgements) == {
        "n_prompts": 4,
        "prompt_tokens": 40,
        "generated_tokens": 20,
        "unfinished": 1,
        "unparsed": 1,
        "refusals": 1,
        "generated_unparsed": 1,
        "generated_refusals": 1,
    }


def test_unjudged_response_is_named(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """A response without a judgement is an error with its key."""
    _, judgements = study([case()])

    with pytest.raises(EquipoiseError, match="keys with a response but no judgement: other;"):
        vignette_run([reply(key) for key in (*(one.key for one in judgements), "other")], judgements)


def test_studies_are_counted_apart() -> None:
    """Each study has its own prompts, and a letter that was not read is counted in the study that asked for it."""
    adversarial = reply("i1/neutral", study="adversarial")
    exam = reply("i1/exam", study="medmcqa")

    counted = run_metrics([adversarial, exam], [], {"i1/neutral": "A"}, {"i1": None})

    assert [(name, study["n_prompts"], study["unparsed"]) for name, study in counted.items()] == [
        ("vignettes", 0, 0),
        ("adversarial", 1, 0),
        ("medmcqa", 1, 1),
    ]
