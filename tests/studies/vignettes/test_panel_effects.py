"""Tests of the panel's figures: each group against the control, over stories."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from builders import decision, judgement, reading
from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect
from equipoise.figures.options import Measure
from equipoise.materials.vignette import CONTROL
from equipoise.studies.decisions.panel_effects import panel_decision_effects
from equipoise.studies.vignettes.panel_effects import panel_effects, panel_vignette_effects

GROUPS = tuple(f"group-{number:02d}" for number in range(31))


def by_place(effects: list[Effect]) -> dict[tuple[str, str], Effect]:
    """Index effects by group and measure."""
    assert {row.family for row in effects} == {"panel"}
    return {(row.group, row.measure): row for row in effects}


def test_a_figure_is_the_mean_difference_from_the_control() -> None:
    """One outcome a story: the mean of group minus control with Student's t, as SciPy has it."""
    rows = {
        "gout": {CONTROL: 1.0, "black": 1.5, "woman": 0.0},
        "lupus": {CONTROL: 2.0, "black": 3.0, "woman": 2.0},
        "sepsis": {CONTROL: -1.0, "black": 0.5, "woman": -2.0},
    }
    figures = by_place(panel_effects(rows, "panel_shift", Measure()))
    # 0.5, 1 and 1.5 for Black patients; -1, 0 and -1 for women.
    black = figures["black", "panel_shift"]

    assert black.n == 3
    assert black.estimate == pytest.approx(1.0)
    assert black.neg_log10_p == pytest.approx(-math.log10(ttest_1samp([0.5, 1, 1.5], 0).pvalue))
    assert figures["woman", "panel_shift"].estimate == pytest.approx(-2 / 3)
    assert ("black", "panel_shift_minimum_detectable_effect") in figures


def test_samples_of_a_story_are_one_cluster() -> None:
    """Copies of every story change neither the interval nor the test."""
    rows = {f"s{number}": {CONTROL: 0.0, "black": 0.1 * number} for number in range(8)}
    copies = {f"{story}#{number}": told for story, told in rows.items() for number in (1, 2)}
    once, thrice = (
        by_place(panel_effects(told, "x", Measure()))["black", "x"].model_copy(update={"coverage": None})
        for told in (rows, rows | copies)
    )

    assert (once.n, thrice.n) == (8, 24)
    assert thrice.ci_low == pytest.approx(once.ci_low)
    assert thrice.neg_log10_p == pytest.approx(once.neg_log10_p)


def test_groups_are_adjusted_together_by_holm() -> None:
    """The smallest of k p-values is multiplied by k, and the others at least to that."""
    rows = {f"s{number}": {CONTROL: 0.0, "a": number - 1.0, "b": number - 4.6} for number in range(9)}
    figures = by_place(panel_effects(rows, "x", Measure()))
    raw, holm = (
        {name: getattr(figures[name, "x"], field) for name in "ab"} for field in ("neg_log10_p", "neg_log10_p_holm")
    )

    assert raw["a"] > raw["b"]
    assert holm["a"] == pytest.approx(raw["a"] - math.log10(2))
    assert holm["b"] == pytest.approx(raw["b"])


def test_yes_or_no_outcomes_are_tested_by_signs() -> None:
    """Six stories answered rightly about the control alone: each sign as likely, mid-p 2 x 1/2^7."""
    rows = {f"s{number}": {CONTROL: True, "black": number > 5} for number in range(10)}
    (effect,) = panel_effects(rows, "panel_accuracy", Measure())

    assert effect.estimate == pytest.approx(-0.6)
    assert effect.neg_log10_p == pytest.approx(-math.log10(2 * 0.5**7))
    assert effect.ci_high is not None
    assert effect.ci_high < 0


def test_a_story_without_the_control_is_refused() -> None:
    """It has nothing to be compared with."""
    with pytest.raises(EquipoiseError, match="panel: gout has no outcome of the control"):
        panel_effects({"gout": {"black": 1.0}}, "x", Measure())


def test_judgements_are_read_by_story_group_and_number() -> None:
    """Log odds give the shift, expected answers the accuracy; without likelihoods there is no shift."""
    told = [
        judgement("gout/control", log_odds=-1.0),
        judgement("gout/black", log_odds=1.0, answer="stereotyped"),
        judgement("gout/control#1", log_odds=-2.0),
        judgement("gout/black#1", log_odds=-1.0),
    ]
    figures = by_place(panel_vignette_effects(told, Measure()))
    silent = by_place(panel_vignette_effects([row.model_copy(update={"log_odds": None}) for row in told], Measure()))

    # (2 + 1) / 2 in nats; one of two expected answers is lost.
    assert figures["black", "panel_shift"].estimate == pytest.approx(1.5)
    assert figures["black", "panel_accuracy"].estimate == pytest.approx(-0.5)
    assert {measure for _, measure in silent} == {"panel_accuracy"}


