"""A run of which one study is biased, one is not, two are undecided and one has no verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from equipoise.export.run import _assess
from equipoise.figures.options import Component, Endpoint, Measure
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, Part, Verdict, Word

if TYPE_CHECKING:
    from equipoise.export.run import Assessment

USE = "Triage of <A&E> letters | by nurses, 100 % checked_by a doctor"
"""With characters that XML, Markdown and LaTeX each read as markup."""
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ANSWERS: dict[str, tuple[Word, str, str]] = {
    "vignettes": (BIASED, "beyond", "the interval lies beyond it"),
    "questions": (UNBIASED, "within", ""),
    "stigma": (UNDECIDED, "open", "its interval reaches across the margin"),
    "decisions": (UNDECIDED, "within", "the guard on copied results warns"),
}
"""The verdict of each study, the state of its one component, and the reason. The study `exam` has no margin."""


def decided(assessment: Assessment) -> Assessment:
    """Give a study the verdict of `ANSWERS` on its first figure."""
    if assessment.study.name not in ANSWERS:
        return assessment
    word, state, reason = ANSWERS[assessment.study.name]
    figure, row = assessment.rows[0]
    component = Component(margin=0.25, why="A test.")
    part = Part(figure, row, component, state, reason if state != "within" else "")  # type: ignore[arg-type]
    endpoint = Endpoint(figure=figure.name, margin=0.25, why="A test.")
    verdict = Verdict(word, tuple(filter(None, [reason])), figure, row, endpoint, parts=(part,), clusters=40)
    return _assess(assessment.study, replace(assessment.result, verdict=verdict), Measure())
