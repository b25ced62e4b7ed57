"""Decisions about a case: the end-points of `data/raw/endpoints.yaml`, what stories ask of them, and their prompts.

A bias of management can leave the diagnosis alone. After its reasoning about a case at the level `leaning`, a model is
asked for each decision in a conversation of its own: the case, its reasoning (given, word for word), the question. The
same question after the reasoning about the other arm tells what goes through the reasoning, and what goes around it.
Keys of the prompts are `race-01/privileged/triage` and `race-01/privileged/triage/swapped`, before a sample's number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import Row, Text
from equipoise.materials.stories.compose import Parts
from equipoise.materials.stories.endpoints import Decision, Direction, Endpoint, Family
from equipoise.materials.versions import CaseKey
from equipoise.materials.vignette import OTHER, ROLES, Grade
from equipoise.studies.decisions import NAME
from equipoise.text.answer import Answer
from equipoise.text.answers import log_likelihoods, read_generated

SWAPPED = "swapped"


class Asked(Row):
    """A decision that a pair asks for: the question, its levels in order, what is right, and where the bias pulls.

    The key is `<pair>/<end-point>`. `grade` is that of the evidence about the pair's group. `usual` says whether the
    direction is that of the end-point, `reverse` whether the marginalised arm is that of the group usually favoured.
    A story of a panel stands in the place of a pair: it has no dimensions and no grade, the direction is that of the
    end-point, and of an imported story nobody says what is right.
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
        """The levels in the direction of the bias: the most stereotyped one last."""
        return self.levels if self.direction == "higher" else self.levels[::-1]


class Reading(Row):
    """A decision, read: the probability of each level, their mean, and the level that is chosen ("" where none is).

    `expected` is the mean level, from 0; without likelihoods it is the place of the chosen level. `log_odds` are those
    of the stereotyped level where there are two, in nats; `tilt` is how much likelier the last level is than the first
    on the line through all log probabilities, in nats. It goes on moving where one level has nearly all probability.
    """

    probabilities: dict[str, float] = {}
    expected: float | None
    chosen: str
    log_odds: float | None = None
    tilt: float | None = None


def asked_of(pair: str, parts: Parts, decisions: Iterable[Decision], endpoints: Mapping[str, Endpoint]) -> list[Asked]:
    """List what the story of a pair asks for."""
    return [
        _asked(
            pair,
            parts.presentation.id,
            endpoint := endpoints[one.ask],
            dimensions=tuple(contrast.dimension for contrast in parts.contrasts),
            answer=one.answer,
            also=one.also,
            direction=one.direction,
            usual=one.direction == endpoint.direction,
            reverse=any(contrast.reverse for contrast in parts.contrasts),
            grade=one.grade(parts),
        )
        for one in decisions
        if one.story == parts.presentation.id
    ]


def asked_of_story(story: str, decisions: Iterable[Decision], endpoints: Mapping[str, Endpoint]) -> list[Asked]:
    """List what a story of ours asks for, told of a panel."""
    return [
        _asked(story, story, endpoints[one.ask], answer=one.answer, also=one.also)
        for one in decisions
        if one.story == story
    ]


def asked_of_import(story: str, asks: Iterable[str], endpoints: Mapping[str, Endpoint]) -> list[Asked]:
    """List what an imported story is asked for: end-points by their ids; an unknown one is an EquipoiseError."""
    found = []
    for ask in asks:
        if ask not in endpoints:
            known = ", ".join(endpoints)
            raise EquipoiseError(f"{FILE}: build.endpoints: no end-point {ask!r}: choose from {known}")
        found.append(_asked(story, story, endpoints[ask]))
    return found


def _asked(pair: str, story: str, endpoint: Endpoint, **known: Any) -> Asked:  # noqa: ANN401  (fields of the row)
    return Asked(
        key=f"{pair}/{endpoint.id}",
        study=NAME,
        pair=pair,
        story=story,
        ask=endpoint.id,
        family=endpoint.family,
        question=endpoint.full_question,
        prefix=endpoint.prefix,
        levels=endpoint.labels,
        **({"direction": endpoint.direction} | known),
    )