def test_a_fair_model_is_rarely_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any of 31 groups of a fair model is found in at most 5 % of panels by Holm, in far more without it."""
    # Neither is part of the test, and both take longer than it.
    monkeypatch.setattr("equipoise.figures.effects.simulated_coverage", lambda *_: None)
    monkeypatch.setattr("equipoise.figures.effects.power.minimum_detectable_shift", lambda *_, **__: None)
    rng, n, accused, alone = np.random.default_rng(0), 200, 0, 0
    for _ in range(n):
        # Each telling moves by its own noise, the control's in every comparison; stories differ more than tellings.
        values = rng.normal(size=(24, 1)) * 3 + rng.normal(size=(24, 32))
        rows = {
            f"s{story}": dict(zip((CONTROL, *GROUPS), told, strict=True)) for story, told in enumerate(values.tolist())
        }
        figures = [row for row in panel_effects(rows, "x", Measure()) if row.measure == "x"]
        accused += any((row.neg_log10_p_holm or 0) >= -math.log10(0.05) for row in figures)
        alone += any((row.neg_log10_p or 0) >= -math.log10(0.05) for row in figures)

    # The standard error of a share of 200 that is 0.05 is 0.0154; three of them.
    assert accused / n <= 0.05 + 3 * 0.0154
    assert alone / n > 0.3


def test_decisions_about_a_group_are_compared_with_those_about_the_control() -> None:
    """Above 0 is in the end-point's direction; a figure is a mean over a story's end-points, then over stories."""
    triage, other = (decision(story, story=story, dimensions=(), grade=None) for story in ("gout", "lupus"))
    referral = decision(
        "gout",
        "referral",
        dimensions=(),
        grade=None,
        family="disbelief",
        levels=("no", "yes"),
        direction="higher",
        answer=None,
    )
    shares = {
        # Mean levels 1.5 and 0.5: a level lower, half of the scale. The guideline's level, high, is lost.
        "gout": [
            reading(triage, CONTROL, (0.1, 0.3, 0.6), tilt=3.0),
            reading(triage, "black", (0.6, 0.3, 0.1), tilt=1.0),
        ],
        # 0.2 likelier.
        "referral": [reading(referral, CONTROL, (0.7, 0.3)), reading(referral, "black", (0.5, 0.5))],
        # Half a level higher: a quarter of the scale, away.
        "lupus": [reading(other, CONTROL, (0.1, 0.3, 0.6)), reading(other, "black", (0.0, 0.0, 1.0))],
    }
    rows = [answer for readings in shares.values() for answer in readings]
    figures = {
        row.key.removeprefix("decisions/"): row
        for row in panel_decision_effects([triage, other, referral], rows, Measure())
    }
    means = {name.replace("black", "…"): figures[name].estimate for name in figures if name.endswith("/decision_shift")}

    assert means == {
        "cell/…/referral/decision_shift": pytest.approx(0.2),
        "cell/…/triage/decision_shift": pytest.approx((0.5 - 0.25) / 2),
        "panel/…/decision_shift": pytest.approx(((0.5 + 0.2) / 2 - 0.25) / 2),
        "panel_family/…/disbelief/decision_shift": pytest.approx(0.2),
        "panel_family/…/undertreatment/decision_shift": pytest.approx((0.5 - 0.25) / 2),
    }
    assert figures["cell/black/triage/level_shift"].estimate == pytest.approx((1.0 - 0.5) / 2)
    assert (figures["panel/black/decision_tilt"].n, figures["panel/black/decision_tilt"].estimate) == (1, 2.0)
    # Right about the control alone, then about both; nobody says what is right for a referral.
    assert figures["cell/black/triage/panel_accuracy"].estimate == -0.5
    assert "cell/black/referral/panel_accuracy" not in figures


def test_a_decision_that_cannot_be_read_is_left_out() -> None:
    """About the group or about the control: the story's other end-points remain."""
    triage, test = (decision("gout", ask, story="gout", dimensions=(), grade=None) for ask in ("triage", "test"))
    rows = [
        reading(triage, CONTROL, ()),
        reading(triage, "black", (1.0, 0.0, 0.0)),
        reading(test, CONTROL, (0.0, 0.0, 1.0)),
        reading(test, "black", (0.0, 1.0, 0.0)),
    ]
    figures = {row.key: row for row in panel_decision_effects([triage, test], rows, Measure())}

    assert figures["decisions/panel/black/decision_shift"].estimate == 0.5
    assert "decisions/cell/black/triage/decision_shift" not in figures
    assert figures["decisions/cell/black/triage/panel_accuracy"].estimate == 0.0
