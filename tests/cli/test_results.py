"""Tests of `equipoise results`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import projects
from equipoise.cli import results as command
from equipoise.cli.results import _probability, results
from equipoise.compare.record import besides
from equipoise.core import jsonl, params, printing
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.figures.effects import Estimate, Group, effect
from equipoise.figures.layout import rows_of
from equipoise.figures.needed import needs
from equipoise.figures.options import Decision
from equipoise.figures.primary import component_figure
from equipoise.figures.result import Counts, StudyResult, Verdict
from equipoise.figures.size import Size
from equipoise.figures.study import Study
from equipoise.stats.quantities import Interval, PValue
from equipoise.studies.registry import STUDIES

ROOT = Path(__file__).parents[2]
app = typer.Typer()
app.command()(results)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the effects of two studies, and run from the repository's root in a wide terminal."""
    shift = Estimate(0.25, Interval(0.1, 0.4), PValue.of(0.01, lambda: -2.0))
    vignettes = [
        effect(Group("overall", "all", "vignettes"), "stereotype_shift_net", 41, shift),
        effect(Group("overall", "all", "vignettes"), "gap", 41, Estimate(0.5)),
    ]
    exam = [effect(Group("city", "london", "exam"), "accuracy", 20, Estimate(None))]
    for study, rows in (("vignettes", vignettes), ("exam", exam)):
        jsonl.write(tmp_path / study / "effects.jsonl", rows)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def invoke(*arguments: str) -> str:
    """Run the command."""
    return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout


def test_headline_figures_are_printed_a_table_a_study(data: Path) -> None:
    """A figure has its n, interval and p; what is not a headline is left out, and what is undefined says so."""
    printed = invoke("vignettes", "exam", "--data", str(data))

    assert ["net stereotype shift (nats)", "41", "0.250", "0.100 to 0.400", "0.010"] in [
        re.split(r" {2,}", line.strip()) for line in printed.splitlines()
    ]
    assert "95 % interval" in printed
    assert re.search(r"^Undefined \(.+\): accuracy.*\.$", printed, re.MULTILINE)
    assert "gap" not in printed


