"""Tests of the prior excess and of the groups of pairs by what epidemiology says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pydantic import ValidationError

from builders import ROLES, judgement, vignette
from equipoise.figures.effects import Effect, Group
from equipoise.figures.options import Measure
from equipoise.materials.pairs import Pair, pair_up
from equipoise.materials.versions import STUBS
from equipoise.materials.vignette import LogRatio
from equipoise.stats.clusters import clustered_mean
from equipoise.studies.vignettes.effects import vignette_effects
from equipoise.studies.vignettes.epidemiology import (
    KINDS,
    epidemiology_groups,
    prior_excess_effects,
    unknown_variance,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.materials.judgement import Judgement
    from equipoise.materials.vignette import Vignette

    Told = tuple[str, float, LogRatio | None]

OVERALL = Group("overall", "all", "vignettes")
OPTIONS = Measure(n_bootstrap=100)
STORIES, PAIRS, RUNS = 20, 2, 2_000


def known(value: float, reach: float = 0.0) -> LogRatio:
    """Give a log ratio that is known within `reach` nats."""
    return LogRatio(value=value, low=value - reach, high=value + reach)


def judged(told: Sequence[Told]) -> tuple[list[Vignette], list[Judgement]]:
    """Make pairs that do not shift with findings, of a story, with their stub shift and what epidemiology says."""
    rows = [
        vignette(f"p{n}", role, presentation=story, log_ratio=ratio)
        for n, (story, _, ratio) in enumerate(told)
        for role in ROLES
    ]
    judgements = [
        judgement(f"p{n}/{end}", log_odds=odds)
        for n, (_, stub, _) in enumerate(told)
        for end, odds in zip((*ROLES, *STUBS), (0.0, 0.0, stub, 0.0), strict=True)
    ]
    return rows, judgements


def pairs(told: Sequence[Told]) -> list[Pair]:
    """Make the pairs p0, p1 and so on."""
    return pair_up(*judged(told))


def excess(told: Sequence[Told]) -> Effect:
    """Estimate the prior excess of pairs."""
    (effect, _) = prior_excess_effects(OVERALL, pairs(told), OPTIONS)
    return effect


def test_the_excess_is_the_stub_shift_beyond_epidemiology() -> None:
    """Stubs that shift by 2 and 1 where epidemiology says 0.5 and 0.5 exceed it by 1.5 and 0.5, on average 1."""
    effect = excess([("a", 2.0, known(0.5)), ("b", 1.0, known(0.5)), ("c", 9.0, None)])

    assert (effect.n, effect.estimate) == (2, 1.0)


def test_without_bounds_the_interval_is_that_of_the_other_shifts() -> None:
    """With log ratios that are known exactly, the excess has the clustered t interval of its values."""
    effect = excess([("a", 1.0, known(0.0)), ("a", 2.0, known(0.0)), ("b", 4.0, known(0.0)), ("c", 0.0, known(0.0))])
    mean = clustered_mean([1.0, 2.0, 4.0, 0.0], ["a", "a", "b", "c"])

    assert mean is not None
    assert (effect.ci_low, effect.ci_high) == pytest.approx((mean.interval().low, mean.interval().high))


def test_pairs_of_a_story_and_group_share_the_error_of_their_log_ratio() -> None:
    """Uniform within ±1 has variance 4 / 12: one shared by 2 of 4 pairs weighs 1/4, those of the others 1/16 each."""
    told = [("a", 0.0, known(0.0, 1)), ("a", 0.0, known(0.0, 1)), ("a", 0.0, known(0.5, 1)), ("b", 0.0, known(0.0, 1))]

    assert unknown_variance(pairs(told)) == pytest.approx((1 / 4 + 1 / 16 + 1 / 16) / 3)


def test_what_is_not_known_of_epidemiology_widens_the_interval() -> None:
    """Values without any spread have an interval, from the bounds of the log ratios alone: sqrt(0.12 / 2 / 12)."""
    effect = excess([("a", 1.0, known(0.0, 0.6)), ("b", 1.0, known(0.0, 0.6))])
    error = math.sqrt(1.2**2 / 12 / 2)

    assert effect.ci_high is not None
    assert effect.estimate == 1.0
    # Two stories: Student's t with one degree of freedom, 12.706.
    assert effect.ci_high - 1.0 == pytest.approx(12.706 * error, rel=1e-4)


@pytest.mark.parametrize("common", [False, True])
def test_the_interval_covers_the_true_excess(common: bool) -> None:  # noqa: FBT001  (a parameter)
    """95 % of intervals or more contain it, whether stories' log ratios err independently or all in one direction."""
    rng = np.random.default_rng(0)
    reach, truth, covered = 1.0, 0.4, 0
    names = [f"s{number}" for number in range(STORIES) for _ in range(PAIRS)]
    unseen = unknown_variance(pairs([(name, 0.0, known(0.0, reach)) for name in names]))
    for _ in range(RUNS):
        # The true log ratio of a story lies anywhere within its bounds around the written value, 0.
        ratio = np.repeat(rng.uniform(-reach, reach, size=STORIES), PAIRS)
        if common:
            # The mean of all errors, as large as that of independent ones, and no spread between stories.
            ratio = np.full(STORIES * PAIRS, ratio.mean())
        model = truth + np.repeat(rng.normal(scale=0.5, size=STORIES), PAIRS) + rng.normal(size=STORIES * PAIRS)
        mean = clustered_mean((model + ratio).tolist(), names, unseen)
        assert mean is not None
        covered += mean.interval().low <= truth <= mean.interval().high

    # Two standard errors of a simulated share of 95 % are 1 %.
    assert covered / RUNS >= 0.94
    # Errors that are seen and added are counted twice; those that are not seen are counted once.
    assert covered / RUNS <= (0.96 if common else 0.995)


