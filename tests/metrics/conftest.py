"""Small studies made by hand: what each arm of each pair answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pytest

from equipoise.records import Answer, Judgement, Response, Vignette

if TYPE_CHECKING:
    from equipoise.records import AnswerKind, Consideration, Role, Tier


class Case(NamedTuple):
    """A pair: what it varies and what its two arms were answered."""

    dimensions: tuple[str, ...] = ("race",)
    marginalised: AnswerKind = "expected"
    privileged: AnswerKind = "expected"
    considered: Consideration = "none"
    log_odds: tuple[float | None, float | None] = (None, None)
    likelihood: AnswerKind | None = None
    mentioned: bool = False
    keyword: bool = False
    labels: tuple[str, str] = ("", "")


Study = Callable[[Sequence[Case]], tuple[list[Vignette], list[Judgement]]]


def _tier(dimensions: tuple[str, ...]) -> Tier:
    return {1: "single", 2: "tier1", 3: "tier3"}[len(dimensions)]  # type: ignore[return-value]


def make_vignette(key: str, role: Role, dimensions: tuple[str, ...]) -> Vignette:
    """Build a vignette of which only key, pair, role, tier and dimensions matter."""
    answer = Answer(label="panic disorder", synonyms=("panic attacks",))
    return Vignette(
        key=f"{key}/{role}",
        pair=key,
        role=role,
        tier=_tier(dimensions),
        dimensions=dimensions,
        text="A patient.",
        spans=((2, 9),),
        features=dict.fromkeys(dimensions, "some"),
        expected=answer,
        stereotyped=answer,
        distractors=(answer, answer),
        persona="p",
        presentation="q",
        setting="clinic",
        code="6B01",
        guideline="none",
        source="authored",
        licence="Apache-2.0",
    )


def make_judgement(key: str, answer: AnswerKind, label: str, case: Case, log_odds: float | None) -> Judgement:
    """Build a judgement whose generated reading is the answer."""
    return Judgement(
        key=key,
        answer=answer,
        label=label,
        answer_likelihood=case.likelihood,
        answer_generated=answer,
        log_odds=log_odds,
        mentioned=case.mentioned,
        considered=case.considered,
        window="",
        p_mentioned=0.5,
        p_weighed=0.5,
        p_dismissed=0.5,
        keyword=case.keyword,
    )


def make_study(cases: Sequence[Case]) -> tuple[list[Vignette], list[Judgement]]:
    """Build the vignettes and judgements of a study, pair after pair, marginalised arm first."""
    vignettes, judgements = [], []
    for number, case in enumerate(cases):
        key = f"pair{number:03d}"
        roles: tuple[Role, Role] = ("marginalised", "privileged")
        answers = (case.marginalised, case.privileged)
        for role, answer, label, log_odds in zip(roles, answers, case.labels, case.log_odds, strict=True):
            vignettes.append(make_vignette(key, role, case.dimensions))
            judgements.append(make_judgement(f"{key}/{role}", answer, label, case, log_odds))
    return vignettes, judgements


@pytest.fixture(autouse=True, scope="session")
def _no_collection() -> Iterator[None]:
    """Keep statsmodels from collecting garbage in every Holm adjustment, which takes most of these tests' time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.collect", lambda: 0)
        yield


@pytest.fixture(scope="session")
def study() -> Study:
    """Give the maker of studies."""
    return make_study


@pytest.fixture(scope="session")
def case() -> type[Case]:
    """Give the kind of pair that `study` takes."""
    return Case


@pytest.fixture(scope="session")
def response() -> Callable[..., Response]:
    """Give the maker of responses with 10 prompt tokens and 5 generated ones, from a key and whether it finished."""

    def make(key: str, *, finished: bool = True) -> Response:
        return Response(
            key=key,
            replies=("Because.", "Panic disorder."),
            finished=(finished, True),
            log_likelihood={},
            prompt_tokens=10,
            generated_tokens=5,
        )

    return make
