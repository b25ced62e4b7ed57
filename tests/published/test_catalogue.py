from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.api.anchors import all_anchors
from equipoise.core.errors import EquipoiseError
from equipoise.published.catalogue import (
    Quoted,
    Reference,
    agrees,
    leaves,
    load_catalogue,
    read_printed,
    source_of,
    verdict,
)
from published import CATALOGUE, write

DATA = Path(__file__).parents[2] / "data"


def test_the_catalogue_is_read() -> None:
    """Every source of the project's catalogue is one that is computed, and every figure is of a source."""
    catalogue = load_catalogue(DATA)

    computed = {name for anchor in all_anchors() for name in anchor.figures}
    assert catalogue.sources.keys() == computed
    assert {source_of(row.figure) for row in catalogue.printed} <= computed


def test_five_figures_of_amqa_are_expected_to_depart() -> None:
    """Those where the paper's text differs from its data by more than a tenth of a point, and one in rounding."""
    departing = [row.id for row in load_catalogue(DATA).printed if row.expect == "departs"]

    assert departing == [
        "amqa/gpt/accuracy/original",
        "amqa/gpt/alone/white",
        "amqa/gpt/alone/high_income",
        "amqa/gpt/alone/male",
        "amqa/qwen/gap/gender",
        "amqa/qwen/gap/ses",
        "lin/text/rq2/avoidance/female",
    ]


def test_the_narrowest_table_holds_a_figure(tmp_path: Path) -> None:
    """A figure belongs to the table with the longest id that it begins with, part for part."""
    catalogue = load_catalogue(write(tmp_path)[1])

    tables = {name: catalogue.table_of(name) for name in ("amqa/run/accuracy/white", "amqa/runner/n", "amqaa/n")}

    assert [None if table is None else table.id for table in tables.values()] == ["amqa/run/accuracy", "amqa", None]


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        (("printed", 0, "paper"), "some", "is not a printed figure"),
        (("printed", 0, "limit"), "> 1", "give paper or limit, and not both"),
        (("printed", 0, "figure"), "mmlu/n", "mmlu is not among the sources"),
        (("printed", 1, "id"), "amqa/gap", "duplicate id: amqa/gap"),
        (("sources", "amqa", "unfetchable"), "it rains", "sources.amqa: give unfetchable if, and only if"),
        (("sources", "fsd", "unfetchable"), None, "sources.fsd: give unfetchable if, and only if"),
        (("fetch", 0, "commit"), "main", "fetch.0.commit"),
        (("tables", 0, "expect"), "fine", "tables.0.expect"),
    ],
)
def test_a_faulty_catalogue_is_refused(tmp_path: Path, place: tuple[Any, ...], value: object, fault: str) -> None:
    """The fault is reported with the file and the field."""
    catalogue = copy.deepcopy(CATALOGUE)
    part = catalogue
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    data = write(tmp_path, catalogue)[1]

    with pytest.raises(EquipoiseError, match=rf"anchors\.yaml: .*{fault}"):
        load_catalogue(data)


def test_leaves_are_the_numbers() -> None:
    """Texts, truth values and nothing are not figures."""
    value = json.loads('{"a": {"b": 1, "c": true}, "d": null, "e": "x", "f": 0.5}')

    assert dict(leaves(value, "top")) == {"top/a/b": 1, "top/f": 0.5}


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
    """A figure means all that round to it."""
    printed = read_printed(text)

    assert (quoted.relation, quoted.percent) == (printed.relation, printed.percent)
    assert (quoted.value, quoted.tolerance) == pytest.approx((printed.value, printed.tolerance))


@pytest.mark.parametrize("text", ["", "about 3", "1.2.3", "3 of 4", "٣"])
def test_text_that_is_not_a_figure_is_refused(text: str) -> None:
    """Words, lists and digits of other scripts are not a printed figure."""
    with pytest.raises(ValueError, match="is not a printed figure"):
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


def test_a_bound_is_not_a_printed_figure() -> None:
    """Within its bound a figure is not printed; outside it departs."""
    assert verdict(0.99, limit=">= 0.98") == "not printed"
    assert verdict(0.97, limit=">= 0.98") == "departs"


def test_what_is_not_a_number_departs() -> None:
    """No comparison holds for NaN, so it never passes."""
    nan = float("nan")

    assert verdict(nan, paper="0.2") == "departs"
    assert verdict(nan, reference=Reference(0.2, 1)) == "departs"