def test_pairs_are_grouped_by_what_epidemiology_says() -> None:
    """Below 0.3 it is neutral, up to -0.5 it speaks against the error; the rest are stereotypes, neutral or not."""
    told = [(f"s{n}", 0.0, known(value)) for n, value in enumerate((-2.0, -0.5, -0.3, 0.29, 0.3, 2.0))]
    groups = {group.name: [pair.key for pair in members] for group, members in epidemiology_groups(pairs(told))}

    assert groups == {"neutral": ["p3"], "neglect": ["p0", "p1"], "stereotype": ["p2", "p3", "p4", "p5"]}


def test_the_net_shift_of_each_kind_stands_apart() -> None:
    """Each kind has its own net shift, of the pairs of the headline alone; imported cases have no kinds."""
    told = [(f"s{n}", stub, known(value)) for n, (stub, value) in enumerate(((1.0, -2.0), (3.0, 0.0), (5.0, 1.0)))]
    by_key = {row.key: row.estimate for row in vignette_effects(*judged(told), OPTIONS)}

    shifts = {kind: by_key[f"vignettes/epidemiology/{kind}/stereotype_shift_net"] for kind in KINDS}
    assert shifts == {"neglect": -1.0, "neutral": -3.0, "stereotype": -4.0}
    assert not list(epidemiology_groups(pairs([("a", 0.0, None)])))


@pytest.mark.parametrize(("low", "value", "high"), [(1, 0, 2), (0, 3, 2), (-7, 0, 7)])
def test_a_log_ratio_lies_within_bounds_that_are_not_too_wide(low: float, value: float, high: float) -> None:
    """A value outside its bounds, or bounds more than 12 nats apart, is refused."""
    with pytest.raises(ValidationError, match="at most 12 nats apart; correct them"):
        LogRatio(value=value, low=low, high=high)


def test_base_rates_that_follow_epidemiology_on_average_explain_the_whole_difference() -> None:
    """Shifts without findings of 0 and 2 nats follow log ratios of 1 in full: of the difference nothing is left."""
    rows, judgements = judged([("a", 0.0, known(1.0)), ("b", 2.0, known(1.0))])
    # Odds of 1 to 4 that rise by the factor e.
    share = math.e / (4 + math.e)
    told = [
        row.model_copy(update={"p_error": share if row.key.endswith("/marginalised") else 0.2}) for row in judgements
    ]
    by_key = {row.key: row.estimate for row in vignette_effects(rows, told, OPTIONS)}

    assert by_key["vignettes/overall/all/error_difference"] == pytest.approx(share - 0.2)
    assert by_key["vignettes/overall/all/error_difference_unexplained"] == pytest.approx(0.0, abs=1e-9)


def test_base_rates_that_no_answer_with_findings_has_are_no_bias() -> None:
    """Base rates shift by -3 nats, as those of epidemiology; findings leave nothing of it, and the net shift is 3."""
    by_key = {row.key: row for row in vignette_effects(*judged([(name, -3.0, known(-3.0)) for name in "abc"]), OPTIONS)}
    net, left = (by_key[f"vignettes/overall/all/stereotype_shift_net{kind}"] for kind in ("", "_unexplained"))

    assert net.estimate == pytest.approx(3.0)
    # Without an interval above 0, what is left keeps the verdict from *biased*.
    assert (left.estimate, left.interval) == (0.0, None)
