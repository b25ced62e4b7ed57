"""Tests of the leaderboard: its rows, and their form as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import itertools
import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from equipoise.compare.leaderboard import (
    ABSENT,
    Cell,
    Run,
    Standing,
    cell,
    csv_text,
    described,
    figure,
    flattened,
    is_figures,
    json_rows,
    markdown,
    measured,
    settings,
    standings,
)
from equipoise.studies.registry import BOARD

START = datetime(2026, 1, 1)  # noqa: DTZ001  (DVC's own are without a zone)
BY_NAME = {headline.name: headline for headline in BOARD}
VERDICTS = {"vignettes": "undecided"}
DEFINED = Cell("defined", 41, -0.5, -1.0, 0.25)
UNDEFINED = Cell("undefined", 0)


def run(name: str, model: str = "a", hours: int | None = 0, *, shift: float = 0.5, **changed: Any) -> Run:
    """Build a run whose one figure is a net stereotype shift; `changed` are parameters of the section measure."""
    params = {"model": model, "measure": {"alpha": 0.05} | changed, "infer": {"batch_size": 16}}
    estimate = {"estimate": shift, "ci_low": shift - 1, "ci_high": shift + 1}
    created = None if hours is None else START + timedelta(hours=hours)
    metrics = {"vignettes": {"n": 41, "stereotype_shift_net": estimate}}
    return Run(name, "0" * 40, created, params, f"Model {model}", metrics)


def names(runs: list[Run], reference: Run) -> list[str]:
    """Name the runs that have a row, in order."""
    return [row.run.name for row in standings(runs, reference.params)]


def test_rows_are_sorted_by_name_whatever_their_figures() -> None:
    """The order of the rows is that of the models' names, then of the parameters, in any order of the runs."""
    runs = [run("x", "b", shift=0.1), run("y", "a", shift=0.9), run("z", "a", shift=0.0, alpha=0.1)]

    for shuffled in itertools.permutations(runs):
        assert names(list(shuffled), runs[1]) == ["y", "z", "x"]


def test_of_equal_runs_the_newest_has_the_row() -> None:
    """The last of three runs of one model with the same parameters is shown."""
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


def test_changed_parameters_are_listed() -> None:
    """What differs from the reference is named with the run's value, what the run lacks as absent, the model never."""
    reference, other = run("r"), run("o", "b", alpha=0.1)
    reference = reference._replace(params={**reference.params, "sample": {"seed": 0}})
    rows = standings([reference, other], reference.params)

    assert [row.changed for row in rows] == [{}, {"measure.alpha": 0.1, "sample.seed": ABSENT}]
    assert described(rows[1].changed) == "measure.alpha=0.1, sample.seed=absent"


def test_a_figure_that_is_zero_is_defined() -> None:
    """0 is a value: it is neither undefined nor left out."""
    zero = run("z", shift=0.0)

    assert figure(BY_NAME["vignettes.stereotype_shift_net"], zero.metrics) == Cell("defined", 41, 0.0, -1.0, 1.0)


def test_a_figure_has_its_own_n_or_that_of_its_study() -> None:
    """The n of the biased answers is another than that of the pairs, which the file gives once."""
    metrics = {"cases": {"n": 58, "silent_bias_rate": {"n": 8, "estimate": 0.25, "ci_low": 0.07, "ci_high": 0.59}}}
    gap = {"questions": {"n": 66, "race": {"gap": {"estimate": 0.1}}}}

    assert figure(BY_NAME["cases.silent_bias_rate"], metrics) == Cell(
        "defined", 8, 0.25, 0.07, 0.59, verdict="insufficient"
    )
    assert figure(BY_NAME["questions.race.gap"], gap) == Cell("defined", 66, 0.1)


def test_undefined_and_not_measured_are_distinguished() -> None:
    """A study without a value is undefined, with its n; a run without the study's file was not measured."""
    metrics = {
        "vignettes": {"n": 41, "differential_bias_rate": {"n": 0}},
        "cases": {"n": 58, "silent_bias_rate": {"n": 0}},
    }

    assert figure(BY_NAME["vignettes.differential_bias_rate"], metrics) == Cell("undefined", 0)
    assert figure(BY_NAME["cases.silent_bias_rate"], metrics) == Cell("undefined", 0, verdict="insufficient")
    assert figure(BY_NAME["questions.race.gap"], metrics) == Cell("not measured")


