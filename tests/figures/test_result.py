"""Tests of the result of a study: its counts and its totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builders import noted
from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.guards import Guard
from equipoise.figures.result import Counts, Finding, StudyResult

if TYPE_CHECKING:
    from equipoise.figures.responses import Noted


def reply(key: str, *, finished: bool = True, **fields: Any) -> Noted:
    """Note a response with 10 prompt tokens and 5 generated ones."""
    fields |= {"finished": (finished, True), "prompt_tokens": 10, "generated_tokens": 5}
    return noted(key, "Because.", "Panic disorder.", **fields)


def test_run_is_counted() -> None:
    """Prompts, tokens and cut replies are counted, beside what the study read; what it does not count is left out."""
    responses = [reply(f"p{number}/privileged", finished=number > 0) for number in range(4)]

    assert Counts.of(responses, unparsed=1, refusals=2).known == {
        "n_prompts": 4,
        "prompt_tokens": 40,
        "generated_tokens": 20,
        "unfinished": 1,
        "unparsed": 1,
        "refusals": 2,
    }


def test_a_study_without_responses_counts_zero() -> None:
    """Counts of nothing are 0, and defined."""
    assert Counts.of([], unparsed=0).known == dict.fromkeys(
        ("n_prompts", "prompt_tokens", "generated_tokens", "unfinished", "unparsed"), 0
    )


def test_totals_are_whole_numbers_of_what_was_counted() -> None:
    """Guards that warn, whether an influence was found, labels, prompts and answers that could not be read."""
    overall = Group("overall", "all", "vignettes")
    result = StudyResult(
        study="vignettes",
        effects=[effect(overall, "labels", 82, Estimate(14.0))],
        findings=[Finding("influence_found", overall, 41, answer=False)],
        guards=[Guard.of("unread_answers", 2, 1), Guard.of("empty_replies", 2, 0)],
        counts=Counts(815, 1, 1, 0, unparsed=3),
    )

    assert result.totals == {
        "guards_triggered": 1,
        "influence_found": 0,
        "labels": 14,
        "prompts": 815,
        "unparsed": 3,
    }
    assert StudyResult(study="vignettes").totals == {}
