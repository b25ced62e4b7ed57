from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.published.anchors.verdict import Quoted, Reference, agrees, read_printed, verdict


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        # Half a unit of the last place printed: 0.0005, 0.1 % / 2, 1 % / 2; counts and bounds are exact.
        ("0.899", Quoted("", 0.899, 0.0005, percent=False)),
        ("16.2 %", Quoted("", 0.162, 0.0005, percent=True)),
        ("32%", Quoted("", 0.32, 0.005, percent=True)),
        ("-1.90", Quoted("", -1.9, 0.005, percent=False)),
        ("4,806", Quoted("", 4806, 0, percent=False)),
        ("< 0.001", Quoted("<", 0.001, 0, percent=False)),
        (">= 10 %", Quoted(">=", 0.1, 0, percent=True)),
    ],
)
def test_printed_figures_are_read(text: str, quoted: Quoted) -> None:
    """A figure stands for all that round to it."""
    found = read_printed(text)

    assert (quoted.relation, quoted.percent) == (found.relation, found.percent)
    assert (quoted.value, quoted.tolerance) == pytest.approx((found.value, found.tolerance))


@pytest.mark.parametrize("text", ["", "about 3", "1.2.3", "3 of 4", "٣"])
def test_what_is_no_figure_is_refused(text: str) -> None:
    """Words, lists and digits of other scripts are no printed figure."""
    with pytest.raises(ValueError, match="is no figure as printed"):
        read_printed(text)


@given(st.floats(0, 1), st.integers(1, 6))
def test_a_figure_agrees_with_itself_printed(value: float, places: int) -> None:
    """Whatever the number of places, a share agrees with itself rounded, and not with the next figure but one."""
    step = 10.0**-places

    assert agrees(value, read_printed(f"{value:.{places}f}"))
    assert not agrees(value + 2 * step, read_printed(f"{value:.{places}f}"))


@pytest.mark.parametrize(
    ("relation", "below", "at", "above"),
    [("<", True, False, False), ("<=", True, True, False), (">", False, False, True), (">=", False, True, True)],
)
def test_bounds(relation: str, *, below: bool, at: bool, above: bool) -> None:
    """A figure is on the printed side of a bound, or departs from it."""
    quoted = read_printed(f"{relation} 0.5")

    assert [agrees(value, quoted) for value in (0.4, 0.5, 0.6)] == [below, at, above]


def test_verdict_of_a_printed_figure() -> None:
    """131 of 801 is 16.35 %: printed as 16.4 %, and not as 16.2 %."""
    assert verdict(131 / 801, paper="16.4 %") == "reproduced"
    assert verdict(131 / 801, paper="16.2 %") == "departs"


def test_verdict_without_a_printed_figure() -> None:
    """A released score is reproduced, a second count only agreed with; either is departed from beyond its tolerance."""
    near, far = Reference(0.5, 0.01), Reference(0.5, 0.001)

    assert verdict(0.505, reference=near, released=True) == "reproduced"
    assert verdict(0.505, reference=near) == "not printed"
    assert verdict(0.505, reference=far, released=True) == "departs"
    assert verdict(0.505, reference=far) == "departs"


def test_a_printed_figure_does_not_hide_another() -> None:
    """A figure that rounds to the printed one and is not the released one departs."""
    assert verdict(0.16, paper="0.2", reference=Reference(0.17, 0.001), released=True) == "departs"


def test_a_bound_is_no_printed_figure() -> None:
    """Within its bound a figure is not printed; outside it departs."""
    assert verdict(0.99, limit=">= 0.98") == "not printed"
    assert verdict(0.97, limit=">= 0.98") == "departs"


def test_what_is_not_a_number_departs() -> None:
    """No comparison holds for NaN, so it never passes."""
    nan = float("nan")

    assert verdict(nan, paper="0.2") == "departs"
    assert verdict(nan, reference=Reference(0.2, 1)) == "departs"