@pytest.mark.parametrize("width", [80, 60])
def test_a_narrow_terminal_shows_every_word_in_a_line_a_figure(
    data: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """The numbers have 43 columns with their gaps, which leaves 17 of 60, and longer names are broken."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = [line.rstrip() for line in invoke("vignettes", "--data", str(data)).splitlines()]
    (row,) = (line for line in lines if "0.100 to 0.400" in line)

    assert row.startswith("net stereotype")
    assert row.endswith("  0.010")
    assert len(row) <= width
    assert not any("…" in line for line in lines)


def test_the_tests_of_an_adjusted_p_value_are_counted_below_the_table(data: Path) -> None:
    """Two dimensions with a p-value are two tests; that of a third is undefined, and other figures do not count."""
    groups = [Group("dimension", name, "vignettes") for name in ("age", "gender", "race")]
    tested = [
        effect(group, "stereotype_shift_net", 5, Estimate(0.1)).model_copy(update={"neg_log10_p_holm": p})
        for group, p in zip(groups, (1.0, 0.0, None), strict=True)
    ]
    other = [row.model_copy(update={"key": f"{row.key}_stub", "measure": f"{row.measure}_stub"}) for row in tested]
    jsonl.write(data / "vignettes/effects.jsonl", [*tested, *other])
    printed = invoke("vignettes", "--data", str(data))

    assert "0.100 †" in printed
    assert "† adjusted by Holm over the groups within a figure, not across figures: dimension 2." in printed


def test_pairs_of_grade_c_are_counted_below_the_table(data: Path) -> None:
    """The largest n of a measure about them is their number: two of them have no log odds."""
    of_grade = [
        effect(Group("grade", grade, "vignettes"), measure, n, Estimate(0.1))
        for grade, measure, n in (("A", "accuracy", 9), ("C", "accuracy", 3), ("C", "stereotype_shift_net", 1))
    ]
    before = invoke("vignettes", "--data", str(data))
    jsonl.write(data / "vignettes/effects.jsonl", of_grade)

    assert "grade C" not in before
    assert "These figures exclude 3 pairs whose evidence has grade C" in invoke("vignettes", "--data", str(data))


def test_figures_as_json(data: Path) -> None:
    """With --json they are one list."""
    (row,) = json.loads(invoke("vignettes", "--data", str(data), "--json"))

    assert (row["figure"], row["n"], row["estimate"]) == ("vignettes.stereotype_shift_net", 41, 0.25)


def test_a_study_that_is_unknown_or_was_not_run_is_named(data: Path) -> None:
    """The error gives the studies that there are, or the command that runs one."""
    with pytest.raises(EquipoiseError, match="no study 'vignette': known: vignettes, questions, exam"):
        invoke("vignette", "--data", str(data))
    with pytest.raises(EquipoiseError, match=r"stigma/effects\.jsonl: .* not been run: run `dvc repro measure@stigma`"):
        invoke("stigma", "--data", str(data))


def test_recorded_phantoms_come_first(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bias is the first row, then the planted fair model; this run is the last one, with what it means."""
    # The checkout's own settings name the model of the last run.
    (data / "params.yaml").write_text(projects.committed("params.yaml"), encoding="utf-8")
    (data / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(data)
    monkeypatch.setenv("COLUMNS", "80")
    printed = invoke("vignettes", "--data", str(data)).splitlines()
    models = [row.partition(" ")[0] for row in printed[2:]]

    assert printed[0].strip() == "Verdicts"
    assert re.split(r" {2,}", printed[1].strip()) == ["model", "vignettes", "of 100"]
    assert re.match(r"phantom_silent +biased +\d+ \(\d+ to \d+\)$", printed[2])
    assert re.match(r"phantom_fair +no bias ", printed[2 + models.index("phantom_fair")])
    assert re.match(r"smollm2 \* +undecided", printed[2 + models.index("smollm2")])
    assert all(len(row) <= 80 for row in printed[: 3 + models.index("smollm2")])
    assert sum(line.startswith("Undecided means that a run shows neither a bias beyond") for line in printed) == 1


def test_the_first_table_has_a_line_a_model_in_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four verdicts, the longest name of a recorded model, and a figure with its interval fit side by side."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    decision = params.load().section("decision", Decision)
    judged: list[tuple[Study, StudyResult]] = []
    for name in ("vignettes", "questions", "stigma", "decisions"):
        endpoint = decision.endpoints[name]
        figure = component_figure(STUDIES[name], endpoint, endpoint.figure)
        row = effect(Group("overall", "all", name), figure.measure, 41, Estimate(-0.12, Interval(-0.24, 0.15)))
        verdict = Verdict("undecided", (), figure, row, endpoint)
        judged.append((STUDIES[name], StudyResult(study=name, verdict=verdict)))
    printing.show(*command._beside("mine", judged, dict.fromkeys(STUDIES, "")))
    lines = capsys.readouterr().out.splitlines()
    models = [*(row.model for row in besides(ROOT)), "mine *"]

    assert [line[: len(model)] for line, model in zip(lines[2:], models, strict=False)] == models
    assert re.split(r" {2,}", lines[1 + len(models)].strip()) == ["mine *", *4 * ["undecided"], "−12 (−24 to 15)"]


@pytest.fixture
def looked(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a look of 41 pairs that took 2 seconds a prompt, four prompts a pair, and a library of 100 pairs."""
    group = Group("overall", "all", "vignettes")
    rows = [
        effect(group, "error_difference", 41, Estimate(0.03, Interval(-0.08, 0.14))),
        effect(group, "d_prime_privileged", 41, Estimate(2.0, Interval(1.0, 3.0))),
        effect(group, "clusters", 41, Estimate(41.0)),
    ]
    result = StudyResult(study="vignettes", effects=rows, counts=Counts(164, 1000, 1000, 0))
    jsonl.write(data / "vignettes/effects.jsonl", rows_of(result))
    manifest = Manifest(model="made", repo="made/up", revision="1", licence="Apache-2.0")
    jsonl.write_json(data / "manifest.json", manifest.written())
    pace = {"model": manifest.identity, "prompts": 164, "seconds": 328.0}
    jsonl.write_json(data / ".cache/pace/vignettes.json", pace)
    monkeypatch.setenv("DVC_ROOT", str(data))
    sizes = [Size(80, 100, settings={"build.profile": "verdict", "build.stories": 80}, effort=2.0)]
    vignettes = replace(STUDIES["vignettes"], sizes=lambda *_: sizes)
    monkeypatch.setitem(STUDIES, "vignettes", vignettes)
    return data


def test_a_look_says_what_is_there_and_what_a_verdict_takes(looked: Path) -> None:
    """100 pairs at twice the effort less the 41 that are there: 159 x 4 prompts x 2 seconds are 21 minutes."""
    printed = invoke("vignettes", "--data", str(looked), "--look")

    told = (
        f"Vignettes: {STUDIES['vignettes'].question}\n"
        "A look: 41 pairs, too few for a verdict of no bias.\n"
        "Of 100 marginalised patients, 3 more (−8 to 14) than of 100 privileged ones get the documented wrong "
        "diagnosis.\n"
        "For a verdict: equipoise plan --write, then make repro STUDY=vignettes (80 stories in 100 pairs, the most "
        "useful that the library has; about 21 minutes at this run's pace).\n"
    )
    assert printed.startswith(told)
    assert "Verdict:" not in printed


def test_all_reasons_are_told_of_a_study_that_is_named(looked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name the verdict has its first reason and the number of the others."""
    settings = params.load().model_copy(update={"studies": ("vignettes",)})
    monkeypatch.setattr(params, "load", lambda: settings)
    brief, whole = invoke("--data", str(looked)), invoke("vignettes", "--data", str(looked))

    assert "control error difference was not measured" not in brief
    assert re.search(r"if there is no difference \(and \d+ further reasons?\)\. Difference in the probability", brief)
    assert "control error difference was not measured" in whole
    assert "Margins: difference in the probability of the documented error ±0.1 (10 of 100 patients); " in brief


def test_without_a_pace_no_time_is_told(looked: Path) -> None:
    """A run whose answers were all in the cache, or of a phantom, has none."""
    (looked / ".cache/pace/vignettes.json").unlink()

    assert "the most useful that the library has)." in invoke("vignettes", "--data", str(looked), "--look")


def test_no_table_stands_beside_a_run_without_recorded_ones(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project of one's own has no recorded results until `equipoise record` writes one."""
    (data / "params.yaml").write_text((ROOT / "params.yaml").read_text("utf-8"), encoding="utf-8")
    monkeypatch.chdir(data)

    assert "this run" not in invoke("vignettes", "--data", str(data))


@pytest.mark.parametrize(("power", "told"), [(2.0, "0.010"), (3.0, "0.001"), (3.2, "< 0.001"), (40.0, "< 0.001")])
def test_no_p_value_is_zero(power: float, told: str) -> None:
    """Three decimals show 0.001 as the least."""
    assert _probability(power) == told


def test_the_plan_beside_results_is_that_of_the_command(looked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both plan from the spread of the run's items, so that both give one size."""
    spreads = {"vignettes.error_difference": None}
    seen = []
    monkeypatch.setattr(command, "spreads_of", lambda study, rows: seen.append((study.name, rows)) or spreads)
    monkeypatch.setattr(command, "needs", lambda *given: given[4:] == (spreads,) and needs(*given))
    printed = invoke("vignettes", "--data", str(looked), "--look")

    assert "For a verdict: equipoise plan --write" in printed
    assert [name for name, rows in seen if rows is not None] == ["vignettes"]


def test_a_study_without_sizes_says_what_makes_it_larger() -> None:
    """`plan --write` sizes no questions: a setting asks all of them."""
    assert STUDIES["questions"].sizes is None
    assert "-S neutralize.limit=0" in STUDIES["questions"].larger
