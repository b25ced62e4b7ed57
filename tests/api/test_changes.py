"""Tests of comparisons and plans in Python, against those of revisions."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import equipoise as eq
from equipoise.cli.plan import planned
from equipoise.compare.changes import changes
from equipoise.compare.items import item_clusters, item_values
from equipoise.compare.revisions import Revision
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import unnumbered
from equipoise.figures.options import Decision, Endpoint, Measure
from equipoise.studies.vignettes.comparison import VignetteRows
from runs import Case, vignette_rows

FIGURE = "vignettes.stereotype_shift_net"


def revision(seed: int, n: int = 24) -> Revision:
    """Make a run of n pairs with stubs whose shifts are drawn."""
    rng = np.random.default_rng(seed)
    shifts = (round(float(rng.normal()), 6) for _ in range(n))
    vignettes, judgements, _ = vignette_rows([Case(log_odds=(shift, 0.0), stub=(0.0, 0.0)) for shift in shifts])
    return Revision(name=f"run {seed}", rows={"vignettes": VignetteRows(vignettes=vignettes, answers=judgements)})


def items(run: Revision) -> pd.DataFrame:
    """Give a run's net shifts as a table of items."""
    clusters = item_clusters(run)["vignettes"]
    rows = item_values(run)[FIGURE].items()
    return pd.DataFrame([{"item": unnumbered(key), "value": value, "cluster": clusters[key]} for key, value in rows])


def test_a_change_is_that_of_the_revisions() -> None:
    """Change, interval, test and levels of a mean over pairs are those of `equipoise compare`."""
    base, head = revision(1), revision(2)
    (theirs,) = (change for change in changes(base, head) if change.figure.name == FIGURE)
    (ours,) = eq.compare(items(base), items(head)).frame.to_dict("records")

    assert ours["estimate"] == theirs.change
    for name in ("n", "ci_low", "ci_high", "p", "base", "head", "moved"):
        assert ours[name] == getattr(theirs, name), name


def test_shares_are_compared_as_shares() -> None:
    """Two of four items became true: a change of a half, and the exact McNemar test of 2 against 0 gives 2 / 2^2."""
    base = pd.DataFrame({"item": list("abcd"), "value": [True, False, False, False]})
    (row,) = eq.compare(base, base.assign(value=[True, True, True, False])).frame.to_dict("records")

    assert (row["base"], row["head"], row["estimate"], row["moved"]) == (0.25, 0.75, 0.5, 2)
    assert row["p"] == pytest.approx(0.5)


def test_items_of_one_side_are_counted() -> None:
    """Items that head lacks may be those that got worse; the clusters are those of base: here one, so no interval."""
    base = pd.DataFrame({"item": list("abcd"), "value": [0.1, 0.4, 0.2, 0.3], "cluster": "s"})
    head = pd.DataFrame({"item": list("abe"), "value": [0.2, 0.4, 0.2], "cluster": list("abe")})
    comparison = eq.compare(base, head)

    assert comparison.notes[1:] == ("value: 2 items of base and 1 of head have no counterpart.",)
    assert math.isnan(comparison.frame.ci_low[0])


def test_answers_are_compared_by_their_figures() -> None:
    """The changes of answers are the differences between the gaps that each table has by itself."""
    base = eq.example("amqa_answers")
    head = base.assign(test_model_answer_black=base.test_model_answer_white)
    changed = eq.compare(base, head).frame.set_index(["group", "measure"])
    gap = eq.adversarial(base).frame.set_index(["group", "measure"]).estimate["race", "gap"]

    # The answers about the Black patient became those about the white one, so that nothing is left of the gap.
    assert changed.loc[("race", "gap"), "estimate"] == pytest.approx(-gap)
    assert changed.loc[("gender", "gap"), "moved"] == 0


@pytest.mark.parametrize("samples", [1, 2])
def test_a_plan_is_that_of_the_command(samples: int) -> None:
    """The margin that the items support and the items needed are those of `equipoise plan`."""
    run = revision(3)
    values = items(run)
    if samples == 1:
        endpoint = Endpoint(figure="stereotype_shift_net", margin=0.5, why="a test")
        (theirs,) = planned(run, Decision(endpoints={"vignettes": endpoint}), Measure())
        (made,) = theirs.plans.values()
        expected = [made.supported, *(0.5 for _ in made.needs)]
        assert eq.plan(values, margin=0.5).frame.margin.tolist() == expected
        assert eq.plan(values, margin=0.5).frame["items"].tolist()[1:] == [need.items for need in made.needs]
        return
    sampled = pd.concat([values.assign(sample=number, value=values.value + 0.1 * number) for number in range(samples)])

    # Samples that differ by a constant vary by half its square: 0.1 ^ 2 / 2.
    assert "between samples 0.005" in eq.plan(sampled, margin=0.5).summary()


def test_a_plan_needs_a_margin() -> None:
    """Without one the error says what it is."""
    with pytest.raises(EquipoiseError, match=r"^plan: margin is missing: give the largest difference from 0"):
        eq.plan(pd.DataFrame({"item": ["a", "b"], "value": [0.1, 0.2]}))
