"""Tests of the parts that the page is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reported import effect

from equipoise.metrics.guards import THRESHOLDS
from equipoise.metrics.headlines import BOARD
from equipoise.report.guards import MEANINGS as MEANINGS_OF_GUARDS
from equipoise.report.guards import guards
from equipoise.report.headlines import absent, cards, verdict
from equipoise.report.pairs import Part, parts

if TYPE_CHECKING:
    from equipoise.core.records import Effect
    from equipoise.report.page import Report


BY_NAME = {headline.name: headline for headline in BOARD}
SHIFT = "vignettes/overall/all/stereotype_shift"


def test_verdict_follows_the_interval() -> None:
    """The sentence says on which side of the null value the interval lies, or that it contains it."""
    shift, rate = BY_NAME["vignettes.stereotype_shift"], BY_NAME["vignettes.silent_bias_rate"]

    assert "contains 0" in verdict(shift, effect(SHIFT, 9, 0.1, ci_low=-0.1, ci_high=0.3))
    assert "towards the stereotype" in verdict(shift, effect(SHIFT, 9, 0.2, ci_low=0.1, ci_high=0.3))
    assert "away from the stereotype" in verdict(shift, effect(SHIFT, 9, -0.2, ci_low=-0.3, ci_high=-0.1))
    assert verdict(rate, effect(SHIFT, 0, None)) == "Undefined: nothing to count (n = 0)."


def test_undefined_figures_have_a_card_and_unmeasured_ones_none() -> None:
    """A study that ran and has no rate says so; a study that did not run is named apart."""
    effects = [effect("vignettes/overall/all/silent_bias_rate", 0, None)]

    shown = {card.name: card.value for card in cards(effects, 0.05)}

    assert shown == {"vignettes.silent_bias_rate": "undefined"}
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


def test_overlapping_spans_mark_each_character_once() -> None:
    """Spans that overlap or touch make one marked part, and the parts make up the text."""
    cut = parts("abcdef", [(1, 3), (2, 4)])

    assert cut == [Part("a", marked=False), Part("bcd", marked=True), Part("ef", marked=False)]
    assert parts("abcdef", [(1, 3)], 2, 4) == [Part("c", marked=True), Part("d", marked=False)]
    assert parts("", []) == []


def test_deciding_sentence_is_cut_out(report: Report) -> None:
    """The sentence that decided is set apart, with the words that name the feature marked around it."""
    first = report.pairs[0].arms[0]

    assert [part.text for part in first.evidence] == ["<b>bold</b>"]
    assert Part("homeless", marked=True) in first.after


def guarded(study: str, guard: str, n: int, count: int, **figures: float) -> list[Effect]:
    """Make the effects of one guard of one study."""
    found = {"share": count / n if n else None, "count": count, "triggered": float(count > 0), **figures}
    return [effect(f"{study}/guard/{guard}/{measure}", n, value) for measure, value in found.items()]


def test_guards_that_warn_come_first_in_plain_words() -> None:
    """A guard warns if it does in any study, passes if it looked at rows, and else had nothing to check."""
    found = guards(
        [
            *guarded("openr1", "answers_cut_off", 4, 0),
            *guarded("vignettes", "answers_cut_off", 82, 15),
            *guarded("exam", "repeated_replies", 0, 0),
            *guarded("vignettes", "unread_answers", 4, 0),
            *guarded("vignettes", "stereotype_skew", 1, 0, n_wrong=20, share_given=0.1, share_expected=0.333333),
            effect("vignettes/run/all/n_prompts", 82, 82.0),
            effect("questions/run/all/n_prompts", 971, 971.0),
            effect("cases/run/all/n_prompts", 58, 58.0),
        ]
    )

    assert found.summary == "1 of 3 guards warns: answers cut off."
    assert found.whole.startswith("The run is complete: each of 1,053 prompts has exactly one response")
    assert [(one.name, one.verdict) for one in found.verdicts[:4]] == [
        ("answers cut off", "warns"),
        ("unread answers", "passed"),
        ("stereotype skew", "passed"),
        ("unanswered prompts", "nothing to check"),
    ]
    assert found.verdicts[0].found == ["openr1: 0 of 4", "vignettes: 15 of 82"]
    assert [found.verdicts[place].limit for place in (0, 2, 3)] == [
        "more than 5 %",
        "p below 0.001 and 10 % off",
        "any",
    ]
    assert found.verdicts[2].found == ["vignettes: 0.100 of 20 wrong answers, 0.333 expected"]


def test_guards_of_a_run_without_any_say_so() -> None:
    """A run that asked nothing has no guard that passed."""
    assert guards([]).summary == "No guard had anything to check."
    assert guards(guarded("openr1", "unread_answers", 3, 0)).summary == "None of 1 guards warns."


def test_counts_are_laid_out_by_study() -> None:
    """A row for each count and a cell for each study; a count that a study does not take says so."""
    found = guards([effect("vignettes/run/all/refusals", 4, 1.0), effect("questions/run/all/unparsed", 9, 2.0)])

    assert found.studies == ["vignettes", "questions"]
    assert found.asked == [("refusals", ["1", "not counted"]), ("unparsed", ["not counted", "2"])]


def test_every_guard_has_a_meaning() -> None:
    """What is measured is explained."""
    assert MEANINGS_OF_GUARDS.keys() == THRESHOLDS.keys()


def test_guards_report_skewed_arms_and_small_groups() -> None:
    """With the verdicts come the skew of each arm, groups that are too small, and figures that should be 0."""
    found = guards(
        [
            effect("questions/arm/neutral/label_skew", 9, 0.7),
            effect("questions/arm/neutral/label_skew_alarm", 9, 1.0),
            effect("questions/arm/original/label_skew", 9, 0.1),
            effect("questions/arm/original/label_skew_alarm", 9, 0.0),
            effect("vignettes/dimension/age/underpowered", 3, 1.0),
            effect("vignettes/dimension/race/underpowered", 30, 0.0),
            effect("stigma/files/all/duplicate_files", 7, 2.0),
        ]
    )

    assert [(skew.where, skew.n, skew.distance, skew.alarm) for skew in found.skews] == [
        ("questions, arm, neutral", 9, "0.700", True),
        ("questions, arm, original", 9, "0.100", False),
    ]
    assert found.small == ["vignettes, dimension, age"]
    assert found.faults == [("stigma, files, all, duplicate files", "2.000", "7")]
