"""Tests of the guards that every study shares: each is triggered by the fault that it is for, and by nothing else."""

from __future__ import annotations

from builders import noted
from equipoise.figures.guards import Guard, arm_skews, exam_skew, reply_guards, unread
from equipoise.figures.skew import LabelSkew
from equipoise.studies.registry import STUDIES


def test_only_vignettes_have_a_turn_of_reasoning() -> None:
    """Elsewhere reasoning and answer are one reply: there is no guard of reasoning cut off."""
    names = [guard.name for guard in reply_guards(STUDIES["exam"], [noted("i1/exam", "A", study="exam")], {})]

    assert names == ["identical_arms", "copied_results", "repeated_replies", "empty_replies", "answers_cut_off"]


def test_unread_letters_warn() -> None:
    """A letter that was not read is an unread answer, one that was is not."""
    assert unread(["A", None]) == Guard.of("unread_answers", 2, 1)
    assert unread([None]).triggered
    assert not unread(["A"]).triggered


def test_an_arm_with_a_skew_of_letters_warns() -> None:
    """The alarm of one arm of two triggers the guard, which tells the largest distance; without arms there is none."""
    skews = [
        LabelSkew(9, distance, None, alarm=alarm) for distance, alarm in ((0.6, True), (0.1, False), (None, False))
    ]

    (guard,) = arm_skews(skews)

    assert guard == Guard.of("label_skew", 2, 1, {"largest": 0.6})
    assert guard.triggered
    assert [*arm_skews([])] == []


def test_an_exam_answered_with_one_letter_warns() -> None:
    """Letters are compared with the right ones as shown; where none was read there is nothing to compare."""
    gold = "ABCD" * 10

    skewed = exam_skew([("A", right) for right in gold])

    # Half of the distance between (1, 0, 0, 0) and four quarters.
    assert (skewed.n, skewed.wrong, skewed.figures["largest"]) == (1, 1, 0.75)
    assert exam_skew([(right, right) for right in gold]).wrong == 0
    assert exam_skew([(None, right) for right in gold]) == Guard.of("label_skew", 0, 0, {})
