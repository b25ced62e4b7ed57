"""Tests of the simulation study of the statistics: its verdicts, a run with few draws, its data and its page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import dumps

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import validity
from validity_catalogue import catalogue
from validity_page import page_of
from validity_verdict import binomial_band, finding, verdict_of

if TYPE_CHECKING:
    from validity_section import Study
    from validity_verdict import Kind, Verdict

STUDIES = catalogue()
FEW = 2
"""Draws of a run that only has to run."""


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Read the rows in the repository."""
    return validity.read_rows(validity.FIGURES)


def test_band_by_hand() -> None:
    """Of 10 draws at 1/2, the band leaves out at most 1 in 2,000 on either side."""
    # 0 of 10 has probability 1/1024, which is more than 1/2000: all counts are within.
    assert binomial_band(0.5, 10) == (0.0, 1.0)
    # 0 of 12 has 1/4096, 0 or 1 of 12 13/4096, which is more: from 1 to 11.
    assert binomial_band(0.5, 12) == pytest.approx((1 / 12, 11 / 12))


@pytest.mark.parametrize(
    ("kind", "below", "above"),
    [
        ("coverage", "deviates", "conservative"),
        ("power", "deviates", "conservative"),
        ("error", "conservative", "deviates"),
        ("cost", "conservative", "deviates"),
        ("mean", "deviates", "deviates"),
        ("sd", "deviates", "deviates"),
    ],
)
def test_outside_the_band_is_conservative_on_the_safe_side_alone(kind: Kind, below: Verdict, above: Verdict) -> None:
    """Too much coverage or power, too few errors and too low a cost are safe; both ends of the band are within."""
    assert [verdict_of(kind, value, 0.4, 0.6) for value in (0.39, 0.4, 0.6, 0.61)] == [below, "within", "within", above]


def test_draws_without_a_figure_are_left_out_and_counted() -> None:
    """Of 4 draws one has no figure, and 2 of the other 3 hold the truth."""
    outcome = finding("coverage", 0.95, np.array([1.0, 0.0, np.nan, 1.0]))

    assert (outcome.draws, outcome.undefined) == (3, 0.25)
    assert outcome.measured == pytest.approx(2 / 3)
    # 0 of 3 at 0.95 has probability 0.000125, 1 or fewer 0.00725: from 1 of 3.
    assert (outcome.low, outcome.high) == pytest.approx((1 / 3, 1.0))
    assert outcome.verdict == "within"


def test_without_any_figure_there_is_no_verdict() -> None:
    """Where no draw has a figure nothing is measured."""
    outcome = finding("coverage", 0.95, np.array([np.nan, np.nan]))

    assert (outcome.draws, outcome.undefined, outcome.measured, outcome.verdict) == (0, 1.0, None, None)


def test_moments_by_hand() -> None:
    """Half of the figures are -1 and half 1: mean 0 and standard deviation 1, whose kurtosis is 1."""
    values = np.array([-1.0, 1.0] * 50)
    mean, sd = finding("mean", 0.0, values), finding("sd", 1.0, values)

    # The standard error of the mean is 1/10; that of the standard deviation is 0 where the kurtosis is 1.
    assert (mean.low, mean.high) == pytest.approx((-0.32905, 0.32905), abs=1e-5)
    assert (sd.measured, sd.low, sd.high, sd.verdict) == (1.0, 1.0, 1.0, "within")
    assert finding("sd", 1.1, values).verdict == "deviates"


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.key)
def test_every_simulation_runs(study: Study) -> None:
    """A few draws give every row a share of them, the same at every run."""
    simulated = validity.simulated(study, FEW)

    assert simulated.keys() == study.rows.keys()
    assert all(row["draws"] + round(row["undefined"] * FEW) == FEW for row in simulated.values())
    assert simulated == validity.simulated(study, FEW)


def test_rows_are_those_of_the_catalogue(rows: list[dict[str, Any]]) -> None:
    """The rows in the repository are of the simulations listed, in their words, with their draws and nominal values."""
    assert validity.FIGURES.read_text(encoding="utf-8").splitlines() == [dumps(row) for row in rows]
    measured = {(row["key"], row["figure"]): {name: row[name] for name in validity.MEASURED} for row in rows}
    assert validity.rows_of(measured, complete=True) == rows
    draws = {(study.key, name): (study.draws, row.nominal) for study in STUDIES for name, row in study.rows.items()}
    for row in rows:
        wanted, nominal = draws[row["key"], row["figure"]]
        assert row["draws"] == pytest.approx(wanted * (1 - row["undefined"]), abs=0.5)
        assert row["nominal"] == pytest.approx(nominal, abs=1e-6)
        if row["verdict"] is not None:
            assert row["verdict"] == verdict_of(row["kind"], row["measured"], row["low"], row["high"])


def test_page_is_what_the_rows_give(rows: list[dict[str, Any]]) -> None:
    """The page in the repository is generated from the data alone."""
    assert validity.PAGE.read_text(encoding="utf-8") == page_of(rows)


def test_page_has_every_row_that_deviates(rows: list[dict[str, Any]]) -> None:
    """Each row that deviates has a cell with its value in a table of its section, and a reason there."""
    sections = validity.PAGE.read_text(encoding="utf-8").partition("## What deviates")[2].split("\n### ")
    wrong = [row for row in rows if row["verdict"] == "deviates"]

    assert wrong
    for row in wrong:
        (section,) = (text for text in sections if text.startswith(f"{row['section']}\n"))
        assert row["note"] in " ".join(section.split())
        assert grid(section)[row["method"], row["setting"]].startswith(f"{row['measured']:.3f}")


def grid(section: str) -> dict[tuple[str, str], str]:
    """Read the cells of the tables of a section by figure and setting, whichever is in the columns."""
    cells: dict[tuple[str, str], str] = {}
    for block in section.split("\n\n"):
        if block.startswith("| "):
            head, _, *lines = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in block.splitlines())
            for first, *values in lines:
                for second, value in zip(head[-len(values) :], values, strict=True):
                    names = [name.partition(", nominal")[0] for name in (first, second)]
                    cells[names[0], names[1]] = cells[names[1], names[0]] = value
    return cells


def test_a_figure_that_was_not_simulated_is_named() -> None:
    """The error has the option that simulates it."""
    with pytest.raises(EquipoiseError, match=r"missing figure wilson/10/0\.1/interval: simulate it with --only"):
        validity.rows_of({}, complete=True)


def test_page_wants_a_reason_for_what_deviates(rows: list[dict[str, Any]]) -> None:
    """A figure may not deviate without a word on why."""
    odd = [{**row, "verdict": "deviates"} if row["key"] == "power/t/5" else row for row in rows]

    with pytest.raises(EquipoiseError, match=r"power/t/5/power deviates without an explanation: add a note"):
        page_of(odd)
