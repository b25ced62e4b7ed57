"""Tests of the cases as a study lays them out for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.figures.views import Part

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
