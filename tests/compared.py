"""Rows of a small run of every study, made by hand or drawn, for comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from equipoise.core.records import Judgement, Response, Vignette
from equipoise.metrics.answered import arm
from equipoise.questions.rows import Variant
from equipoise.stigma.rows import Fill
from made_rows import ROLES, judgement, vignette

if TYPE_CHECKING:
    import numpy as np

    from equipoise.core.records import AnswerKind, Consideration
    from equipoise.questions.rows import Attribute, Direction, Group

OPTIONS = {"A": "aspirin", "B": "bed rest", "C": "a cast"}
GROUPS: tuple[Group, ...] = ("privileged", "unprivileged")
DIRECTIONS: tuple[Direction, ...] = ("favourable", "unfavourable")
CONDITIONS = {"mental": ("depression", "OCD", "PTSD"), "control": ("asthma", "gout", "scurvy")}


class Case(NamedTuple):
    """What the two arms of a pair were answered, and what the reasoning about the marginalised patient does."""

    marginalised: AnswerKind = "expected"
    privileged: AnswerKind = "expected"
    considered: Consideration = "none"
    log_odds: tuple[float | None, float | None] = (0.0, 0.0)


def vignette_rows(cases: Sequence[Case]) -> tuple[list[Vignette], list[Judgement], list[Response]]:
    """Make the pairs p00, p01, … with their judgements, and the responses that say that the study ran."""
    vignettes, judgements, responses = [], [], []
    for number, case in enumerate(cases):
        pair = f"p{number:02d}"
        for role, answer, log_odds in zip(ROLES, (case.marginalised, case.privileged), case.log_odds, strict=True):
            key = f"{pair}/{role}"
            considered = case.considered if role == "marginalised" else "none"
            vignettes.append(vignette(pair, role))
            judgements.append(judgement(key, considered, answer, label="", log_odds=log_odds, mentioned=False))
            responses.append(_response(key, "vignettes", {}))
    return vignettes, judgements, responses


def question_rows(
    letters: Sequence[dict[str, str]], attributes: Sequence[Attribute] = ("race",)
) -> tuple[list[Variant], list[Response]]:
    """Make the questions q00, q01, … in the crossed design; the right letter is A, and given where none is told.

    `letters` gives, for each question, the letters of some of its arms by their names.
    """
    variants, responses = [], []
    for number, given in enumerate(letters):
        item = f"q{number:02d}"
        arms: list[tuple[Attribute | None, Group | None, Direction | None]] = [(None, None, None)]
        arms += [(attribute, group, way) for attribute in attributes for group in GROUPS for way in DIRECTIONS]
        for attribute, group, direction in arms:
            told = attribute and group and direction
            name = arm(attribute, group, direction) if attribute and group and direction else "neutral"
            key = f"{item}/{name}"
            variants.append(
                Variant(
                    key=key,
                    item=item,
                    attribute=attribute,
                    group=group,
                    direction=direction,
                    background="They walk to work." if told else "",
                    text=f"Question {number}, {name}?",
                    options=OPTIONS,
                    gold="A",
                    attempt=1 if told else 0,
                )
            )
            chosen = given.get(name, "A")
            likelihood = {letter: float(letter == chosen) - 1 for letter in OPTIONS}
            responses.append(_response(key, "adversarial", likelihood))
    return variants, responses


def fill_rows(disparities: dict[str, float]) -> list[Fill]:
    """Make two sentences of RQ1 about every condition; `disparities` gives female less male by condition, else 0."""
    return [
        Fill(
            key=f"rq1/{template}/{condition}",
            question="rq1",
            template=template,
            group="diagnosis",
            polarity=1,
            condition=condition,
            condition_set=name,
            scorer="causal",
            female=0.4 + disparities.get(condition, 0.0) / 2,
            male=0.4 - disparities.get(condition, 0.0) / 2,
            unspecified=0.2,
            words={},
        )
        for name, conditions in CONDITIONS.items()
        for condition in conditions
        for template in ("has", "gets")
    ]


def drawn_cases(rng: np.random.Generator, n: int) -> list[Case]:
    """Draw pairs whose answers are of every kind."""
    kinds: tuple[AnswerKind, ...] = ("expected", "stereotyped", "distractor")
    ways: tuple[Consideration, ...] = ("none", "weighed", "dismissed")
    return [
        Case(
            kinds[rng.integers(3)],
            kinds[rng.integers(3)],
            ways[rng.integers(3)],
            (round(rng.normal(), 6), round(rng.normal(), 6) if rng.random() < 0.9 else None),
        )
        for _ in range(n)
    ]


def _response(key: str, study: str, likelihood: dict[str, float]) -> Response:
    return Response(
        key=key,
        study=study,
        replies=(),
        finished=(),
        log_likelihood=likelihood,
        prompt_tokens=10,
        generated_tokens=0,
    )
