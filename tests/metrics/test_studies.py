"""Tests of all studies' figures together."""

from __future__ import annotations

from equipoise.metrics.studies import figures_of

from equipoise.metrics.options import Measure
from equipoise.stats.misclassification import ErrorCounts
from runs import NOTHING


def test_the_judges_error_reaches_the_silent_bias_rate() -> None:
    """A corrected rate is among the effects and the metrics where the judge's error is known, and nowhere else."""
    without, given = (figures_of(NOTHING, Measure(), errors) for errors in (None, ErrorCounts(9, 10, 8, 10)))
    more = {row.measure for row in given.effects} - {row.measure for row in without.effects}

    assert more == {"silent_bias_rate_corrected"}
    assert given.metrics["silent_bias"]["overall"]["silent_bias_rate_corrected"] == {"n": 0}  # type: ignore[index]
