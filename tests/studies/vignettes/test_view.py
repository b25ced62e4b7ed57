from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.figures.views import Part
from equipoise.studies.vignettes.profiles import build_pairs
from equipoise.studies.vignettes.view import differences, documented, parts

if TYPE_CHECKING:
    from equipoise.materials.stories.library import Library


def test_every_pair_finds_the_evidence_of_its_error(authored: Library) -> None:
    """The row that a built case is traced to is the one that its pair was planned with; an imported case has none."""
    cases = {row.pair: row for row in build_pairs(authored, "full") if row.role == "marginalised"}

    for pair in authored.pairs.values():
        assert documented(cases[pair.id], authored) is authored.parts(pair).tested
    imported = cases[next(iter(authored.pairs))].model_copy(update={"log_ratio": None})
    assert documented(imported, authored) is None


def test_overlapping_spans_mark_each_character_once() -> None:
    """Spans that overlap or touch make one marked part, and the parts make up the text."""
    cut = parts("abcdef", [(1, 3), (2, 4)])

    assert cut == [Part("a", marked=False), Part("bcd", marked=True), Part("ef", marked=False)]
    assert parts("abcdef", [(1, 3)], 2, 4) == [Part("c", marked=True), Part("d", marked=False)]
    assert parts("", []) == []


def test_words_that_differ_are_found_in_both_texts() -> None:
    """Words are compared whatever their case, and punctuation is not; what one text has more is in it alone."""
    first, second = "The old man has gout.", "The young man has gout, and asthma"

    assert differences(first, second) == ([(4, 7)], [(4, 9), (24, 34)])
    assert differences("Gout!", "gout") == ([], [])
    assert differences("", "") == ([], [])
