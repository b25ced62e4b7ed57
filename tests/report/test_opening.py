"""Tests of what the report opens with: a state in words for each study, and one picture in units of the margins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from reported import ROOT, effect, read, results_of

import projects
from equipoise.figures.options import Decision, Measure
from equipoise.figures.result import StudyResult, and_more
from equipoise.figures.verdicts import verdict
from equipoise.report.docs import anchor, read_pages
from equipoise.report.opening import opening, overview_rows
from equipoise.studies.registry import BOARD, find_study

if TYPE_CHECKING:
    from equipoise.report.page import Report


def stigma(*estimate: float | None) -> StudyResult:
    """Judge a difference with its interval; the shipped margin is 0.1."""
    fields = dict(zip(("ci_low", "ci_high"), estimate[1:], strict=False))
    rows = [effect("stigma/rq1_difference/all/disparity_clustered", 22, estimate[0], **fields)]  # type: ignore[arg-type]
    result, decision = results_of(rows)["stigma"], projects.committed_settings().section("decision", Decision)
    return replace(result, verdict=verdict(find_study("stigma"), result, decision))


@pytest.mark.parametrize(
    ("estimate", "state", "style"),
    [
        ((0.3, 0.2, 0.4), "biased beyond the margin", "biased"),
        ((0.1, 0.0, 0.2), "undecided", "undecided"),
        ((None,), "undecided", "undecided"),
    ],
)
def test_a_state_has_words_and_a_sign(estimate: tuple[float | None, ...], state: str, style: str) -> None:
    """A colour never stands alone."""
    study_opening = opening(find_study("stigma"), stigma(*estimate), Measure())

    assert (study_opening.state, study_opening.style) == (state, style)
    assert study_opening.sign


def test_a_small_run_is_a_look_with_its_first_reason_and_its_margins() -> None:
    """One component is open, and others, bounds and a floor were not measured: one reason is given, others counted."""
    rows = [
        effect("vignettes/overall/all/error_difference", 41, 0.03, ci_low=-0.08, ci_high=0.14),
        effect("vignettes/overall/all/d_prime_privileged", 41, 2.0, ci_low=1.0, ci_high=3.0),
        effect("vignettes/overall/all/clusters", 41, 41.0),
    ]
    result, decision = results_of(rows)["vignettes"], projects.committed_settings().section("decision", Decision)
    study = find_study("vignettes")
    look = opening(study, replace(result, verdict=verdict(study, result, decision)), Measure())

    assert (look.state, look.style) == ("a look", "look")
    assert "Of 100 marginalised patients, 3 more (−8 to 14) than of 100 privileged ones" in look.sentence
    assert look.sentence.endswith("A look: 41 pairs, too few for a verdict of no bias.")
    assert look.reason.startswith("Difference in the probability of the documented error is open: its interval")
    assert look.verdict is not None
    assert look.reason.endswith(f"{and_more(len(look.verdict.because) - 1)}.")
    assert "difference in the probability of the documented error ±0.1 (10 of 100 patients)" in look.margins


def test_the_picture_is_in_margins() -> None:
    """An endpoint is its distance from the null value, divided by its margin: 0.3 of 0.1 are 3 margins."""
    study = find_study("stigma")
    biased, undecided = (opening(study, result, Measure()) for result in (stigma(0.3, 0.2, 0.4), stigma(None)))
    row, undefined = overview_rows([biased, undecided])

    assert [row[name] for name in ("estimate", "ci_low", "ci_high")] == pytest.approx([3, 2, 4])
    assert (row["group"], row["reference"], row["margin"]) == ("Stigma: biased", 0.0, 1.0)
    assert (undefined["estimate"], undefined["n"]) == (None, 22)


def test_the_picture_calls_a_study_what_the_page_calls_it() -> None:
    """A look is a look there too, and not undecided."""
    look = opening(find_study("stigma"), stigma(0.3, 0.2, 0.4), Measure())._replace(state="a look")

    assert [row["group"] for row in overview_rows([look])] == ["Stigma: a look"]


def test_every_study_is_on_the_first_screen(report: Report, written: str) -> None:
    """Each study's state and sentence come before anything that is folded."""
    text = read(written).text
    opened = text[: text.index("For clinicians: what was asked")]

    for study_opening in report.openings:
        assert study_opening.state in opened
        assert study_opening.sentence in opened


def test_a_clinician_reads_what_was_asked_and_that_no_clinician_has_reviewed_it(report: Report, written: str) -> None:
    """Each study says what it asks and of whom; the words of the prompts are there."""
    text = read(written).text

    assert "No clinician has." in text
    for study_opening in report.openings:
        assert study_opening.question in text
        assert study_opening.whom in text
    assert "Briefly explain, in at most three sentences" in text


def test_what_guards_mean_is_told_without_the_marks_of_code(written: str) -> None:
    """A meaning names a command or a setting, which Markdown marks and a page of HTML does not."""
    text = read(written).text
    meanings = text[text.index("Guards and their outcomes") : text.index("What was asked and answered")]

    assert "equipoise show names it" in " ".join(meanings.split())
    assert "`" not in meanings


def test_every_figure_of_the_board_has_its_page() -> None:
    """The page exists, names the figure's measure, and is listed in the index of the metrics."""
    index = (ROOT / "docs/metrics/index.md").read_text(encoding="utf-8")

    for figure in BOARD:
        rows = [line for line in index.splitlines() if f"({figure.page.removeprefix('metrics/')}.md) |" in line]
        # That row says: the same as in the row above it.
        named = "the same disparities" if figure.study == "stigma" else f"`{figure.measure}`"
        assert any(named in row for row in rows), figure.name


def test_pages_in_the_report_link_to_each_other_alone() -> None:
    """A link to a page that the report has leads there; to another it is text; headings are below the report's own."""
    pages = read_pages(ROOT / "docs")
    shift = next(page for page in pages if page.name == "doc-stereotype_shift")
    verdicts = next(page for page in pages if page.name == "doc-verdicts")

    assert len({page.name for page in pages}) == len(pages)
    assert anchor("metrics/stereotype_shift") == "doc-stereotype_shift"
    assert f'href="#{anchor("metrics/detection")}"' in verdicts.html
    assert "validity.md" not in shift.html + verdicts.html
    assert "<h4>A model</h4>" in verdicts.html
    assert "style=" not in "".join(page.html for page in pages)


def test_imported_cases_are_not_described_as_ours() -> None:
    """Saved outputs and imported questions are other people's: who reviewed them is not for the report to say."""
    settings = projects.committed_settings()
    theirs = settings.model_copy(update={"items": "amqa"})
    named = {study: find_study(study) for study in ("vignettes", "questions", "cases")}

    assert {name: study.is_authored(settings) for name, study in named.items()} == {
        "vignettes": True,
        "questions": True,
        "cases": False,
    }
    assert not named["questions"].is_authored(theirs)
    for authored in (True, False):
        study_opening = opening(find_study("stigma"), stigma(0.1, 0.0, 0.2), Measure(), authored=authored)
        assert ("written for this project" in study_opening.reviewed) is authored
        assert ("written for this project" in study_opening.not_care) is authored
