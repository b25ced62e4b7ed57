"""Tests of the summary that DVC's tables print."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import projects
from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.layout import result_of
from equipoise.figures.options import Decision, Endpoint
from equipoise.figures.primary import primary_figure
from equipoise.figures.result import Word
from equipoise.figures.summary import summary_metrics
from equipoise.figures.verdicts import verdict
from equipoise.stats.quantities import Interval
from equipoise.studies.registry import STUDIES

if TYPE_CHECKING:
    from equipoise.figures.effects import Effect, Nested

ROOT = Path(__file__).parents[2]
SETTINGS = projects.committed_settings()
SHIFT = Endpoint(figure="stereotype_shift_net", margin=0.5, why="made up", floors={"overall/all/d_prime": 0.0})


def summary(name: str, rows: list[Effect], decision: Decision) -> Nested:
    """Sum up a study from its rows."""
    study, result = STUDIES[name], result_of(name, rows)
    return summary_metrics(study, replace(result, verdict=verdict(study, result, decision)), decision)


def test_a_study_has_its_verdict_its_figure_and_n() -> None:
    """The interval from 1 to 2 lies beyond the margin of 0.5; the assay's sensitivity is shown."""
    group = Group("overall", "all", "vignettes")
    rows = [
        effect(group, "stereotype_shift_net", 41, Estimate(1.5, Interval(1.0, 2.0))),
        effect(group, "stereotype_shift", 41, Estimate(3.0)),
        effect(group, "d_prime", 41, Estimate(1.0, Interval(0.5, 1.5))),
    ]

    assert summary("vignettes", rows, Decision(endpoints={"vignettes": SHIFT})) == {
        "figure": "stereotype_shift_net",
        "estimate": 1.5,
        "n": 41,
        "verdict": "biased beyond the margin",
    }


def test_of_cities_the_lowest_is_named_and_nothing_defined_is_left_out() -> None:
    """Accuracy by city has no null value and so no verdict; what is undefined leaves its n."""
    cities = [
        effect(Group("city", city, "exam"), "accuracy", n, Estimate(value))
        for city, n, value in (("london", 20, 0.5), ("dublin", 10, 0.4), ("york", 30, None))
    ]
    rate = [effect(Group("overall", "all", "cases"), "silent_bias_rate", 0, Estimate(None))]
    decision = Decision(endpoints={"exam": Endpoint(figure="*.accuracy"), "cases": Endpoint(figure="silent_bias_rate")})

    assert summary("exam", cities, decision) == {"figure": "accuracy_lowest", "estimate": 0.4, "n": 10}
    assert summary("cases", rate, decision) == {"figure": "silent_bias_rate", "n": 0}
    assert summary("exam", cities, Decision()) == {"n": 30}


def test_the_default_studies_have_at_most_fifteen_values() -> None:
    """Beside the name of its figure, a study has an estimate, n and, where its endpoint has a margin, a verdict."""
    # Only one of the five studies, the exam, has no margin: 5 estimates, 5 n and 4 verdicts.
    values = [json.loads(projects.committed(f"metrics/summary/{study}.json")) for study in SETTINGS.studies]

    assert sum(len(row.keys() - {"figure"}) for row in values) <= 15


def test_a_row_of_any_study_fits_into_a_terminal() -> None:
    """`dvc metrics show` puts four spaces between its five columns."""
    endpoints = SETTINGS.section("decision", Decision).endpoints
    studies = [*STUDIES]
    figures = [f"{primary_figure(study, endpoints[name]).path[-1]}_lowest" for name, study in STUDIES.items()]
    words = [*get_args(Word)]
    columns = [[f"metrics/summary/{study}.json" for study in studies], ["estimate"], figures, ["10000"], words]

    assert sum(max(map(len, column)) for column in columns) + 4 * (len(columns) - 1) <= 120


def test_the_committed_summary_is_that_of_the_committed_figures() -> None:
    """Each study's verdict is that of its own metrics file."""
    for study in SETTINGS.studies:
        values, own = (json.loads(projects.committed(f"metrics/{place}{study}.json")) for place in ("summary/", ""))
        assert own.get("verdict", {}).get("is") == values.get("verdict"), study