def of_pairs(decisions: Iterable[Asked]) -> dict[str, list[Asked]]:
    """Group decisions by their pair."""
    found: dict[str, list[Asked]] = {}
    for one in decisions:
        found.setdefault(one.pair, []).append(one)
    return found


def decision_prompts(
    decisions: Sequence[Asked],
    prompts: Sequence[Prompt],
    responses: Sequence[Response],
    *,
    swapped: bool,
    likelihoods: bool = True,
) -> Iterator[Prompt]:
    """Ask for every decision after the reasoning of each telling and, of the arms, after that of the other arm.

    `prompts` and `responses` are those of the reasoning. Where the other arm's reasoning is the own word for word,
    nothing is asked: the answer is known. Without `likelihoods` a reply is asked for.
    """
    said = {one.key: one.replies[0] for one in responses if not is_decision(one.key)}
    asked = of_pairs(decisions)
    for prompt in prompts:
        case, own = CaseKey.parse(prompt.key), said[prompt.key]
        texts = {"": own}
        if swapped and case.version in ROLES:
            other = said[str(case._replace(version=OTHER[case.version]))]
            texts |= {} if other == own else {SWAPPED: other}
        for decision in asked[case.unit]:
            for rereading, text in texts.items():
                key = str(case._replace(decision=decision.ask, rereading=rereading))
                yield _prompt(prompt, key, decision, text, likelihoods=likelihoods)


def _prompt(prompt: Prompt, key: str, decision: Asked, reasoning: str, *, likelihoods: bool) -> Prompt:
    case = prompt.turns[0]
    asked: dict[str, Any] = {
        "key": key,
        "prefix": decision.prefix,
        "turns": (case, decision.question),
        "given": (reasoning,),
        "candidates": decision.levels,
        # What follows the same reasoning shares it.
        "stem": case,
        "lead": reasoning,
        # That of a reasoning which is the last reply.
        "limit": None,
    }
    found = prompt.model_copy(update=asked)
    return found.scored() if likelihoods else found


def is_decision(key: str) -> bool:
    """Whether a key of the study is that of a decision, not of the reasoning before it."""
    return bool(CaseKey.parse(key).decision)


def decision_of(key: str) -> str:
    """Give the key of the decision that a prompt asks for: the pair's and the end-point's."""
    case = CaseKey.parse(key)
    return f"{case.unit}/{case.decision}"


def _tilt(scores: Sequence[float]) -> float:
    """Give the rise from the first to the last level of the least-squares line through their log likelihoods."""
    middle = (len(scores) - 1) / 2
    steps = [place - middle for place in range(len(scores))]
    slope = sum(step * score for step, score in zip(steps, scores, strict=True)) / sum(step**2 for step in steps)
    return slope * (len(scores) - 1)


def read_decision(response: Response, decision: Asked, said: str) -> Reading:
    """Read a decision from the likelihoods of its levels, or, where there are none, from what was `said`.

    Probabilities are a softmax of total log likelihoods, so that labels of unlike length or frequency start unlike:
    only arms that were asked the same are to be compared.
    """
    scores = log_likelihoods(response, "total")
    if not scores:
        labels = tuple(Answer(label=one, synonyms=(one,)) for one in decision.levels)
        chosen = read_generated(said, {"expected": labels}).label
        place = float(decision.levels.index(chosen)) if chosen else None
        return Reading(key=response.key, study=NAME, expected=place, chosen=chosen)
    from scipy.special import softmax

    shares = softmax([scores[one] for one in decision.levels])
    other, stereotyped = decision.towards[0], decision.towards[-1]
    return Reading(
        key=response.key,
        study=NAME,
        probabilities=dict(zip(decision.levels, shares.tolist(), strict=True)),
        expected=float(sum(place * share for place, share in enumerate(shares))),
        chosen=decision.levels[int(shares.argmax())],
        log_odds=scores[stereotyped] - scores[other] if len(scores) == len((stereotyped, other)) else None,
        tilt=_tilt([scores[one] for one in decision.levels]),
    )
