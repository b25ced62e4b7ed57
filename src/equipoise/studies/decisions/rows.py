"""Decisions about cases, one a row: the end-points of `data/raw/endpoints.yaml` that stories ask for, and readings."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE
from equipoise.core.prompts import Response
from equipoise.core.row import Row, Text
from equipoise.materials.stories.compose import Parts
from equipoise.materials.stories.endpoints import Decision, Direction, Endpoint, Family
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import Grade
from equipoise.studies.decisions import NAME
from equipoise.text.answer import Answer
from equipoise.text.answers import log_likelihoods, log_sum, read_generated
from equipoise.text.conclusions import REFUSAL
from equipoise.text.naming import final_diagnosis

SWAPPED = "swapped"
"""The reading of a decision after the reasoning about the other arm."""


class CaseDecision(Row):
    """A decision about a pair: the question, its levels in order, the right ones, and the direction of the bias.

    The key is `<pair>/<end-point>`. `grade` is that of the evidence about the pair's patient group. `usual` says
    whether the direction is that of the end-point, `reverse` whether the marginalised arm belongs to the group that is
    usually favoured. In a panel, `pair` is the story, which has no dimensions and no grade, and the direction is that
    of the end-point; for an imported story the right answer is unknown.
    """

    pair: Text
    story: Text
    dimensions: tuple[Text, ...] = ()
    ask: Text
    family: Family
    question: Text
    prefix: Text
    levels: Annotated[tuple[Text, ...], Field(min_length=2)]
    answer: Text | None = None
    also: tuple[Text, ...] = ()
    direction: Direction
    usual: bool = True
    reverse: bool = False
    grade: Grade | None = None

    @property
    def towards(self) -> tuple[str, ...]:
        """The levels in the direction of the bias, the most stereotyped one last."""
        return self.levels if self.direction == "higher" else self.levels[::-1]

    def allows(self, level: str) -> bool:
        """Whether a level is the guideline's, or one that it allows."""
        return level in (self.answer, *self.also)


class Reading(Row):
    """The reading of a decision: the probability of each level, their mean, and the chosen level ("" if none is).

    `expected` is the mean level, counted from 0; without likelihoods it is the position of the chosen level. `log_odds`
    are those of the stereotyped level if there are two levels, in nats. `tilt` is how much likelier the last level is
    than the first on the line through all log probabilities, in nats; it can change when one level has nearly all the
    probability. `said` is the level that the reply names ("" if none), and None where no reply was requested beside the
    likelihoods. `refused` says whether the model declines to answer: in that reply, or in its last one about the case.
    """

    probabilities: dict[str, float] = {}
    expected: float | None
    chosen: str
    log_odds: float | None = None
    tilt: float | None = None
    said: str | None = None
    refused: bool = False

    @property
    def agrees(self) -> bool | None:
        """Whether the reply names the likeliest level; None without a reply, or without likelihoods."""
        return None if self.said is None or not self.probabilities else self.said == self.chosen


def pair_decisions(
    pair: str, parts: Parts, decisions: Iterable[Decision], endpoints: Mapping[str, Endpoint]
) -> list[CaseDecision]:
    """List the decisions about a pair that its story asks for in its setting."""
    return [
        _case_decision(
            pair,
            parts.presentation.id,
            endpoint := endpoints[decision.ask],
            dimensions=tuple(contrast.dimension for contrast in parts.contrasts),
            answer=decision.answer,
            also=decision.also,
            direction=decision.direction,
            usual=decision.direction == endpoint.direction,
            reverse=any(contrast.reverse for contrast in parts.contrasts),
            grade=decision.grade(parts),
        )
        for decision in decisions
        if decision.story == parts.presentation.id and endpoints[decision.ask].asked_in(parts.setting.id)
    ]


def panel_decisions(
    story: str, setting: str, decisions: Iterable[Decision], endpoints: Mapping[str, Endpoint]
) -> list[CaseDecision]:
    """List the decisions about the patients of a panel that an authored story asks for in its setting."""
    return [
        _case_decision(story, story, endpoints[decision.ask], answer=decision.answer, also=decision.also)
        for decision in decisions
        if decision.story == story and endpoints[decision.ask].asked_in(setting)
    ]


