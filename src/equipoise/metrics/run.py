"""`metrics/run.json`: how much was asked and answered, without anything that changes from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.pairs import require_same_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.records import Judgement, Response


def run_metrics(
    responses: Sequence[Response], judgements: Sequence[Judgement], letters: Mapping[str, str | None]
) -> dict[str, dict[str, int]]:
    """Count what was asked and answered in each study; `letters` are those of the adversarial study, by key."""
    by_study: dict[str, list[Response]] = {"vignettes": [], "adversarial": []}
    for response in responses:
        by_study[response.study].append(response)
    return {
        "vignettes": vignette_run(by_study["vignettes"], judgements),
        "adversarial": _asked(by_study["adversarial"]) | {"unparsed": sum(one is None for one in letters.values())},
    }


def vignette_run(responses: Sequence[Response], judgements: Sequence[Judgement]) -> dict[str, int]:
    """Count prompts, tokens, replies cut off by the length limit, unparsed answers and refusals.

    `unfinished` counts prompts with at least one reply that the model did not end. Unparsed and refusal are counted
    in the reading that the study uses and in the generated text (`generated_`), since a likelihood always names an
    answer. Raises EquipoiseError where responses and judgements are not of the same prompts.
    """
    require_same_keys("response", (r.key for r in responses), "judgement", (j.key for j in judgements))
    return _asked(responses) | {
        "unparsed": sum(judgement.answer == "unparsed" for judgement in judgements),
        "refusals": sum(judgement.answer == "refusal" for judgement in judgements),
        "generated_unparsed": sum(judgement.answer_generated == "unparsed" for judgement in judgements),
        "generated_refusals": sum(judgement.answer_generated == "refusal" for judgement in judgements),
    }


def _asked(responses: Sequence[Response]) -> dict[str, int]:
    return {
        "n_prompts": len(responses),
        "prompt_tokens": sum(response.prompt_tokens for response in responses),
        "generated_tokens": sum(response.generated_tokens for response in responses),
        "unfinished": sum(not all(response.finished) for response in responses),
    }
