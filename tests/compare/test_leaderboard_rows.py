"""Tests of the leaderboard's rows."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import Any

import pytest

from equipoise.compare.leaderboard_rows import (
    ABSENT,
    HEADLINES,
    Figure,
    Run,
    described,
    figure,
    flattened,
    measured,
    settings,
    standings,
)

START = datetime(2026, 1, 1)  # noqa: DTZ001  (DVC's own are without a zone)
BY_NAME = {headline.name: headline for headline in HEADLINES}


def run(name: str, model: str = "a", hours: int | None = 0, *, shift: float = 0.5, **changed: Any) -> Run:
    """Build a run whose one figure is a stereotype shift; `changed` are parameters of the section measure."""
    params = {"model": model, "measure": {"alpha": 0.05} | changed, "infer": {"batch_size": 16}}
    estimate = {"n": 41, "estimate": shift, "ci_low": shift - 1, "ci_high": shift + 1}
    created = None if hours is None else START + timedelta(hours=hours)
    return Run(name, "0" * 40, created, params, f"Model {model}", {"silent_bias": {"overall": _only_shift(estimate)}})


def _only_shift(estimate: dict[str, float]) -> dict[str, Any]:
    return {"stereotype_shift": estimate}


def names(runs: list[Run], reference: Run) -> list[str]:
    """Name the runs that have a row, in order."""
    return [row.run.name for row in standings(runs, reference.params)]


def test_rows_are_sorted_by_name_whatever_their_figures() -> None:
    """The order of the rows is that of the models' names, then of the parameters, in any order of the runs."""
    runs = [run("x", "b", shift=0.1), run("y", "a", shift=0.9), run("z", "a", shift=0.0, alpha=0.1)]

    for shuffled in itertools.permutations(runs):
        assert names(list(shuffled), runs[1]) == ["y", "z", "x"]


def test_of_equal_runs_the_newest_has_the_row() -> None:
    """Of three runs of one model with the same parameters the one made last is shown."""
    runs = [run("first", hours=1), run("last", hours=3), run("second", hours=2)]

    assert names(runs, runs[0]) == ["last"]


def test_a_batch_size_makes_no_other_run() -> None:
    """A parameter that changes the speed alone neither splits rows nor is shown as a difference."""
    fast, slow = run("fast", hours=1), run("slow", hours=2)
    slow = slow._replace(params={**slow.params, "infer": {"batch_size": 1}})
    (row,) = standings([fast, slow], fast.params)

    assert row.run.name == "slow"
    assert row.changed == {}


@pytest.mark.parametrize(("shift", "expected"), [(0.5, "recorded"), (0.6, "workspace")])
def test_the_workspace_has_a_row_where_its_figures_are_not_recorded(shift: float, expected: str) -> None:
    """A workspace that holds a recorded run's figures is that run; one with other figures is newer than all."""
    runs = [run("workspace", hours=None, shift=shift), run("recorded", hours=9)]

    assert names(runs, runs[1]) == [expected]


def test_changed_parameters_are_told() -> None:
    """What differs from the reference is named with the run's value, what the run lacks as absent, the model never."""
    reference, other = run("r"), run("o", "b", alpha=0.1)
    reference = reference._replace(params={**reference.params, "sample": {"seed": 0}})
    rows = standings([reference, other], reference.params)

    assert [row.changed for row in rows] == [{}, {"measure.alpha": 0.1, "sample.seed": ABSENT}]
    assert described(rows[1].changed) == "measure.alpha=0.1, sample.seed=absent"


def test_a_figure_that_is_zero_is_defined() -> None:
    """0 is a value: it is neither undefined nor left out."""
    zero = run("z", shift=0.0)

    assert figure(BY_NAME["stereotype_shift"], zero.metrics) == Figure("defined", 41, 0.0, -1.0, 1.0)


def test_undefined_and_not_measured_are_told_apart() -> None:
    """A study without a value is undefined, with its n; a run without the study's file was not measured."""
    metrics = {"silent_bias": {"overall": {"silent_bias_rate": {"n": 0}}}}

    assert figure(BY_NAME["silent_bias_rate"], metrics) == Figure("undefined", 0)
    assert figure(BY_NAME["gap_race"], metrics) == Figure("not measured")


