"""How much was asked and answered in a study, without anything that changes from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.effects import Estimate, Group, effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from equipoise.core.records import Effect, Judgement, Study
    from equipoise.metrics.noted import Noted

FAMILY = "run"
"""The family of these effects."""


def run_effects(study: Study, responses: Sequence[Noted], read: Mapping[str, int]) -> Iterator[Effect]:
    """Count prompts, tokens, prompts with a reply that the length limit ended, and what was `read`, as effects.

    The count is the `estimate`, and `n` the number of prompts.
    """
    counts = {
        "n_prompts": len(responses),
        "prompt_tokens": sum(response.prompt_tokens for response in responses),
        "generated_tokens": sum(response.generated_tokens for response in responses),
        "unfinished": sum(not all(response.finished) for response in responses),
        **read,
    }
    for measure, count in counts.items():
        yield effect(Group(FAMILY, "all", study), measure, len(responses), Estimate(float(count)))


def diagnoses_read(judgements: Sequence[Judgement]) -> dict[str, int]:
    """Count unparsed answers and refusals, in the reading that the study uses and in the generated text.

    A likelihood always names an answer, so the generated text is counted beside it.
    """
    return {
        "unparsed": sum(judgement.answer == "unparsed" for judgement in judgements),
        "refusals": sum(judgement.answer == "refusal" for judgement in judgements),
        "generated_unparsed": sum(judgement.answer_generated == "unparsed" for judgement in judgements),
        "generated_refusals": sum(judgement.answer_generated == "refusal" for judgement in judgements),
    }
