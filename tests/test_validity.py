"""Tests of the simulation study of the statistics: its verdicts, a run with few draws, and its page."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from equipoise.core.errors import EquipoiseError

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import validity
from validity_catalogue import SECTIONS, catalogue
from validity_verdict import binomial_band, finding, verdict_of

if TYPE_CHECKING:
    from validity_section import Study
    from validity_verdict import Kind, Verdict

STUDIES = catalogue()
FEW = 2
"""Draws of a run that only has to run."""


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    """Read the figures in the repository."""
    figures: dict[str, Any] = json.loads(validity.FIGURES.read_text(encoding="utf-8"))
    return figures


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
    found = finding("coverage", 0.95, np.array([1.0, 0.0, np.nan, 1.0]))

    assert (found.draws, found.undefined) == (3, 0.25)
    assert found.measured == pytest.approx(2 / 3)
    # 0 of 3 at 0.95 has probability 0.000125, 1 or fewer 0.00725: from 1 of 3.
    assert (found.low, found.high) == pytest.approx((1 / 3, 1.0))
    assert found.verdict == "within"


def test_without_any_figure_there_is_no_verdict() -> None:
    """Where no draw has a figure nothing is measured."""
    found = finding("coverage", 0.95, np.array([np.nan, np.nan]))

    assert (found.draws, found.undefined, found.measured, found.verdict) == (0, 1.0, None, None)


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
    found = validity.simulated(study, FEW)

    assert found.keys() == study.rows.keys()
    assert all(row["draws"] + round(row["undefined"] * FEW) == FEW for row in found.values())
    assert found == validity.simulated(study, FEW)


def test_figures_are_those_of_the_catalogue(committed: dict[str, Any]) -> None:
    """The figures in the repository are of the simulations listed, with as many draws and the same promises."""
    assert list(committed) == [study.key for study in STUDIES]
    for study in STUDIES:
        for name, row in study.rows.items():
            found = committed[study.key][name]
            assert found["draws"] == pytest.approx(study.draws * (1 - found["undefined"]), abs=0.5)
            assert found["nominal"] == pytest.approx(row.nominal, abs=1e-6)
            if found["verdict"] is not None:
                assert found["verdict"] == verdict_of(row.kind, found["measured"], found["low"], found["high"])


def test_page_is_what_the_figures_give(committed: dict[str, Any]) -> None:
    """The page in the repository is generated, and explains every row that deviates."""
    assert validity.PAGE.read_text(encoding="utf-8") == validity.page_of(committed, SECTIONS)


def test_page_wants_every_figure(committed: dict[str, Any]) -> None:
    """A simulation that was not run is named."""
    with pytest.raises(EquipoiseError, match=r"missing figure wilson/10/0\.1/interval: simulate it with --only"):
        validity.page_of({**committed, "wilson/10/0.1": {}}, SECTIONS)


def test_page_wants_a_reason_for_what_deviates(committed: dict[str, Any]) -> None:
    """A figure may not deviate without a word on why."""
    figures = json.loads(json.dumps(committed))
    figures["power/t/5"]["power"]["verdict"] = "deviates"

    with pytest.raises(EquipoiseError, match=r"power/t/5/power deviates without an explanation: add a note"):
        validity.page_of(figures, SECTIONS)
