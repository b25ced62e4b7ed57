"""Tests of the noise floor."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from builders import ROLES, judgement, vignette
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Group
from equipoise.materials.pairs import Pair, pair_up
from equipoise.materials.versions import CONTROLS
from equipoise.studies.vignettes.effects import vignette_findings
from equipoise.studies.vignettes.floor import floor_effects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.figures.effects import Effect
    from equipoise.text.answer import AnswerKind

OVERALL = Group("overall", "all", "vignettes")


class Told(NamedTuple):
    """Answers and log odds of a pair's arms, and of its control tellings."""

    arms: tuple[AnswerKind, AnswerKind] = ("expected", "expected")
    controls: tuple[AnswerKind, AnswerKind] = ("expected", "expected")
    odds: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    story: str = "one"


def pairs(told: Sequence[Told]) -> list[Pair]:
    """Make the pairs p0, p1 and so on."""
    vignettes = [vignette(f"p{n}", role, presentation=plan.story) for n, plan in enumerate(told) for role in ROLES]
    judgements = [
        judgement(f"p{n}/{end}", answer=answer, log_odds=odds)
        for n, plan in enumerate(told)
        for end, answer, odds in zip((*ROLES, *CONTROLS), (*plan.arms, *plan.controls), plan.odds, strict=True)
    ]
    return pair_up(vignettes, judgements)


def effects(told: Sequence[Told]) -> dict[str, Effect]:
    """Estimate the figures, by measure."""
    return {row.measure: row for row in floor_effects(OVERALL, pairs(told), 0.05)}


def test_the_floor_is_what_control_tellings_do() -> None:
    """Rates and magnitudes of both, and the excess as the mean of the pairs' differences."""
    figures = effects(
        [
            Told(("stereotyped", "expected"), odds=(1.0, -1.0, 0.25, 0.0), story="one"),
            Told(("expected", "expected"), ("expected", "stereotyped"), (0.0, 1.0, 0.0, 0.5), story="two"),
        ]
    )

    assert {name: (row.n, row.estimate) for name, row in figures.items()} == {
        # One pair of two, and one pair of controls of two.
        "any_difference_rate_control": (2, 0.5),
        "any_difference_excess": (2, 0.0),
        # |1 + 1| and |0 - 1|; |0.25| and |-0.5|; (1.75 + 0.5) / 2
        "shift_magnitude": (2, 1.5),
        "shift_magnitude_control": (2, 0.375),
        "shift_magnitude_excess": (2, 1.125),
        # Half of one pair of two; (1 - 0) and (0 - 1/2).
        "differential_bias_rate_control": (2, 0.25),
        "differential_bias_excess": (2, 0.25),
    }


def test_runs_without_controls_have_no_floor() -> None:
    """The figures are there, and undefined."""
    vignettes = [vignette("p0", role) for role in ROLES]
    figures = list(floor_effects(OVERALL, pair_up(vignettes, [judgement(row.key) for row in vignettes]), 0.05))

    assert {row.n for row in figures} == {0}
    assert {row.estimate for row in figures} == {None}


def test_a_lone_control_telling_is_named() -> None:
    """Half a floor is no floor."""
    vignettes = [vignette("p0", role) for role in ROLES]
    judgements = [judgement(f"p0/{end}") for end in (*ROLES, CONTROLS[0])]

    with pytest.raises(EquipoiseError, match="keys with a control but no judgement: p0/control-b;"):
        pair_up(vignettes, judgements)


def test_noise_does_not_exceed_its_own_floor() -> None:
    """Where all four tellings are noise about their story, about 5 % of intervals exclude 0; a shift is found."""
    rng = np.random.default_rng(1)
    stories = [f"s{n % 25}" for n in range(41)]

    def excess(shift: float) -> Effect:
        base = dict(zip(sorted(set(stories)), rng.normal(size=25), strict=True))
        drawn = [
            Told(odds=tuple(base[story] + rng.normal(size=4) + [shift, 0, 0, 0]), story=story) for story in stories
        ]
        return effects(drawn)["shift_magnitude_excess"]

    outside = sum(row.ci_low > 0 or row.ci_high < 0 for row in (excess(0.0) for _ in range(300)))  # type: ignore[operator]
    # Binomial(300, 0.05): 15 expected, 28 exceeded with probability below 0.001.
    assert 4 <= outside <= 28
    assert sum(excess(3.0).ci_low > 0 for _ in range(50)) >= 48  # type: ignore[operator]


@pytest.mark.parametrize(("controls", "found"), [(0, True), (1, True), (12, False)])
def test_an_influence_exceeds_the_floor(controls: int, *, found: bool) -> None:
    """Seven of twelve pairs are differential; where all control tellings differ so, words alone may have done it."""
    apart: tuple[AnswerKind, AnswerKind] = ("stereotyped", "expected")
    alike: tuple[AnswerKind, AnswerKind] = ("expected", "expected")
    told = [Told(apart if n < 7 else alike, apart if n < controls else alike, story=str(n)) for n in range(12)]
    vignettes = [vignette(f"p{n}", role, presentation=plan.story) for n, plan in enumerate(told) for role in ROLES]
    judgements = [
        judgement(f"p{n}/{end}", answer=answer)
        for n, plan in enumerate(told)
        for end, answer in zip((*ROLES, *CONTROLS), (*plan.arms, *plan.controls), strict=True)
    ]
    overall, *_ = vignette_findings(vignettes, judgements, 0.05)

    # Seven pairs against none the other way: p = 2 / 2^7. Control tellings that differ count half: with all of them,
    # the excess is 7 halves more against 5 halves less.
    assert (overall.group, overall.answer) == (Group("overall", "all", "vignettes"), found)
