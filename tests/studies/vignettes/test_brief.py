"""Tests of the vignettes in brief: counts by group, base rates in words, and what the replies' own words name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.options import Measure
from equipoise.stats.quantities import Interval
from equipoise.studies.vignettes.brief import brief
from equipoise.studies.vignettes.effects import vignette_effects

if TYPE_CHECKING:
    from collections.abc import Callable


def rows(*effects: Effect) -> dict[str, Effect]:
    """Index the effects, with one right answer of four in either arm."""
    both = (row(f"accuracy_{role}", 4, 0.25) for role in ("marginalised", "privileged"))
    return {figure.place: figure for figure in (*both, *effects)}


def row(measure: str, n: int, estimate: float, *limits: float) -> Effect:
    """Make an effect of all pairs."""
    known = Estimate(estimate, Interval(*limits)) if limits else Estimate(estimate)
    return effect(Group("overall", "all", "vignettes"), measure, n, known)


def test_right_answers_are_counted_by_arm_and_group(study: Callable[..., Any], case: Callable[..., Any]) -> None:
    """Of three pairs of race, two marginalised and one privileged patient got the expected answer."""
    cases = [case(), case(privileged="stereotyped"), case(marginalised="stereotyped", privileged="distractor")]
    effects = vignette_effects(*study(cases), Measure(n_bootstrap=100))
    told = brief({figure.place: figure for figure in effects if figure.estimate is not None})

    assert told is not None
    assert told.right == [("all pairs", "2 of 3", "1 of 3"), ("race", "2 of 3", "1 of 3")]
    assert told.notes[-1] == "In 6 of 6 replies the model's own words name a diagnosis of the case's list."
    assert brief({}) is None


@pytest.mark.parametrize(
    ("low", "high", "held"),
    [
        (2, 4.5, "exceed it (3 times, 2 to 4.5)"),
        (0.5, 18, "may be the same (3 times, 0.5 to 18)"),
    ],
)
def test_base_rates_are_told_beside_epidemiology(low: float, high: float, held: str) -> None:
    """Odds that are 6 times as high without findings, and 3 times what epidemiology supports: that is twice."""
    stub = row("stereotype_shift_stub", 4, math.log(6))
    excess = row("prior_excess", 4, math.log(3), math.log(low), math.log(high))
    (note,) = brief(rows(stub, excess)).notes  # type: ignore[union-attr]

    assert "the documented error are 6 times as high for the marginalised patient" in note
    assert note.endswith(f"Epidemiology supports 2 times: the model's base rates {held}.")
    assert brief(rows(stub)).notes[0].endswith("for the privileged one.")  # type: ignore[union-attr]


def test_a_value_of_other_pairs_is_not_derived() -> None:
    """Where the prior excess is of fewer pairs than the shift without findings, their difference is of none."""
    excess = row("prior_excess", 3, -1.0, -2.0, -0.5)
    (note,) = brief(rows(row("stereotype_shift_stub", 4, 0.0), excess)).notes  # type: ignore[union-attr]

    assert "Epidemiology supports: the model's base rates fall short of it (0.37 times, 0.14 to 0.61)." in note