def test_a_silent_bias_rate_stands_with_its_verdict() -> None:
    """The verdict is that of the interval, where demographics move answers at all; without the flag they may."""
    table = {"n": 12, "estimate": 0.8, "ci_low": 0.5, "ci_high": 0.9}
    headline = BY_NAME["vignettes.silent_bias_rate_moved"]
    files = [{"silent_bias_rate_moved": table, **flag} for flag in ({}, {"influence_found": 1}, {"influence_found": 0})]
    rates = [figure(headline, {"vignettes": file}) for file in files]

    assert [rate.verdict for rate in rates] == ["significant", "significant", "no influence found"]
    assert cell(rates[0]) == "0.800 (0.500 to 0.900), significant"


def test_a_study_without_the_figure_was_not_measured() -> None:
    """A file that holds a count of 0 and no figure says nothing about any."""
    metrics = {"openr1": {"n": 0}, "questions": {"n": 0}, "cases": {"n": 0}}
    names = ("openr1.agreement_gap", "questions.accuracy_ratio_lowest", "cases.silent_bias_rate")

    assert {figure(BY_NAME[name], metrics) for name in names} == {Cell("not measured")}


def test_a_column_that_no_run_measured_is_not_shown() -> None:
    """Columns are those of which at least one run has a figure, or a study that left it undefined."""
    first = run("a")

    assert [headline.name for headline in measured(standings([first], first.params))] == [
        "vignettes.stereotype_shift_net"
    ]


def test_the_extremes_of_the_cities_are_named() -> None:
    """The lowest and the highest ratio come with the city and attribute they are of; an undefined ratio is neither."""
    table = {
        "n": 9,
        "race": {"gap": {"estimate": 0.1}},
        "position_bias": {"estimate": 0.2},  # a figure, not a city
        "london": {"race": {"accuracy_ratio": {"n": 9, "estimate": 0.9}}, "ses": {"accuracy_ratio": {"n": 0}}},
        "dublin": {"race": {"accuracy_ratio": {"n": 9, "estimate": 1.1, "ci_low": 1.0, "ci_high": 1.2}}},
    }
    extremes = [
        figure(BY_NAME[f"questions.accuracy_ratio_{end}"], {"questions": table}) for end in ("lowest", "highest")
    ]

    assert extremes == [
        Cell("defined", 9, 0.9, where="london/race"),
        Cell("defined", 9, 1.1, 1.0, 1.2, where="dublin/race"),
    ]


def test_without_a_defined_ratio_the_extremes_are_undefined() -> None:
    """Where no neutral question was answered rightly, no city has a ratio."""
    table = {"london": {"race": {"accuracy_ratio": {"n": 9}}}}

    assert figure(BY_NAME["questions.accuracy_ratio_lowest"], {"questions": table}) == Cell("undefined", 0)


def test_prompts_are_counted_over_the_studies() -> None:
    """Prompts and unparsed answers are totals of the studies' files, and None where a run has none."""
    counted = run("a")
    asked = {"vignettes": {"prompts": 82, "unparsed": 1}, "questions": {"prompts": 12, "unparsed": 2}, "stigma": {}}
    counted = counted._replace(metrics=asked)
    rows = standings([counted, run("b", "b")], counted.params)

    assert [(row.prompts, row.unparsed) for row in rows] == [(94, 3), (None, None)]


def test_parameters_are_flattened() -> None:
    """Nested sections become dotted names, lists stay values, and the model is not a parameter of a row."""
    assert flattened({"a": {"b": {"c": 1}, "d": [1, 2]}}) == {"a.b.c": 1, "a.d": [1, 2]}
    assert settings({"model": "x", "fill": {"batch_size": 3, "beam": 2}}) == {"fill.beam": 2}


@pytest.mark.parametrize("headline", BOARD, ids=lambda headline: headline.name)
def test_every_headline_has_a_name_of_its_own(headline: Any) -> None:
    """Names are unique, since they are columns."""
    assert sum(other.name == headline.name for other in BOARD) == 1