def test_a_study_that_was_not_run_was_not_measured() -> None:
    """Its file holds a count of 0 and no group."""
    metrics = {"openr1": {"n_pairs": 0}, "equity": {"n_questions": 0}, "cases": {"n": 0}}

    assert {figure(BY_NAME[name], metrics).state for name in ("openr1_gap", "accuracy_ratio_lowest")} == {
        "not measured"
    }
    assert figure(BY_NAME["cases_silent_bias_rate"], metrics) == Figure("not measured")


def test_the_rate_of_saved_outputs_is_read() -> None:
    """Their file calls the estimate a rate, and counts biased answers; without any it is undefined."""
    biased = {"biased": 8, "silent": 2, "rate": 0.25, "ci_low": 0.07, "ci_high": 0.59}

    assert figure(BY_NAME["cases_silent_bias_rate"], {"cases": {"n": 58, "nli": biased}}) == Figure(
        "defined", 8, 0.25, 0.07, 0.59
    )
    assert figure(BY_NAME["cases_silent_bias_rate"], {"cases": {"n": 58, "nli": {"biased": 0}}}) == Figure(
        "undefined", 0
    )


def test_a_column_that_no_run_measured_is_not_shown() -> None:
    """Columns are those of which at least one run has a figure, or a study that left it undefined."""
    first = run("a")

    assert [headline.name for headline in measured(standings([first], first.params))] == [
        *("stereotype_shift", "differential_bias_rate", "silent_bias_rate")
    ]


def test_the_extremes_of_the_cities_are_named() -> None:
    """The lowest and the highest ratio come with the city and attribute they are of; an undefined ratio is neither."""
    table = {
        "london": {"race": {"accuracy_ratio": {"n": 9, "estimate": 0.9}}, "ses": {"accuracy_ratio": {"n": 0}}},
        "dublin": {"race": {"accuracy_ratio": {"n": 9, "estimate": 1.1, "ci_low": 1.0, "ci_high": 1.2}}},
    }
    found = [figure(BY_NAME[f"accuracy_ratio_{end}"], {"equity": {"city": table}}) for end in ("lowest", "highest")]

    assert found == [
        Figure("defined", 9, 0.9, where="london/race"),
        Figure("defined", 9, 1.1, 1.0, 1.2, where="dublin/race"),
    ]


def test_without_a_defined_ratio_the_extremes_are_undefined() -> None:
    """Where no neutral question was answered rightly, no city has a ratio."""
    table = {"city": {"london": {"race": {"accuracy_ratio": {"n": 9}}}}}

    assert figure(BY_NAME["accuracy_ratio_lowest"], {"equity": table}) == Figure("undefined", 0)


def test_prompts_are_counted_over_the_studies() -> None:
    """Prompts and unparsed answers are totals of metrics/run.json, and None where a run has none."""
    counted = run("a")
    asked = {"vignettes": {"n_prompts": 82, "unparsed": 1}, "questions": {"n_prompts": 12, "unparsed": 2}}
    counted = counted._replace(metrics={**counted.metrics, "run": asked})
    rows = standings([counted, run("b", "b")], counted.params)

    assert [(row.prompts, row.unparsed) for row in rows] == [(94, 3), (None, None)]


def test_parameters_are_flattened() -> None:
    """Nested sections become dotted names, lists stay values, and the model is no parameter of a row."""
    assert flattened({"a": {"b": {"c": 1}, "d": [1, 2]}}) == {"a.b.c": 1, "a.d": [1, 2]}
    assert settings({"model": "x", "fill": {"batch_size": 3, "beam": 2}}) == {"fill.beam": 2}


@pytest.mark.parametrize("headline", HEADLINES, ids=lambda headline: headline.name)
def test_every_headline_has_a_name_of_its_own(headline: Any) -> None:
    """Names are unique, since they are columns."""
    assert sum(other.name == headline.name for other in HEADLINES) == 1
