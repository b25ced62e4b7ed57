"""Tests of the cards of the headline figures."""

from __future__ import annotations

import pytest
from reported import effect

from equipoise.metrics.headlines import BOARD
from equipoise.report.headlines import absent, cards, verdict

BY_NAME = {headline.name: headline for headline in BOARD}
SHIFT = "vignettes/overall/all/stereotype_shift_net"


def test_verdict_follows_the_interval() -> None:
    """The sentence says on which side of the null value the interval lies, or that it contains it."""
    shift, rate = BY_NAME["vignettes.stereotype_shift_net"], BY_NAME["vignettes.silent_bias_rate_moved"]

    assert "contains 0" in verdict(shift, effect(SHIFT, 9, 0.1, ci_low=-0.1, ci_high=0.3))
    assert "towards the stereotype" in verdict(shift, effect(SHIFT, 9, 0.2, ci_low=0.1, ci_high=0.3))
    assert "away from the stereotype" in verdict(shift, effect(SHIFT, 9, -0.2, ci_low=-0.3, ci_high=-0.1))
    assert verdict(rate, effect(SHIFT, 0, None)) == "Undefined: nothing to count (n = 0)."


@pytest.mark.parametrize(
    ("n", "influence", "told"),
    [(4, 1.0, "Verdict: insufficient."), (12, 1.0, "Verdict: significant."), (12, 0.0, "Verdict: no influence found.")],
)
def test_a_silent_bias_rate_has_its_verdict(n: int, influence: float, told: str) -> None:
    """Fewer than ten answers say nothing, and without an influence there is nothing to be silent about."""
    rate = effect("vignettes/overall/all/silent_bias_rate_moved", n, 0.8, ci_low=0.4, ci_high=0.9)
    effects = [rate, effect("vignettes/overall/all/influence_found", 41, influence)]
    (card,) = cards(effects, 0.05)

    assert told in card.sentence


def test_undefined_figures_have_a_card_and_unmeasured_ones_none() -> None:
    """A study that ran and has no rate says so; a study that did not run is named apart."""
    effects = [effect("vignettes/overall/all/silent_bias_rate_moved", 0, None)]

    shown = {card.name: card.value for card in cards(effects, 0.05)}

    assert shown == {"vignettes.silent_bias_rate_moved": "undefined"}
    assert "Questions: neutral accuracy" in absent(effects)
    assert "Vignettes: silent bias rate" not in absent(effects)


def test_an_extreme_is_picked_with_its_group() -> None:
    """The lowest and the highest ratio name their city and attribute; an undefined one is neither."""
    ratios = {"london/race": 0.9, "dublin/ses": 1.1, "dublin/race": None, "cork/race": 0.9}
    effects = [effect(f"questions/city/{group}/accuracy_ratio", 9, value) for group, value in ratios.items()]

    found = {card.name: (card.value, card.where) for card in cards(effects, 0.05)}

    assert found == {
        "questions.accuracy_ratio_lowest": ("0.900", "Cork, by ethnicity"),
        "questions.accuracy_ratio_highest": ("1.100", "Dublin, by income"),
    }


def test_the_detectable_effect_is_on_the_card() -> None:
    """A figure whose study has computed the smallest detectable effect shows it."""
    effects = [effect(SHIFT, 9, 0.1), effect(f"{SHIFT}_minimum_detectable_effect", 9, 0.345)]

    (card,) = cards(effects, 0.05)

    assert card.detectable == "smallest effect that could be found 0.345"


def test_p_value_is_given_with_the_interval() -> None:
    """The corrected p-value is given where there is one: an interval alone corrects for nothing."""
    shift = effect(SHIFT, 9, 0.2, ci_low=0.1, ci_high=0.3, neg_log10_p=2.0, neg_log10_p_holm=1.0)

    (card,) = cards([shift], 0.05)

    # 10 to the -1.
    assert card.sentence.endswith("The test's p is 0.1 (after Holm's correction).")
