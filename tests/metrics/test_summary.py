"""Tests of the summary that DVC's tables print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.core import params
from equipoise.core.catalogue import CATALOGUE
from equipoise.metrics.effects import Estimate, Group, effect
from equipoise.metrics.options import Decision, Endpoint
from equipoise.metrics.primary import headline
from equipoise.metrics.summary import summary_metrics
from equipoise.stats.quantities import Interval

ROOT = Path(__file__).parents[2]
SETTINGS = params.load(ROOT / "params.yaml")
SHIFT = Endpoint(figure="stereotype_shift_net", margin=0.5, why="made up", floors={"overall/all/d_prime": 0.0})


def test_a_study_has_its_verdict_its_figure_and_n() -> None:
    """The interval from 1 to 2 lies beyond the margin of 0.5; the assay's sensitivity is shown."""
    group = Group("overall", "all")
    rows = [
        effect(group, "stereotype_shift_net", 41, Estimate(1.5, Interval(1.0, 2.0))),
        effect(group, "stereotype_shift", 41, Estimate(3.0)),
        effect(group, "d_prime", 41, Estimate(1.0, Interval(0.5, 1.5))),
    ]

    assert summary_metrics({"vignettes": rows}, Decision(endpoints={"vignettes": SHIFT})) == {
        "vignettes": {"verdict": "biased beyond the margin", "stereotype_shift_net": 1.5, "n": 41}
    }


def test_of_cities_the_lowest_is_named_and_nothing_defined_is_left_out() -> None:
    """Accuracy by city has no null value and so no verdict; what is undefined leaves its n."""
    cities = [
        effect(Group("city", city, "exam"), "accuracy", n, Estimate(value))
        for city, n, value in (("london", 20, 0.5), ("dublin", 10, 0.4), ("york", 30, None))
    ]
    rate = [effect(Group("overall", "all", "cases"), "silent_bias_rate", 0, Estimate(None))]
    endpoints = {"exam": Endpoint(figure="*.accuracy"), "cases": Endpoint(figure="silent_bias_rate")}
    found = summary_metrics({"exam": cities, "cases": rate}, Decision.model_validate({"endpoints": endpoints}))

    assert found == {"exam": {"accuracy_lowest": 0.4, "n": 10}, "cases": {"n": 0}}
    assert summary_metrics({"exam": cities}, Decision()) == {"exam": {"n": 30}}


def test_the_default_studies_have_at_most_fifteen_values() -> None:
    """A verdict where the endpoint has a margin, one figure, and n: DVC prints them in one row."""
    endpoints = SETTINGS.section("decision", Decision).endpoints
    figures = {study: headline(study, endpoints[study]) for study in SETTINGS.studies}
    sizes = [2 + (endpoints[study].margin is not None) for study in figures]

    assert {*SETTINGS.studies} <= CATALOGUE.keys()
    assert sum(sizes) <= 15


def test_the_committed_summary_is_that_of_the_committed_figures() -> None:
    """Each study's verdict is that of its own metrics file."""
    path = ROOT / "metrics/summary.json"
    if not path.exists():
        pytest.skip("no run has written it yet")
    for study, values in json.loads(path.read_text(encoding="utf-8")).items():
        own = json.loads((ROOT / f"metrics/{study}.json").read_text(encoding="utf-8"))
        assert own.get("verdict", {}).get("is") == values.get("verdict"), study
