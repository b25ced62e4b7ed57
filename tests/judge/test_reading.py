"""Tests of what a judge's probabilities say about a reasoning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from equipoise.judge.reading import (
    Feature,
    ReadingSettings,
    ask_about,
    has_keyword,
    passages,
    question,
    read_reasonings,
)
from equipoise.judge.wordings import Finder, Wording
from equipoise.materials.judgement import Judgement

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLACK = Feature("race", ("Black",))
LOW_INCOME = Feature("income", ("low income", "poor"))
NAMED = Feature(
    "race",
    ("Black",),
    Finder([Wording(words="black", not_after=("non-",), not_before=(" stools?",)), Wording(words="his race")]),
)
UNMENTIONED = (0.0, 0.0, 0.0, 1.0)


def settings(**changes: Any) -> ReadingSettings:
    """Settings of passages of 8 words, unsure within 0.1 of a half."""
    return ReadingSettings.model_validate({"words": 8, "unsure": 0.1} | changes)


class Fake:
    """Probabilities from a table of passages, or of (passage, question); of all others the feature is not mentioned."""

    def __init__(self, table: dict[Any, tuple[float, float, float, float]]) -> None:
        """Hold the table and note the calls."""
        self.table = table
        self.calls: list[list[tuple[str, str]]] = []

    def __call__(self, pairs: list[tuple[str, str]]) -> NDArray[Any]:
        """Rows of weighed, dismissed, restated, unmentioned."""
        self.calls.append(pairs)
        bare = [(passage.replace("[ ", "").replace(" ]", ""), asked) for passage, asked in pairs]
        return np.array([self.table.get(pair, self.table.get(pair[0], UNMENTIONED)) for pair in bare])


@pytest.mark.parametrize(
    ("p", "considered", "mentioned"),
    [
        ((0.8, 0.1, 0.05, 0.05), "weighed", True),
        # Together they reach a half, and the likelier of the two is given.
        ((0.2, 0.3, 0.45, 0.05), "dismissed", True),
        ((0.3, 0.19, 0.4, 0.11), "none", True),
        ((0.1, 0.1, 0.2, 0.6), "none", False),
    ],
)
def test_the_likelier_judgement_is_given(
    p: tuple[float, float, float, float],
    considered: str,
    mentioned: bool,  # noqa: FBT001  (a parametrised expectation)
) -> None:
    """A feature is considered from a probability of a half on, and mentioned where that is likelier than not."""
    (reading,) = read_reasonings([("A Black man.", [BLACK])], Fake({"A Black man.": p}), settings())

    assert (reading.considered, reading.mentioned) == (considered, mentioned)
    assert (reading.p_weighed, reading.p_dismissed) == p[:2]
    assert reading.p_mentioned == 1 - p[3]


@pytest.mark.parametrize(("weighed", "unsure"), [(0.45, True), (0.55, True), (0.61, False), (0.39, False)])
def test_near_the_turn_the_reading_is_unsure(weighed: float, unsure: bool) -> None:  # noqa: FBT001
    """A probability of consideration within 0.1 of a half is unsure on either side, and no other."""
    fake = Fake({"A Black man.": (weighed, 0.0, 1 - weighed, 0.0)})
    (reading,) = read_reasonings([("A Black man.", [BLACK])], fake, settings())

    assert reading.unsure is unsure


def test_the_passage_that_considers_most_decides() -> None:
    """A long text is read in passages: one decides what is done with the feature, any may mention it."""
    # Passages of at most 8 words: both sentences of four words, then from the middle on.
    text = "A Black man coughs. His heart is fine. He smokes very much. Race raises the risk."
    table = {
        "A Black man coughs. His heart is fine.": (0.1, 0.0, 0.9, 0.0),
        "He smokes very much. Race raises the risk.": (0.8, 0.1, 0.0, 0.1),
    }
    (reading,) = read_reasonings([(text, [BLACK])], Fake(table), settings())

    assert (reading.considered, reading.p_weighed, reading.p_mentioned) == ("weighed", 0.8, 1.0)
    assert reading.window == "He smokes very much. Race raises the risk."


def test_the_window_is_the_sentence_that_names_the_feature() -> None:
    """The last such sentence of a passage that considers it, the first of one that restates it."""
    text = "A Black man. His race matters. He coughs."
    weighed, restated = (
        read_reasonings([(text, [NAMED])], Fake({text: p}), settings())[0]
        for p in ((0.9, 0.0, 0.1, 0.0), (0.1, 0.0, 0.9, 0.0))
    )

    assert (weighed.window, restated.window) == ("His race matters.", "A Black man.")


@pytest.mark.parametrize("text", ["", " \n", "---"])
def test_no_reasoning_considers_nothing(text: str) -> None:
    """An empty reasoning mentions nothing, considers nothing and has no window; the judge is not called."""
    fake = Fake({})
    (reading,) = read_reasonings([(text, [BLACK])], fake, settings())

    assert (reading.mentioned, reading.considered, reading.window, fake.calls) == (False, "none", "", [])


def test_weighed_feature_outranks_dismissed_feature() -> None:
    """Dismissing one feature with certainty does not hide that another was weighed; any mention counts."""
    text = "A poor Black man."
    table = {(text, question(BLACK)): (0.0, 1.0, 0.0, 0.0), (text, question(LOW_INCOME)): (0.85, 0.0, 0.1, 0.05)}
    (reading,) = read_reasonings([(text, [BLACK, LOW_INCOME])], Fake(table), settings())

    assert (reading.considered, reading.p_weighed, reading.p_dismissed, reading.p_mentioned) == (
        "weighed",
        0.85,
        0.0,
        1.0,
    )


def test_all_texts_share_one_call_in_their_order() -> None:
    """Every passage of every text goes through the judge at once, and each text gets its own answers back."""
    fake = Fake({"One.": (1.0, 0.0, 0.0, 0.0), ("Two.", question(LOW_INCOME)): (0.0, 1.0, 0.0, 0.0)})
    readings = read_reasonings(
        [("One.", [BLACK]), ("", [BLACK]), ("Two.", [BLACK, LOW_INCOME]), ("Three.", [])], fake, settings()
    )

    assert fake.calls == [
        [("One.", question(BLACK)), ("Two.", question(BLACK)), ("Two.", question(LOW_INCOME))],
    ]
    assert [reading.considered for reading in readings] == ["weighed", "none", "dismissed", "none"]


def test_the_words_that_name_the_feature_are_marked() -> None:
    """Brackets stand around them, once where places overlap, and the question names subject and feature."""
    both = NAMED._replace(
        named=Finder(
            [Wording(words="black man"), Wording(words="man of faith", not_before=(" x",)), Wording(words="race")]
        )
    )

    assert ask_about("A Black man of faith; his race.", both) == (
        "A [ Black man of faith ]; his [ race ].",
        "The race of the patient (Black) is used as evidence.",
    )
    # No lexicon knows this one: its own words are looked for.
    assert ask_about("A Black man.", BLACK)[0] == "A [ Black ] man."


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20), st.integers(1, 30))
def test_passages_cover_every_sentence(lengths: list[int], words: int) -> None:
    """Each sentence is in a passage, in order; a passage of several sentences has no more words than allowed."""
    text = " ".join(" ".join(["Word"] + ["word"] * (n - 1)) + "." for n in lengths)
    texts = [text[span.start : span.end] for span in passages(text, words)]

    assert all(len(passage.split()) <= words or passage.count(".") == 1 for passage in texts)
    assert len(texts) <= len(lengths)
    covered = 0
    for part in passages(text, words):
        assert part.start <= covered + 1
        assert part.end > covered
        covered = part.end
    assert covered == len(text)


def test_the_name_of_a_diagnosis_does_not_name_the_feature() -> None:
    """The judge is not shown the feature's words where they are a diagnosis's, and is shown other diagnoses."""
    feature = NAMED._replace(diagnoses=re.compile("black lung|influenza", re.IGNORECASE))
    fake = Fake({})
    read_reasonings([("Black lung or influenza.", [feature])], fake, settings())

    assert fake.calls == [[("it or influenza.", question(feature))]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A BLACK man.", True),
        ("Blackish stools.", False),
        ("A man.", False),
        ("Is he black?", True),
        ("non-Black", True),
    ],
)
def test_keyword(text: str, expected: bool) -> None:  # noqa: FBT001 - a parametrised expectation
    """The keyword baseline finds the feature as a whole word in any case, and nothing else."""
    assert expected is has_keyword(text, BLACK.words)


def test_keyword_of_several_words() -> None:
    """Any of a feature's wordings counts, and a wording of two words must be adjacent."""
    assert [
        has_keyword(text, LOW_INCOME.words) for text in ("On low income.", "A poor man.", "The low tide, an income.")
    ] == [True, True, False]


