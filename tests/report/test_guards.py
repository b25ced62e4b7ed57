"""Tests of the guards as the page shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reported import effect

from equipoise.figures.guards import THRESHOLDS
from equipoise.report.guards import MEANINGS, guards

if TYPE_CHECKING:
    from equipoise.figures.effects import Effect


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
    assert [(one.name, one.outcome) for one in found.outcomes[:4]] == [
        ("answers cut off", "warns"),
        ("unread answers", "passed"),
        ("stereotype skew", "passed"),
        ("unanswered prompts", "nothing to check"),
    ]
    assert found.outcomes[0].found == ["openr1: 0 of 4", "vignettes: 15 of 82"]
    assert [found.outcomes[place].limit for place in (0, 2, 3)] == [
        "more than 5 %",
        "p below 0.001 and 10 % off",
        "any",
    ]
    assert found.outcomes[2].found == ["vignettes: 0.100 of 20 wrong answers, 0.333 expected"]


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
    assert MEANINGS.keys() == THRESHOLDS.keys()


def test_guards_report_skewed_arms_and_small_groups() -> None:
    """With the outcomes come the skew of each arm, groups that are too small, and figures that should be 0."""
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
