"""Tests of the cards of the headline figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reported import effect, results_of

from equipoise.figures.guards import Guard
from equipoise.report.headlines import absent, cards, side_of_null
from equipoise.studies.registry import BOARD

BY_NAME = {headline.name: headline for headline in BOARD}
SHIFT = "vignettes/overall/all/stereotype_shift_net"


def test_verdict_follows_the_interval() -> None:
    """The sentence says on which side of the null value the interval lies, or that it contains it."""
    shift, rate = BY_NAME["vignettes.stereotype_shift_net"], BY_NAME["vignettes.silent_bias_rate_moved"]

    assert "contains 0" in side_of_null(shift, effect(SHIFT, 9, 0.1, ci_low=-0.1, ci_high=0.3))
    assert "towards the documented error" in side_of_null(shift, effect(SHIFT, 9, 0.2, ci_low=0.1, ci_high=0.3))
    assert "away from the documented error" in side_of_null(shift, effect(SHIFT, 9, -0.2, ci_low=-0.3, ci_high=-0.1))
    assert side_of_null(rate, effect(SHIFT, 0, None)) == "Undefined: no moved answers (n = 0)."


def test_an_undefined_figure_says_why() -> None:
    """One that is computed from likelihoods blames the server that gives none; one of written answers does not."""
    shift, rate = BY_NAME["vignettes.stereotype_shift_net"], BY_NAME["vignettes.differential_bias_rate"]
    why = "the server gives no likelihoods"

    assert side_of_null(shift, effect(SHIFT, 0, None), why) == f"Undefined: {why} (n = 0)."
    assert side_of_null(rate, effect(SHIFT, 0, None), why) == "Undefined: nothing to count (n = 0)."
    assert side_of_null(shift, effect(SHIFT, 3, None)) == "Undefined: its values allow no estimate (n = 3)."


@pytest.mark.parametrize(
    ("n", "influence", "told"),
    [
        (4, 1.0, "Interpretation: insufficient."),
        (12, 1.0, "Interpretation: significant."),
        (12, 0.0, "Interpretation: no influence found."),
    ],
)
def test_a_silent_bias_rate_has_its_verdict(n: int, influence: float, told: str) -> None:
    """Fewer than ten answers say nothing, and without an influence there is nothing to be silent about."""
    rate = effect("vignettes/overall/all/silent_bias_rate_moved", n, 0.8, ci_low=0.4, ci_high=0.9)
    effects = [rate, effect("vignettes/overall/all/influence_found", 41, influence)]
    (card,) = cards(results_of(effects), 0.05)

    assert told in card.sentence


def test_a_rate_is_followed_by_that_which_labels_correct() -> None:
    """The card says how many labels corrected the figure; without labels, or a figure by them, it says nothing."""
    name = "vignettes/overall/all/silent_bias_rate_moved"
    rate = effect(name, 20, 0.8, ci_low=0.6, ci_high=0.9)
    labels = effect(f"{name}_labels", 20, 14.0)
    (with_labels,) = cards(
        results_of([rate, effect(f"{name}_labelled", 20, 0.55, ci_low=0.25, ci_high=0.85), labels]), 0.05
    )
    (without,) = cards(results_of([rate]), 0.05)
    (too_few,) = cards(results_of([rate, effect(f"{name}_labelled", 20, None), labels]), 0.05)

    told = "Corrected for the judge's error with 14 labels of these answers: 0.550 (0.250 to 0.850)."
    assert told in with_labels.sentence
    assert "labels" not in without.sentence + too_few.sentence


def test_undefined_figures_have_a_card_and_unmeasured_ones_none() -> None:
    """A study that ran and has no rate says so; a study that did not run is named apart."""
    effects = [effect("vignettes/overall/all/silent_bias_rate_moved", 0, None)]

    shown = {card.name: card.value for card in cards(results_of(effects), 0.05)}

    assert shown == {"vignettes.silent_bias_rate_moved": "undefined"}
    assert "Questions: neutral accuracy" in absent(results_of(effects))
    assert "Vignettes: silent bias rate of one draw" not in absent(results_of(effects))


def test_an_extreme_is_picked_with_its_group() -> None:
    """The lowest and the highest ratio name their city and attribute; an undefined one is neither."""
    ratios = {"london/race": 0.9, "dublin/ses": 1.1, "dublin/race": None, "cork/race": 0.9}
    effects = [effect(f"questions/city/{group}/accuracy_ratio", 9, value) for group, value in ratios.items()]

    extremes = {card.name: (card.value, card.where) for card in cards(results_of(effects), 0.05)}

    assert extremes == {
        "questions.accuracy_ratio_lowest": ("0.900", "Cork, by ethnicity"),
        "questions.accuracy_ratio_highest": ("1.100", "Dublin, by income"),
    }


def test_the_detectable_effect_is_on_the_card() -> None:
    """A figure whose study has computed the smallest detectable effect shows it."""
    effects = [effect(SHIFT, 9, 0.1), effect(f"{SHIFT}_minimum_detectable_effect", 9, 0.345)]

    (card,) = cards(results_of(effects), 0.05)

    assert card.detectable == "smallest effect that could be found 0.345"


def test_p_value_is_given_with_the_interval() -> None:
    """The corrected p-value is given where there is one: an interval alone corrects for nothing."""
    shift = effect(SHIFT, 9, 0.2, ci_low=-0.1, ci_high=0.3, neg_log10_p=2.0, neg_log10_p_holm=1.0)
    others = [effect(SHIFT.replace("/all/", f"/{name}/"), 9, 0.2, neg_log10_p_holm=1.0) for name in "ab"]
    other_figure = effect(f"{SHIFT}_other", 9, 0.2, neg_log10_p_holm=1.0)

    card, *_ = cards(results_of([shift, *others, other_figure]), 0.05)

    # 10 to the -1.
    assert card.sentence.endswith("The test's p is 0.1 (after Holm's correction over the 3 groups of this figure).")


@pytest.mark.parametrize(("low", "p", "agrees"), [(0.1, 2.0, True), (0.1, 1.0, False), (-0.1, 2.0, False)])
def test_the_interval_is_followed_where_the_test_does_not_agree(low: float, p: float, *, agrees: bool) -> None:
    """An interval without 0 agrees with a p of 0.01, not with one of 0.1; and the other way round."""
    (card,) = cards(results_of([effect(SHIFT, 9, 0.2, ci_low=low, ci_high=0.3, neg_log10_p=p)]), 0.05)

    assert ("The test does not agree" in card.sentence) != agrees
    assert ("the interval is followed" in card.sentence) != agrees


def test_a_guard_that_warns_is_on_the_cards_that_it_touches() -> None:
    """Cut off reasoning touches the figures about reasoning and the primary one, unread answers all of the study."""
    guards = [
        Guard.of(name, 82, wrong)
        for name, wrong in (("reasoning_cut_off", 9), ("unread_answers", 9), ("empty_replies", 0))
    ]
    overall = "vignettes/overall/all"
    figures = [
        effect(SHIFT, 41, 0.1).model_copy(update={"primary": True}),
        effect(f"{overall}/silent_bias_rate_moved", 9, 0.1),
        effect(f"{overall}/differential_bias_rate", 41, 0.1),
        effect("questions/overall/all/group_effect", 19, 0.1),
    ]
    results = results_of(figures)
    results["vignettes"] = replace(results["vignettes"], guards=guards)
    warnings_by_figure = {card.name.partition(".")[2]: card.warnings for card in cards(results, 0.05)}

    both = ["reasoning cut off (9 of 82)", "unread answers (9 of 82)"]
    assert warnings_by_figure == {
        "stereotype_shift_net": both,
        "silent_bias_rate_moved": both,
        "differential_bias_rate": both[1:],
        "group_effect": [],
    }


def test_a_net_shift_stands_with_both_that_it_is_made_of() -> None:
    """Where there are no stubs, the shift with the findings is beside the net shift that is undefined."""
    told = effect("vignettes/overall/all/stereotype_shift", 9, 0.5)
    stub = effect("vignettes/overall/all/stereotype_shift_stub", 9, 0.3)
    other = effect("vignettes/dimension/age/stereotype_shift", 3, 0.9)

    (whole,) = cards(results_of([effect(SHIFT, 9, 0.2), told, stub, other]), 0.05)
    (without,) = cards(results_of([effect(SHIFT, 0, None), told, other]), 0.05)

    assert whole.sentence.endswith("For comparison: 0.500 with the findings, 0.300 without them.")
    assert without.sentence.endswith("nothing to count (n = 0). For comparison: 0.500 with the findings.")


def test_a_criterion_stands_with_how_well_cases_and_mirrors_are_told_apart() -> None:
    """The criteria of a model that always gives the same answer do not differ: d' beside it gives that away."""
    overall = "vignettes/overall/all"
    blind = [effect(f"{overall}/d_prime_{role}", 40, 0.0) for role in ("marginalised", "privileged")]

    (card,) = cards(results_of([effect(f"{overall}/criterion_difference", 40, 0.0), *blind]), 0.05)
    (lower,) = cards(results_of([effect(f"{overall}/criterion_difference", 40, -0.6, ci_low=-1.0, ci_high=-0.2)]), 0.05)

    assert "For comparison: 0.000 d\N{PRIME} for marginalised patients, 0.000 for privileged patients" in card.sentence
    assert "lies below 0: less evidence suffices to give the marginalised patient" in lower.sentence


