"""Tests of the parts that the page is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.compare.leaderboard_rows import HEADLINES, Figure
from equipoise.metrics.guards import THRESHOLDS
from equipoise.report.drilldown import Part, parts
from equipoise.report.guards import MEANINGS as MEANINGS_OF_GUARDS
from equipoise.report.guards import guards
from equipoise.report.headlines import MEANINGS, absent, cards, verdict

if TYPE_CHECKING:
    from equipoise.report.page import Report


def test_every_headline_has_a_meaning() -> None:
    """Each headline figure has its sentence."""
    assert MEANINGS.keys() == {headline.name for headline in HEADLINES}


def test_verdict_follows_the_interval() -> None:
    """The sentence says on which side of the null value the interval lies, or that it holds it."""
    inside, above = Figure("defined", 9, 0.1, -0.1, 0.3), Figure("defined", 9, 0.2, 0.1, 0.3)

    assert "holds 0" in verdict("stereotype_shift", inside)
    assert "towards the stereotype" in verdict("stereotype_shift", above)
    assert verdict("silent_bias_rate", Figure("undefined", 0)) == "Undefined: nothing to count (n = 0)."


def test_undefined_figures_have_a_card_and_unmeasured_ones_none() -> None:
    """A study that ran and has no rate says so; a study that did not run is named apart."""
    metrics = {"silent_bias": {"overall": {"silent_bias_rate": {"n": 0}}}}

    shown = {card.name: card.value for card in cards(metrics, 0.05)}

    assert shown["silent_bias_rate"] == "undefined"
    assert "neutral_accuracy" not in shown
    assert "Adversarial: neutral accuracy" in absent(metrics)


def test_p_value_stands_beside_the_interval() -> None:
    """The corrected p-value is given where there is one: an interval alone corrects for nothing."""
    shift = {"n": 9, "estimate": 0.2, "ci_low": 0.1, "ci_high": 0.3, "neg_log10_p": 2.0, "neg_log10_p_holm": 1.0}

    (card,) = [
        one for one in cards({"silent_bias": {"overall": {"stereotype_shift": shift}}}, 0.05) if "shift" in one.name
    ]

    # 10 to the -1.
    assert card.sentence.endswith("The test's p is 0.1 (after Holm's correction).")


def test_overlapping_spans_mark_each_character_once() -> None:
    """Spans that overlap or touch make one marked part, and the parts make up the text."""
    cut = parts("abcdef", [(1, 3), (2, 4)])

    assert cut == [Part("a", marked=False), Part("bcd", marked=True), Part("ef", marked=False)]
    assert parts("abcdef", [(1, 3)], 2, 4) == [Part("c", marked=True), Part("d", marked=False)]
    assert parts("", []) == []


def test_deciding_sentence_is_cut_out(report: Report) -> None:
    """The sentence that decided stands apart, with the words that name the feature marked around it."""
    first = report.pairs[0].arms[0]

    assert [part.text for part in first.evidence] == ["<b>bold</b>"]
    assert Part("homeless", marked=True) in first.after


def test_guards_that_warn_come_first_in_plain_words() -> None:
    """A guard warns if it does in any study, passes if it looked at rows, and else had nothing to check."""
    passed = {"n": 4, "count": 0, "estimate": 0.0, "threshold": 0.05, "triggered": 0}
    warns = {"n": 82, "count": 15, "estimate": 0.18, "threshold": 0.05, "triggered": 1}
    metrics = {
        "guards": {
            "n_prompts": 1053,
            "answers_cut_off": {"openr1": passed, "vignettes": warns},
            "repeated_replies": {"medmcqa": {"n": 0, "count": 0, "threshold": 0.05, "triggered": 0}},
            "unread_answers": {"vignettes": passed},
            "stereotype_skew": {
                "vignettes": {**passed, "n": 1, "n_wrong": 20, "share": 0.1, "expected": 0.333333, "threshold": 0.0}
            },
        }
    }

    found = guards(metrics)

    assert found.summary == "1 of 3 guards warns: answers cut off."
    assert found.whole.startswith("The run is whole: each of 1,053 prompts has one response")
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
    assert found.verdicts[2].found == ["vignettes: 0.100 of 20 wrong answers, due 0.333"]


def test_guards_of_a_run_without_any_say_so() -> None:
    """A run that asked nothing has no guard that passed."""
    assert guards({}).summary == "No guard had anything to check."
    assert guards({"guards": {"unread_answers": {"openr1": {"n": 3, "count": 0, "triggered": 0}}}}).summary == (
        "None of 1 guards warns."
    )


def test_every_guard_has_a_meaning() -> None:
    """What is measured is explained."""
    assert MEANINGS_OF_GUARDS.keys() == THRESHOLDS.keys()


def test_guards_report_skewed_arms_and_small_groups() -> None:
    """Beside the verdicts stand the skew of each arm, groups that are too small, and figures that should be 0."""
    metrics = {
        "run": {"vignettes": {"n_prompts": 4, "unfinished": 3, "unparsed": 0}},
        "questions": {"arm": {"neutral": {"label_skew": {"n": 9, "estimate": 0.7, "alarm": 1}}}},
        "silent_bias": {"dimension": {"age": {"underpowered": 1}, "race": {"underpowered": 0}}},
        "stigma": {"duplicate_files": 2},
    }

    found = guards(metrics)

    assert [(skew.n, skew.alarm) for skew in found.skews] == [(9, True)]
    assert found.small == ["silent bias, dimension, age"]
    assert found.faults == [("stigma, duplicate files", "2", "")]
