"""Every published pair of AMQA and FairMedPrompt, recomputed from its four counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from equipoise.stats.paired import mcnemar_chi2, mcnemar_exact
from equipoise.stats.proportions import wilson
from equipoise.stats.quantities import PairedCells

ANCHORS = os.environ.get("EQUIPOISE_ANCHORS")
pytestmark = pytest.mark.skipif(not ANCHORS, reason="EQUIPOISE_ANCHORS does not name the folder of published data")

SIX_PLACES = 5.1e-7
"""The published gaps, intervals and logarithms are rounded to six places."""


def published() -> dict[str, dict[str, Any]]:
    """Read the expected figures of each file of answers; empty without the folder."""
    if not ANCHORS:
        return {}
    expected = json.loads((Path(ANCHORS) / "expected.json").read_text(encoding="utf-8"))
    return {name: file for study in ("amqa", "fairmedprompt") for name, file in expected[study].items()}


PAIRS = [
    pytest.param(pair, id=f"{name}:{arms}")
    for name, file in published().items()
    for arms, pair in file["pairs"].items()
]
ARMS = [
    pytest.param(count, file["n"], file["wilson95"][arm], id=f"{name}:{arm}")
    for name, file in published().items()
    for arm, count in file["correct"].items()
]


@pytest.mark.parametrize("pair", PAIRS)
def test_pair_is_reproduced(pair: dict[str, Any]) -> None:
    """Gap, exact and chi-square McNemar of a published pair come out as published."""
    cells = PairedCells(pair["both"], pair["only_first"], pair["only_second"], pair["neither"])
    exact, chi2 = mcnemar_exact(cells), mcnemar_chi2(cells)

    assert exact is not None
    assert chi2 is not None
    assert pair["p_exact"] == pytest.approx(exact.value, rel=1e-9, abs=0)
    assert pair["neg_log10_p_exact"] == pytest.approx(exact.neg_log10, rel=0, abs=SIX_PLACES)
    assert pair["p_chi2_cc"] == pytest.approx(chi2.value, rel=1e-9, abs=0)
    assert pair["gap"] == pytest.approx(cells.difference, rel=0, abs=SIX_PLACES)


@pytest.mark.parametrize(("count", "n", "bounds"), ARMS)
def test_accuracy_interval_is_reproduced(count: int, n: int, bounds: list[float]) -> None:
    """The Wilson interval of a published accuracy comes out as published."""
    interval = wilson(count, n)

    assert interval is not None
    assert bounds == pytest.approx([interval.low, interval.high], rel=0, abs=SIX_PLACES)
