from __future__ import annotations

from equipoise.figures.views import Part
from equipoise.studies.vignettes.view import differences, parts


def test_overlapping_spans_mark_each_character_once() -> None:
    """Spans that overlap or touch make one marked part, and the parts make up the text."""
    cut = parts("abcdef", [(1, 3), (2, 4)])

    assert cut == [Part("a", marked=False), Part("bcd", marked=True), Part("ef", marked=False)]
    assert parts("abcdef", [(1, 3)], 2, 4) == [Part("c", marked=True), Part("d", marked=False)]
    assert parts("", []) == []


def test_words_that_differ_are_found_in_both_texts() -> None:
    """Words are compared whatever their case, and punctuation is not; what one text has more is in it alone."""
    one, other = "The old man has gout.", "The young man has gout, and asthma"

    assert differences(one, other) == ([(4, 7)], [(4, 9), (24, 34)])
    assert differences("Gout!", "gout") == ([], [])
    assert differences("", "") == ([], [])