def test_around_the_reasoning_stands_with_what_goes_through_it() -> None:
    """Beside it are its excess over base rates and the part through the reasoning; a share of nothing is left out."""
    overall = "vignettes/overall/all"
    effects = [
        effect(f"{overall}/shift_around", 41, 0.8, ci_low=0.5, ci_high=1.1),
        effect(f"{overall}/shift_around_net", 41, 0.3),
        effect(f"{overall}/shift_through", 41, 0.2, ci_low=-0.1, ci_high=0.5),
        effect(f"{overall}/share_mediated", 41, None),
    ]

    (card,) = cards(results_of(effects), 0.05)

    assert "lies above 0: the case itself moves the answer towards the documented error" in card.sentence
    assert card.sentence.endswith("the same difference without findings, 0.200 through the reasoning.")


def test_silent_influence_without_an_influence_is_undefined() -> None:
    """Where no pair is shown to be moved the card says that of how many, and no rate."""
    overall = "vignettes/overall/all"
    effects = [
        effect(f"{overall}/silent_influence_rate", 0, None),
        effect(f"{overall}/influence_rate", 41, 0.0),
        effect(f"{overall}/overclaimed_rate", 7, 1.0),
    ]

    (card,) = cards(results_of(effects), 0.05)

    assert card.value == "undefined"
    assert (
        "nothing to count (n = 0). For comparison: 0.000 of the pairs that were tested are moved, 1.000"
        in card.sentence
    )


def test_a_figure_within_its_margin_says_so() -> None:
    """A figure that the verdict finds within the margin is not one that shows neither a difference nor its absence."""
    shift = BY_NAME["vignettes.error_difference"]
    within = side_of_null(shift, effect(SHIFT, 41, 0.01, ci_low=-0.019, ci_high=0.039), within="±0.1")
    beyond = side_of_null(shift, effect(SHIFT, 41, 0.02, ci_low=0.001, ci_high=0.039), within="±0.1")

    assert within == "The interval lies within the margin of ±0.1."
    assert beyond.startswith("The interval lies above 0: ")
    assert beyond.endswith(within)
