"""Tests of the judgement of one figure's change: its limits, and how often it is wrong in simulations."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from equipoise.compare.judging import FEWEST, Shared, judge_change, limits, unseen
from equipoise.figures.figure import Figure
from equipoise.figures.options import Component, Measure
from equipoise.figures.result import UNDECIDED
from equipoise.figures.verdicts import NOT_WORSE, WORSE
from equipoise.stats.clusters import clustered_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from gate import ALPHA, SHAPES, judge, read, table  # noqa: E402

SHARE = Figure(name="x.y", measure="y", title="y", null=0.0, value=float, unit="questions", change="mean")
OPTIONS = Measure()
ROWS = {(row.shape, row.n): row for row in read()}


def shared(changes: Sequence[float]) -> Shared:
    """Change items that were 0, each a cluster of its own."""
    return Shared([0.0] * len(changes), list(changes), [str(place) for place in range(len(changes))])


def component(margin: float) -> Component:
    """Declare a margin."""
    return Component(margin=margin, why="made up")


def test_not_worse_takes_the_wider_of_two_limits() -> None:
    """Student's upper limit of values with a tail above is below that corrected for skewness."""
    values = np.random.default_rng(0).exponential(size=60).tolist()
    mean = clustered_mean(values, [str(place) for place in range(60)])

    assert mean is not None
    high = limits(SHARE, shared(values), OPTIONS, simulated=False).high
    assert high == pytest.approx(mean.skewed_interval(0.05).high)
    assert high > mean.interval(0.05).high


def test_a_limit_that_simulations_miss_does_not_count() -> None:
    """Of 39 values of 0.01 and one of 1, a sample of 40 without the latter, 36 % of all, ends below the mean."""
    values = [0.01, 0.011] * 19 + [0.01, 1.0]

    # 0.363, where 0.05 is the most.
    assert (39 / 40) ** 40 > 0.05
    assert limits(SHARE, shared(values), OPTIONS).high == math.inf
    assert limits(SHARE, shared(values), OPTIONS, simulated=False).high < 1.0


def test_a_change_of_nearly_all_is_worse_although_it_is_skewed() -> None:
    """Ten of twelve answers lost: the correction for skewness reaches below 0, and Student's limit is never missed."""
    values = [1.0] * 10 + [0.0] * 2
    mean = clustered_mean(values, [str(place) for place in range(12)])

    assert mean is not None
    assert mean.skewed_interval(0.05).low < 0.0
    assert judge_change(SHARE, shared(values), component(0.05), OPTIONS, 0.05) == WORSE


@pytest.mark.parametrize(("n", "because"), [(71, "72 are needed"), (72, "")])
def test_values_that_did_not_move_take_a_sample(n: int, because: str) -> None:
    """0.025^(1/n) is at least 0.95 from 72 on."""
    assert (0.025 ** (1 / n) >= 0.95) == (n >= 72)
    assert unseen(SHARE, shared([0.0] * n), 0.05, 0.05).endswith(because)
    assert (judge_change(SHARE, shared([0.0] * n), component(0.05), OPTIONS, 0.05) == NOT_WORSE) == (not because)


def test_too_few_items_are_never_enough() -> None:
    """Without a trace of a change in a tenth of them: 0.9^28 is 0.052, 0.9^29 is 0.047."""
    moved = [0.001, -0.001] * 14

    assert (0.9**28 > 0.05 > 0.9**29, FEWEST) == (True, 29)
    assert unseen(SHARE, shared(moved), 0.05, 0.05).startswith("28 stories or questions are too few")
    assert unseen(SHARE, shared([*moved, 0.001]), 0.05, 0.05) == ""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_change_of_the_margin_is_rarely_not_worse(shape: object) -> None:
    """Of 100 draws at most 11 are: with a probability of 0.05 each, more are drawn in one of a hundred tests."""
    kind = next(candidate for candidate in SHAPES if candidate is shape)
    rng = np.random.default_rng(7)
    words = [judge(kind, kind.draw(rng, kind.sizes[1], 1.0), rng) for _ in range(100)]

    assert words.count(NOT_WORSE) <= 11
    assert {*words} <= {NOT_WORSE, UNDECIDED, WORSE}


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: f"{row.shape}, {row.n}")
def test_the_committed_simulation_keeps_what_is_promised(row: object) -> None:
    """A false *not worse* has a probability of at most 0.05, up to two standard errors of its share."""
    simulated = next(candidate for candidate in ROWS.values() if candidate is row)

    assert simulated.false_not_worse <= ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / simulated.draws)


def test_the_page_has_the_committed_rows() -> None:
    """The table of the documentation is what `benchmarks/gate.py --table` prints."""
    page = (ROOT / "docs/verdicts.md").read_text(encoding="utf-8")

    assert page.partition("<!-- gate -->\n")[2].partition("\n<!-- /gate -->")[0] == table([*ROWS.values()])
