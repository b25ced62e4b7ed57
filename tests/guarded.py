"""Rows for the tests of the guards: prompts, responses and fills of which only what is named matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.rows import Rows

from equipoise.core.records import Prompt, Response
from equipoise.metrics.noted import Noted, note
from equipoise.stigma.rows import Fill

if TYPE_CHECKING:
    from equipoise.core.records import Study

NOTHING = Rows(
    vignettes=(),
    judgements=(),
    variants=(),
    attempts=(),
    sampled=(),
    responses=(),
    fills=(),
    agreements=(),
    cities={},
)
"""A run of no study."""
REASON = " ".join(f"word{number}" for number in range(60))
"""A reply of 60 words: no two prompts share one by chance."""


def prompt(key: str, study: Study = "vignettes", *, turn: str = "", stem: str = "") -> Prompt:
    """Build a prompt; without a turn its words are its key."""
    return Prompt(key=key, study=study, system="", prefix="", turns=(turn or key,), candidates=(), stem=stem)


def response(
    key: str,
    *replies: str,
    study: Study = "vignettes",
    finished: tuple[bool, ...] | None = None,
    likelihoods: dict[str, float] | None = None,
) -> Response:
    """Build a response; its replies came to their end unless `finished` says otherwise."""
    return Response(
        key=key,
        study=study,
        replies=replies,
        finished=(True,) * len(replies) if finished is None else finished,
        log_likelihood=likelihoods or {},
        prompt_tokens=1,
        generated_tokens=1,
    )


def noted(
    key: str,
    *replies: str,
    study: Study = "vignettes",
    finished: tuple[bool, ...] | None = None,
    likelihoods: dict[str, float] | None = None,
) -> Noted:
    """Note a response."""
    return note(response(key, *replies, study=study, finished=finished, likelihoods=likelihoods))


def fill(template: str, condition: str, female: float = 0.5, male: float = 0.25) -> Fill:
    """Build a sentence of the first question about one condition."""
    return Fill(
        key=f"rq1/{template}/{condition}",
        question="rq1",
        template=template,
        group="diagnosis",
        polarity=1,
        condition=condition,
        condition_set="mental",
        scorer="causal",
        female=female,
        male=male,
        unspecified=0.0,
        words={},
    )
