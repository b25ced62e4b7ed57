"""Tests of the guards as the page shows them."""

from __future__ import annotations

from typing import Any

from reported import effect

from equipoise.figures.effects import Group
from equipoise.figures.guards import THRESHOLDS, Guard
from equipoise.figures.result import Counts, Finding, StudyResult
from equipoise.report.guards import MEANINGS, guards


def result(study: str, *guards: Guard, **fields: Any) -> StudyResult:
    """Make the result of a study with some guards."""
    return StudyResult(study=study, guards=guards, **fields)


def test_guards_that_warn_come_first_in_plain_words() -> None:
    """A guard warns if it does in any study, passes if it looked at rows, and else had nothing to check."""
    skew = Guard.of("stereotype_skew", 1, 0, {"n_wrong": 20, "share_given": 0.1, "share_expected": 0.333333})
    vignettes = Guard.of("answers_cut_off", 82, 15), Guard.of("unread_answers", 4, 0), skew
    section = guards(
        [
            result("openr1", Guard.of("answers_cut_off", 4, 0)),
            result("vignettes", *vignettes, counts=Counts(82, 0, 0, 0)),
            result("exam", Guard.of("repeated_replies", 0, 0)),
            result("questions", counts=Counts(971, 0, 0, 0)),
        ]
    )

    assert section.summary == "1 of 3 guards warns: answers cut off."
    assert section.whole.startswith("The run is complete: each of 1,053 prompts has exactly one response")
    assert [(outcome.name, outcome.outcome) for outcome in section.outcomes[:4]] == [
        ("answers cut off", "warns"),
        ("unread answers", "passed"),
        ("stereotype skew", "passed"),
        ("unanswered prompts", "nothing to check"),
    ]
    assert section.outcomes[0].phrases == ["openr1: 0 of 4", "vignettes: 15 of 82"]
    assert [section.outcomes[place].limit for place in (0, 2, 3)] == [
        "more than 5 %",
        "p below 0.001 and 10 % off",
        "any",
    ]
    assert section.outcomes[2].phrases == ["vignettes: 0.100 of 20 wrong answers, 0.333 expected"]


def test_guards_of_a_run_without_any_say_so() -> None:
    """A run that asked nothing has no guard that passed."""
    assert guards([]).summary == "No guard had anything to check."
    assert guards([result("openr1", Guard.of("unread_answers", 3, 0))]).summary == "None of 1 guards warns."


def test_counts_are_laid_out_by_study() -> None:
    """A row for each count and a cell for each study; a count that a study does not take says so."""
    section = guards(
        [
            result("vignettes", counts=Counts(4, 30, 20, 0, refusals=1)),
            result("questions", counts=Counts(9, 10, 0, 0, unparsed=2)),
        ]
    )

    assert section.studies == ["vignettes", "questions"]
    assert section.counts == [
        ("generated tokens", ["20", "0"]),
        ("n prompts", ["4", "9"]),
        ("prompt tokens", ["30", "10"]),
        ("refusals", ["1", "not counted"]),
        ("unfinished", ["0", "0"]),
        ("unparsed", ["not counted", "2"]),
    ]


def test_every_guard_has_a_meaning() -> None:
    """What is measured is explained."""
    assert MEANINGS.keys() == THRESHOLDS.keys()


def test_guards_report_skewed_arms_and_small_groups() -> None:
    """The skew of each arm, groups that are too small, and figures that should be 0 come with the outcomes."""
    arms = [Group("arm", name, "questions") for name in ("neutral", "original")]
    questions = StudyResult(
        study="questions",
        effects=[
            effect("questions/arm/neutral/label_skew", 9, 0.7),
            effect("questions/arm/original/label_skew", 9, 0.1),
            effect("questions/violation/any/violation_rate", 7, 0.2),
        ],
        findings=[
            Finding("label_skew_alarm", arms[0], 9, answer=True),
            Finding("label_skew_alarm", arms[1], 9, answer=False),
        ],
    )
    groups = [Group("dimension", name, "vignettes") for name in ("age", "race")]
    vignettes = StudyResult(
        study="vignettes",
        findings=[
            Finding("underpowered", groups[0], 3, answer=True),
            Finding("underpowered", groups[1], 30, answer=False),
        ],
    )
    section = guards([vignettes, questions])

    assert [(skew.where, skew.n, skew.distance, skew.alarm) for skew in section.skews] == [
        ("questions, arm, neutral", 9, "0.700", True),
        ("questions, arm, original", 9, "0.100", False),
    ]
    assert section.small == ["vignettes, dimension, age"]
    assert section.faults == [("questions, violation, any, violation rate", "0.200", "7")]
