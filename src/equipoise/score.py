"""Responses read into judgements: which answer each gives, and what its reasoning does with the patient's features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from equipoise.errors import EquipoiseError
from equipoise.judge.reading import ReadingSettings, read_reasonings
from equipoise.reading.answers import answer_set, log_odds, read_generated, read_likelihood
from equipoise.reading.reasoning import read_by_user, untagged
from equipoise.records import Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from equipoise.judge.lexicon import Lexicon
    from equipoise.records import Response, Vignette
    from equipoise.registry import ReasoningForm


class Score(ReadingSettings):
    """The section `score` of params.yaml: which reading of the answer counts, and how reasoning is read."""

    answering: Literal["likelihood", "generate"]


def judge_responses(
    vignettes: Sequence[Vignette],
    responses: Sequence[Response],
    *,
    lexicon: Lexicon,
    probabilities: Callable[[list[tuple[str, str]]], NDArray[np.floating]],
    settings: Score,
    form: ReasoningForm = "auto",
) -> list[Judgement]:
    """Read every response of the vignette study; responses of other studies are left alone.

    `lexicon` has the words for each feature; `probabilities` is the judge: (premise, hypothesis) pairs to rows of
    entailment, neutral, contradiction; `form` is that of the model's output, as the registry has it. The reasoning
    is the reply to the first turn, thinking included; the answer, that to the last, without. A response without its
    vignette, or a vignette without its response, is an EquipoiseError; a model whose saved answers are to other studies
    has no response at all, and no judgement.
    """
    cases = {vignette.key: vignette for vignette in vignettes}
    others = {response.study for response in responses} - {"vignettes"}
    responses = [response for response in responses if response.study == "vignettes"]
    if others and not responses:
        return []
    unmatched = sorted(cases.keys() ^ {response.key for response in responses})
    if unmatched:
        more = f"{len(unmatched)} in all, first {unmatched[0]!r}"
        message = f"vignettes and responses do not belong together ({more}): run `dvc repro infer`"
        raise EquipoiseError(message)
    reasonings = [
        (untagged(response.replies[0]), lexicon.features(cases[response.key].features)) for response in responses
    ]
    readings = read_reasonings(reasonings, probabilities, settings)
    judgements = []
    for response, reading in zip(responses, readings, strict=True):
        vignette = cases[response.key]
        answers = answer_set(vignette)
        likeliest = read_likelihood(response, answers)
        reply = read_by_user(response.replies[-1], form, finished=response.finished[-1])
        generated = read_generated(reply, answers)
        if settings.answering == "likelihood" and likeliest is None:
            message = f"response {response.key!r} has no likelihoods: set score.answering to generate for this model"
            raise EquipoiseError(message)
        given = likeliest if settings.answering == "likelihood" and likeliest else generated
        judgements.append(
            Judgement(
                key=response.key,
                study=response.study,
                answer=given.kind,
                label=given.label,
                answer_likelihood=likeliest.kind if likeliest else None,
                answer_generated=generated.kind,
                log_odds=log_odds(response, vignette),
                **reading.model_dump(),
            )
        )
    return judgements