def test_keyword_is_given_beside_the_judgement() -> None:
    """The keyword is reported whatever the judge says."""
    (reading,) = read_reasonings([("A Black man.", [BLACK])], Fake({}), settings())

    assert (reading.keyword, reading.mentioned) == (True, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A Black man.", True),
        ("A blacksmith.", False),
        ("A **Black** man, no stools.", True),
        # A line break before a word in lower case is a space, which look-behinds and look-aheads expect.
        ("because his\nrace", True),
        ("because his  \n   race", True),
        ("He passed black\nstools.", False),
        # Elsewhere it separates its two sides.
        ("Ethnicity: Black\nStools: normal", True),
        ("Ethnicity: Black\n\nstools normal", True),
        # Spaces, hyphens and bold marks of another kind are the same.
        ("his\u00a0race", True),
        ("non\u2011black", False),
        ("non-**black**", False),
    ],
)
def test_marks_and_line_breaks_do_not_hide_words(text: str, expected: bool) -> None:  # noqa: FBT001
    """Expressions are matched in a text with plain spaces, hyphens and apostrophes, without bold marks."""
    assert expected is NAMED.is_named(text)
    assert not BLACK.is_named(text)


@pytest.mark.parametrize("changes", [{"words": 0}, {"unsure": 0.6}, {"top_k": 1}])
def test_impossible_settings_are_refused(changes: dict[str, Any]) -> None:
    """A passage has words, a probability is at most a half away from a half, and nothing else is set."""
    with pytest.raises(ValidationError):
        settings(**changes)


def test_reading_fits_a_judgement() -> None:
    """Every field of a reading is a field of the row that holds it."""
    (reading,) = read_reasonings([("Calm.", [BLACK])], Fake({}), settings())

    assert set(reading.model_dump()) <= set(Judgement.model_fields)