def imported_decisions(story: str, asks: Iterable[str], endpoints: Mapping[str, Endpoint]) -> list[CaseDecision]:
    """List the decisions about an imported story, given the ids of end-points; an unknown id is an EquipoiseError."""
    decisions = []
    for ask in asks:
        if ask not in endpoints:
            known = ", ".join(endpoints)
            raise EquipoiseError(f"{FILE}: build.endpoints: no end-point {ask!r}: choose from {known}")
        decisions.append(_case_decision(story, story, endpoints[ask]))
    return decisions


def _case_decision(
    pair: str,
    story: str,
    endpoint: Endpoint,
    **fields: Any,  # noqa: ANN401  (fields of the row)
) -> CaseDecision:
    return CaseDecision(
        key=f"{pair}/{endpoint.id}",
        study=NAME,
        pair=pair,
        story=story,
        ask=endpoint.id,
        family=endpoint.family,
        question=endpoint.full_question,
        prefix=endpoint.prefix,
        levels=endpoint.labels,
        **({"direction": endpoint.direction} | fields),
    )


def is_decision(key: str) -> bool:
    """Whether a key of the study belongs to a decision, not to the reasoning before it."""
    return bool(CaseKey.parse(key).decision)


def decision_of(key: str) -> str:
    """Give the key of the decision that a prompt asks for, `<pair>/<end-point>`."""
    case = CaseKey.parse(key)
    return f"{case.unit}/{case.decision}"


def tilt_of(scores: Sequence[float]) -> float:
    """Give the rise, from the first level to the last, of the least-squares line through their log likelihoods."""
    middle = (len(scores) - 1) / 2
    steps = [place - middle for place in range(len(scores))]
    slope = sum(step * score for step, score in zip(steps, scores, strict=True)) / sum(step**2 for step in steps)
    return slope * (len(scores) - 1)


def declines(reply: str) -> bool:
    """Whether a reply about a case declines to name a diagnosis."""
    return REFUSAL.search(reply) is not None and final_diagnosis(reply) is None


def _shares(response: Response, decision: CaseDecision, scores: Mapping[str, float]) -> dict[str, float] | None:
    """Give the probability of each level; where some have only a bound, None unless these cannot matter."""
    if response.at_most:  # a server's first tokens do not tell all levels apart
        total = log_sum(scores, response.at_most, decision.levels)
        if total is None:
            return None
        return {level: math.exp(scores[level] - total) if level in scores else 0.0 for level in decision.levels}
    from scipy.special import softmax

    return dict(zip(decision.levels, softmax([scores[level] for level in decision.levels]).tolist(), strict=True))


def read_decision(response: Response, decision: CaseDecision, reply: str, *, declined: bool = False) -> Reading:
    """Read a decision from the likelihoods of its levels or, if there are none, from the text of the `reply`.

    Probabilities are a softmax of total log likelihoods, so labels of different length or frequency start with
    different probabilities: compare only cases with the same question. Likelihoods refuse nothing: `declined` says
    whether the last reply about the case does. A reply beside likelihoods is read for the level that it names.
    """
    scores = log_likelihoods(response, "total")
    labels = tuple(Answer(label=level, synonyms=(level,)) for level in decision.levels)
    kind, named = read_generated(reply, {"expected": labels})
    stated = named if response.replies else None
    declined = declined or kind == "refusal"
    if not scores and not response.at_most:
        place = float(decision.levels.index(named)) if named else None
        return Reading(key=response.key, study=NAME, expected=place, chosen=named, refused=kind == "refusal")
    shares = _shares(response, decision, scores)
    if shares is None:
        return Reading(key=response.key, study=NAME, expected=None, chosen="", said=stated, refused=declined)
    other, stereotyped, whole = decision.towards[0], decision.towards[-1], not response.at_most
    return Reading(
        key=response.key,
        study=NAME,
        probabilities=shares,
        expected=sum(place * share for place, share in enumerate(shares.values())),
        chosen=max(shares, key=shares.__getitem__),
        log_odds=scores[stereotyped] - scores[other] if whole and len(scores) == len((other, stereotyped)) else None,
        tilt=tilt_of([scores[level] for level in decision.levels]) if whole else None,
        said=stated,
        refused=declined,
    )
