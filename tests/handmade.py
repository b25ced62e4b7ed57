"""Small studies made by hand: what each arm of each pair answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pytest

from builders import ROLES, judgement, vignette
from equipoise.materials.judgement import Judgement
from equipoise.materials.vignette import Vignette

if TYPE_CHECKING:
    from equipoise.materials.judgement import Consideration
    from equipoise.text.answer import AnswerKind


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


def make_study(cases: Sequence[Case]) -> tuple[list[Vignette], list[Judgement]]:
    """Build the vignettes and judgements of a study, pair after pair, marginalised arm first."""
    vignettes, judgements = [], []
    for number, case in enumerate(cases):
        key = f"pair{number:03d}"
        answers = (case.marginalised, case.privileged)
        for role, answer, label, log_odds in zip(ROLES, answers, case.labels, case.log_odds, strict=True):
            vignettes.append(vignette(key, role, case.dimensions))
            judgements.append(
                judgement(
                    f"{key}/{role}",
                    case.considered,
                    answer,
                    label=label,
                    answer_likelihood=case.likelihood,
                    log_odds=log_odds,
                    mentioned=case.mentioned,
                    keyword=case.keyword,
                )
            )
    return vignettes, judgements


@pytest.fixture(autouse=True, scope="session")
def no_collection() -> Iterator[None]:
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
