"""Tests of the gates on changes."""

from __future__ import annotations

import pytest

from equipoise.compare.changes import Change, Gate, judge_gates, parse_gate
from equipoise.core.errors import EquipoiseError
from equipoise.metrics.headlines import compared

FIGURES = {figure.name: figure for figure in compared(["london"])}
GAP, ACCURACY = "questions.race.gap", "questions.neutral.accuracy"


def change(name: str, value: float | None, p: float | None, why: str = "") -> Change:
    """Make a change of a figure."""
    return Change(FIGURES[name], n=10, change=value, p=p, why=why)


def reason(gate: str, *changes: Change) -> tuple[bool, str]:
    """Judge one gate among changes."""
    (verdict,) = judge_gates([parse_gate(gate, list(FIGURES))], changes, 0.05)
    return verdict.failed, verdict.reason


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("questions.race.gap>0.02", Gate(GAP, ">", 0.02)),
        (" questions.neutral.accuracy < .5 ", Gate(ACCURACY, "<", 0.5)),
        ("questions.london.ses.accuracy_ratio<0", Gate("questions.london.ses.accuracy_ratio", "<", 0.0)),
    ],
)
def test_gates_are_read(text: str, gate: Gate) -> None:
    """A gate is a figure, a direction and an amount."""
    assert parse_gate(text, list(FIGURES)) == gate


@pytest.mark.parametrize("text", ["", "questions.race.gap", "questions.race.gap>=1", "questions.race.gap<-0.1"])
def test_another_form_is_refused(text: str) -> None:
    """An amount has no sign, since the operator says which way; the form is shown."""
    with pytest.raises(EquipoiseError, match="write FIGURE>AMOUNT for a rise or FIGURE<AMOUNT for a fall"):
        parse_gate(text, list(FIGURES))


def test_a_wrong_name_gets_the_nearest() -> None:
    """A figure that does not exist is answered with those that are spelt most alike."""
    with pytest.raises(EquipoiseError, match=r"no such figure; the nearest are questions\.gender\.gap, "):
        parse_gate("questions.gendre.gap>0.02", list(FIGURES))


def test_a_gate_needs_both_size_and_significance() -> None:
    """Beyond the amount without significance passes, and so does a significant change within it."""
    assert reason("questions.race.gap>0.02", change(GAP, 0.1, 0.01))[0]
    assert reason("questions.race.gap>0.02", change(GAP, 0.1, 0.2)) == (
        False,
        "passed: the change, +0.100, is beyond 0.02, p = 0.2 (Holm over 1 gated figure) is not below 0.05",
    )
    assert reason("questions.race.gap>0.2", change(GAP, 0.1, 0.001)) == (
        False,
        "passed: the change, +0.100, is not beyond 0.2",
    )


def test_the_operator_is_the_direction() -> None:
    """A fall passes a gate on rises, and fails one on falls."""
    fall = change(ACCURACY, -0.1, 0.001)

    assert not reason("questions.neutral.accuracy>0.02", fall)[0]
    assert reason("questions.neutral.accuracy<0.02", fall)[0]


def test_p_values_are_adjusted_over_the_gated_figures() -> None:
    """With two figures gated, the smaller of 0.03 and 0.6 is doubled to 0.06; gating a figure twice counts it once."""
    changes = [change(GAP, 0.1, 0.03), change(ACCURACY, 0.1, 0.6)]
    gap, accuracy = (parse_gate(f"{name}>0", list(FIGURES)) for name in (GAP, ACCURACY))

    assert [verdict.failed for verdict in judge_gates([gap, accuracy], changes, 0.05)] == [False, False]
    assert [verdict.failed for verdict in judge_gates([gap, gap], changes, 0.05)] == [True, True]


def test_what_has_no_change_or_no_test_does_not_fail() -> None:
    """A figure that was not measured, and one of a single item, are not judged, and it says so."""
    assert reason("questions.race.gap>0", change(GAP, None, None, "not measured in a")) == (
        False,
        "not judged: not measured in a",
    )
    assert reason("questions.race.gap>0", change(GAP, 1.0, None)) == (
        False,
        "not judged: the change, +1.000, is beyond 0, and has no test",
    )
