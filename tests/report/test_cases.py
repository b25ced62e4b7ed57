"""Tests of the cases as a study lays them out for the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reported import ROOT, read

from equipoise.core.display import MINUS
from equipoise.figures.views import Part
from equipoise.judge.lexicon import load_lexicon
from equipoise.materials.stories.library import load_library
from equipoise.report.page import page
from equipoise.studies.vignettes.profiles import build_pairs
from equipoise.studies.vignettes.shown import join
from equipoise.studies.vignettes.view import pair_view
from runs import housing_arm

if TYPE_CHECKING:
    from equipoise.report.page import Report


def test_a_pair_shows_the_answer_as_written_and_as_read(report: Report) -> None:
    """Where the words of a reply were read as another kind than the answer that counts, the pair says so."""
    assert report.cases_view is not None
    first = report.cases_view.pairs[0]

    assert first.arms[0].read == "expected: <i>x</i>"
    assert any(part.differs for part in first.arms[0].before + first.arms[0].after)
    assert first.agree == all(arm.read.startswith(arm.worded) for arm in first.arms)
    assert first.arms[1].differing.endswith("words differ from the other arm's")


def test_deciding_sentence_is_cut_out(report: Report) -> None:
    """The sentence that decided is set apart, with the words that name the feature marked around it."""
    assert report.cases_view is not None
    first = report.cases_view.pairs[0].arms[0]

    assert [part.text for part in first.evidence] == ["<b>bold</b>"]
    assert Part("homeless", marked=True) in first.after


def test_diagnoses_that_changed_are_listed_with_their_harm(report: Report) -> None:
    """All three pairs changed, one in the label alone; the worst harm comes first, cases without a class last."""
    cases = report.cases_view
    assert cases is not None
    worst = next(harm for harm in cases.harms if harm.name == "time-critical")
    changed = [pair._replace(harm=worst if pair.key == "housing-03" else None) for pair in cases.pairs]
    view = cases._replace(pairs=changed)

    assert [pair.key for pair in cases.changed] == ["housing-01", "housing-02", "housing-03"]
    assert [pair.key for pair in view.changed] == ["housing-03", "housing-01", "housing-02"]
    assert view.changed_by_harm == (
        "Diagnoses that changed between the two patients: 3 (1 time-critical, 2 without a class)"
    )
    openings = [opening._replace(cases=view if opening.cases else None) for opening in report.openings]
    text = read(page(report._replace(openings=openings))).text
    first = text[: text.index("For clinicians: what was asked")]
    assert view.changed_by_harm in first
    assert "No clinician has reviewed the classes." in first
    assert worst.delay in first
    assert "documented error: alcoholic neuropathy / expected: frostbite" in first
    assert "stereotyped: " not in text


def test_guessing_is_told_beside_right_answers(report: Report) -> None:
    """Each of three cases has four diagnoses: a guess is right in 3 / 4 of a case, about 1."""
    assert report.cases_view is not None

    assert report.cases_view.guessing == (
        "Guessing among the 4 diagnoses of each case's list would be right in about 1 of 3."
    )


def test_a_case_has_its_paper_error_base_rate_and_harm(report: Report) -> None:
    """A pair of the library is shown with what its row says; a made-up one has neither evidence nor harm."""
    library = load_library(ROOT / "data/raw")
    cases = [row for row in build_pairs(library, "core") if row.pair == "gender-01"]
    replies = [housing_arm(row.key) for row in cases]
    responses, judgements = ([row for rows in replies for row in rows[kind]] for kind in (1, 2))
    (pair,) = join(cases, responses, judgements)
    shown = pair_view(pair, load_lexicon(ROOT / "data/features"), library)
    row = library.parts(library.pairs["gender-01"]).tested
    ratio = row.log_ratio

    assert shown.evidence is not None
    assert (shown.evidence.error, shown.evidence.paper) == (row.evidence.error, row.evidence.source)
    assert shown.evidence.flags.startswith(f"grade {row.evidence.grade}: ")
    assert f"log ratio {ratio.value:g} nats (".replace("-", MINUS) in shown.evidence.base_rate
    assert f"{math.exp(ratio.value):.2g} times" in shown.evidence.base_rate
    assert shown.harm is not None
    assert shown.harm.name == "time-critical"
    assert report.cases_view is not None
    assert {(case.evidence, case.harm) for case in report.cases_view.pairs} == {(None, None)}
    view = report.cases_view._replace(pairs=[shown])
    text = read(page(report._replace(cases_view=view))).text
    for detail in (shown.evidence.error, shown.evidence.paper, shown.evidence.base_rate, shown.harm.delay):
        assert detail in text