def standing(figures: dict[str, Cell], changed: dict[str, object] | None = None) -> Standing:
    """Build a row with the given figures and the others not measured."""
    cells = {headline.name: Cell("not measured") for headline in BOARD} | figures
    return Standing("a", Run("x|y", "0" * 40, None, {}, "Model A", {}), changed or {}, cells, VERDICTS, 12, None)


def test_a_cell_has_its_interval_or_its_word() -> None:
    """An estimate has its interval and a real minus sign, an extreme with its place, anything else in words."""
    assert cell(DEFINED) == "−0.500 (−1.000 to 0.250)"
    assert cell(Cell("defined", 9, 0.9, where="london/race")) == "0.900, london/race"
    assert cell(UNDEFINED) == "undefined"
    assert cell(Cell("not measured")) == "not measured"


def test_markdown_has_a_row_a_model_and_marks_other_parameters() -> None:
    """Every line has the same cells, bars inside them are escaped, and changed parameters are bold."""
    text = markdown([standing({"vignettes.stereotype_shift_net": DEFINED}, {"measure.alpha": 0.1})])
    lines = text.split("\n")
    row = lines[2].replace(r"\|", "")

    # Seven cells, of which one is the only verdict and one the only figure that was measured.
    assert [line.count("|") for line in (*lines[:2], row)] == [8] * 3
    assert "| Vignettes: verdict | Vignettes: net stereotype shift (nats) |" in lines[0]
    assert "| **measure.alpha=0.1** | undecided | −0.500 (−1.000 to 0.250) |" in lines[2]
    assert "not ranked" in text


def test_csv_has_numbers_and_the_word() -> None:
    """Numbers are written in full, and an undefined figure has the word in place of its estimate and no interval."""
    row = standing({"vignettes.stereotype_shift_net": DEFINED, "vignettes.silent_bias_rate_moved": UNDEFINED})
    (read,) = csv.DictReader(io.StringIO(csv_text([row])))

    assert [read[f"vignettes.stereotype_shift_net_{name}"] for name in ("n", "estimate", "ci_low", "ci_high")] == [
        *("41", "-0.5", "-1.0", "0.25")
    ]
    assert [read[f"vignettes.silent_bias_rate_moved_{name}"] for name in ("n", "estimate", "ci_low")] == [
        "0",
        "undefined",
        "",
    ]
    assert read["questions.accuracy_ratio_lowest_where"] == ""
    assert (read["run"], read["vignettes.verdict"]) == ("x|y", "undecided")


def test_csv_has_no_title_that_a_spreadsheet_computes() -> None:
    """The title of somebody's model may begin like a formula: an apostrophe makes it a text."""
    row = standing({})
    row = row._replace(run=row.run._replace(title="=1+1"))

    assert next(csv.DictReader(io.StringIO(csv_text([row]))))["title"] == "'=1+1"


def test_json_has_null_for_what_is_missing() -> None:
    """The rows are JSON without NaN; an undefined estimate is null, and its state says what it is."""
    (row,) = json.loads(
        json.dumps(json_rows([standing({"vignettes.silent_bias_rate_moved": UNDEFINED})]), allow_nan=False)
    )

    assert row["figures"]["vignettes.silent_bias_rate_moved"]["estimate"] is None
    assert row["figures"]["vignettes.silent_bias_rate_moved"]["state"] == "undefined"
    assert row["figures"]["questions.race.gap"]["state"] == "not measured"
    assert row["verdicts"] == VERDICTS


def test_the_verdict_is_that_of_the_metrics_file() -> None:
    """Words are allowed in the table of the verdict, and nowhere else."""
    judged = run("x")
    table = {"is": "undecided", "because": "the figure has no interval", "margin": 0.5}
    metrics = {"vignettes": {**judged.metrics["vignettes"], "verdict": table}}
    (row,) = standings([judged._replace(metrics=metrics)], judged.params)

    assert row.verdicts == VERDICTS
    assert is_figures(metrics["vignettes"])
    assert not is_figures({"n": 41, "stereotype_shift": table})
