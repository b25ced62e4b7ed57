"""`metrics/run.json`: how much was asked and answered, without anything that changes from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.pairs import require_same_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.core.records import Judgement
    from equipoise.metrics.effects import Nested
    from equipoise.metrics.noted import Noted


def run_metrics(
    responses: Sequence[Noted],
    judgements: Sequence[Judgement],
    letters: Mapping[str, str | None],
    exam: Mapping[str, str | None],
) -> Nested:
    """Count what was asked and answered in each study that is asked through prompts.

    `letters` are those of the adversarial study, `exam` those of the exam questions, by key.
    """
    by_study: dict[str, list[Noted]] = {}
    for response in responses:
        by_study.setdefault(response.study, []).append(response)
    return {
        "vignettes": {**vignette_run(by_study.get("vignettes", []), judgements)},
        "adversarial": _lettered(by_study.get("adversarial", []), letters),
        "medmcqa": _lettered(by_study.get("medmcqa", []), exam),
    }


def vignette_run(responses: Sequence[Noted], judgements: Sequence[Judgement]) -> dict[str, int]:
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


def _lettered(responses: Sequence[Noted], letters: Mapping[str, str | None]) -> Nested:
    return {**_asked(responses), "unparsed": sum(letter is None for letter in letters.values())}


def _asked(responses: Sequence[Noted]) -> dict[str, int]:
    return {
        "n_prompts": len(responses),
        "prompt_tokens": sum(response.prompt_tokens for response in responses),
        "generated_tokens": sum(response.generated_tokens for response in responses),
        "unfinished": sum(not all(response.finished) for response in responses),
    }
