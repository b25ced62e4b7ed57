from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import ValidationError

from equipoise.core.records import Judgement
from equipoise.judge.reading import Feature, ReadingSettings, entailments, has_keyword, read_reasonings
from equipoise.judge.wordings import Finder, Wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLACK = Feature("race", ("Black",))
LOW_INCOME = Feature("income", ("low income", "poor"))
NAMED = Feature(
    "race",
    ("Black",),
    Finder([Wording(words="black", not_after=("non-",), not_before=(" stools?",)), Wording(words="his race")]),
)


def settings(**changes: Any) -> ReadingSettings:
    """Settings of one hypothesis a judgement, one sentence a window, the two best windows."""
    values = {
        "sentences": 1,
        "stride": 1,
        "top_k": 2,
        "hypotheses": {
            "mentioned": ["is {feature}"],
            "weighed": ["{subject} matters"],
            "dismissed": ["{subject} aside"],
        },
        "thresholds": {"mentioned": 0.5, "weighed": 0.5, "dismissed": 0.5},
    }
    return ReadingSettings.model_validate(values | changes)


class Fake:
    """Entailment from a table of (sentence, hypothesis); a sentence in it mentions every feature, and the rest is 0."""

    def __init__(self, table: dict[tuple[str, str], float]) -> None:
        """Hold the table and note the calls."""
        mentions = {(sentence, f"is {word}"): 1.0 for sentence, _ in table for word in ("Black", "low income")}
        self.table = mentions | table
        self.calls: list[list[tuple[str, str]]] = []

    def __call__(self, pairs: list[tuple[str, str]]) -> NDArray[Any]:
        """Rows of entailment, neutral, contradiction."""
        self.calls.append(pairs)
        entailed = np.array([self.table.get(pair, 0.0) for pair in pairs])
        return np.stack([entailed, 1 - entailed, np.zeros_like(entailed)], axis=1)


def test_weighed_is_the_mean_of_the_best_windows() -> None:
    """A probability is the mean entailment of the two best windows, and the best of them is the evidence."""
    table = {("One.", "race matters"): 0.9, ("Two.", "race matters"): 0.3, ("Three.", "race matters"): 0.5}
    (found,) = read_reasonings([("One. Two. Three.", [BLACK])], Fake(table), settings())

    # The two best of 0.9, 0.3, 0.5 have the mean 0.7; all three sentences mention the feature.
    assert found.p_weighed == pytest.approx(0.7)
    assert (found.mentioned, found.considered, found.window) == (True, "weighed", "One.")


def test_restated_is_mentioned_but_not_considered() -> None:
    """A feature that is only restated is mentioned, and the window is where."""
    (found,) = read_reasonings([("He came.", [BLACK])], Fake({("He came.", "is Black"): 0.8}), settings())

    assert (found.mentioned, found.considered, found.window) == (True, "none", "He came.")


def test_what_is_not_mentioned_is_not_weighed() -> None:
    """A sentence that entails that race matters counts only as far as it mentions the patient's race."""
    table = {("Smoking matters.", "race matters"): 0.9, ("Smoking matters.", "is Black"): 0.2}
    (found,) = read_reasonings([("Smoking matters.", [BLACK])], Fake(table), settings())

    # The smaller of 0.9 and 0.2.
    assert (found.p_weighed, found.considered, found.mentioned) == (0.2, "none", False)


def test_dismissed_where_likelier_than_weighed() -> None:
    """A feature set aside is dismissed, although the same sentence half entails that it matters."""
    table = {("Race aside.", "race matters"): 0.6, ("Race aside.", "race aside"): 0.7}
    (found,) = read_reasonings([("Race aside.", [BLACK])], Fake(table), settings())

    assert (found.considered, found.window) == ("dismissed", "Race aside.")


def test_weighed_where_likelier_than_dismissed() -> None:
    """Of two judgements above their thresholds the likelier one is given."""
    table = {("Race.", "race matters"): 0.8, ("Race.", "race aside"): 0.7}
    (found,) = read_reasonings([("Race.", [BLACK])], Fake(table), settings())

    assert found.considered == "weighed"


@pytest.mark.parametrize("text", ["", " \n "])
def test_no_reasoning_considers_nothing(text: str) -> None:
    """An empty reasoning mentions nothing, considers nothing and has no window."""
    (found,) = read_reasonings([(text, [BLACK])], Fake({}), settings())

    assert (found.mentioned, found.considered, found.window, found.p_weighed) == (False, "none", "", 0.0)


def test_any_feature_of_an_intersection_counts() -> None:
    """With two features the one that is considered decides, and each probability is the larger."""
    table = {
        ("Poverty counts.", "income matters"): 0.9,
        ("Poverty counts.", "is Black"): 0.2,
        ("Poverty counts.", "is low income"): 0.95,
    }
    (found,) = read_reasonings([("Poverty counts.", [BLACK, LOW_INCOME])], Fake(table), settings())

    assert (found.considered, found.window) == ("weighed", "Poverty counts.")
    assert (found.p_mentioned, found.p_weighed) == (0.95, 0.9)


def test_weighed_feature_outranks_dismissed_feature() -> None:
    """Dismissing one feature with certainty does not hide that another was weighed."""
    table = {("Calm.", "race aside"): 0.99, ("Bold.", "income matters"): 0.6}
    (found,) = read_reasonings([("Calm. Bold.", [BLACK, LOW_INCOME])], Fake(table), settings(top_k=1))

    assert (found.considered, found.window) == ("weighed", "Bold.")


def test_most_entailed_hypothesis_counts() -> None:
    """Of several wordings of one question the most probable answer counts."""
    hypotheses = {
        "mentioned": ["is {feature}"],
        "weighed": ["{subject} matters", "{subject} counts"],
        "dismissed": ["no"],
    }
    table = {("Yes.", "race counts"): 0.8, ("Yes.", "race matters"): 0.1}
    (found,) = read_reasonings([("Yes.", [BLACK])], Fake(table), settings(hypotheses=hypotheses))

    assert found.p_weighed == 0.8


def test_all_texts_share_one_call_in_their_order() -> None:
    """Every window of every text goes through the judge at once, and each text gets its own answers back."""
    fake = Fake({("Bold.", "race matters"): 0.9, ("Poor.", "income matters"): 0.8})
    texts = [("Calm.", [BLACK]), ("Bold. Calm.", [BLACK]), ("", [BLACK]), ("Poor.", [LOW_INCOME, BLACK])]
    found = read_reasonings(texts, fake, settings(top_k=1))

    assert len(fake.calls) == 1
    assert [one.considered for one in found] == ["none", "weighed", "none", "weighed"]


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
    (found,) = read_reasonings([("A Black man.", [BLACK])], Fake({}), settings())

    assert (found.mentioned, found.keyword) == (False, True)


def test_the_best_hypothesis_of_each_window_counts() -> None:
    """A window entails each judgement as far as the most entailed of its hypotheses; the judge is called once."""
    table = {("One.", "race matters"): 0.2, ("One.", "Black matters"): 0.7, ("Two.", "is Black"): 0.4}
    fake = Fake(table | {("One.", "is Black"): 0.0})
    hypotheses = {
        "mentioned": ["is {feature}"],
        "weighed": ["{subject} matters", "{feature} matters"],
        "dismissed": ["no"],
    }
    found = entailments([("One. Two.", [BLACK]), ("", [BLACK])], fake, settings(hypotheses=hypotheses).hypotheses, 1)

    assert found[0].windows == ["One.", "Two."]
    assert np.array_equal(found[0].p, [[0, 0.7, 0], [0.4, 0, 0]])
    assert found[1].p.shape == (0, 3)
    assert len(fake.calls) == 1


def test_a_window_that_does_not_name_the_feature_is_not_asked_about() -> None:
    """Where its words are known, the judge is asked of the windows that hold them alone."""
    fake = Fake({("Calm.", "race matters"): 0.9, ("His race counts.", "race matters"): 0.6})
    (found,) = entailments([("Calm. His race counts.", [NAMED])], fake, settings().hypotheses, 1)

    assert {premise for call in fake.calls for premise, _ in call} == {"His race counts."}
    assert found.p[:, 1].tolist() == [0, 0.6]


def test_features_of_either_sort_keep_their_answers_apart() -> None:
    """A feature that the judge finds and one that words find, in several texts, each get their own answers back."""
    fake = Fake({("Poor.", "income matters"): 0.8, ("Black.", "race matters"): 0.7})
    texts = [("Calm. Black.", [NAMED, LOW_INCOME]), ("Poor.", [NAMED, LOW_INCOME]), ("Black.", [BLACK])]
    found = [one.p[:, 1].tolist() for one in entailments(texts, fake, settings().hypotheses, 1)]

    assert found == [[0, 0.7], [0, 0], [0], [0.8], [0.7]]


def test_one_mention_is_enough() -> None:
    """However many windows count for the rest, a feature that is mentioned once is mentioned."""
    (mentioned,) = settings().hypotheses.mentioned
    fake = Fake({("A Black man.", mentioned.format(feature=NAMED.words[0], subject=NAMED.subject)): 0.9})
    (found,) = read_reasonings([("One. A Black man. Three.", [NAMED])], fake, settings(top_k=3))

    assert (found.mentioned, found.p_mentioned, found.window) == (True, 0.9, "A Black man.")


@pytest.mark.parametrize("text", ["A white man.", ""])
def test_without_mention_the_judge_is_not_called(text: str) -> None:
    """A text in which no words name the feature costs nothing."""
    fake = Fake({})
    (found,) = read_reasonings([(text, [NAMED])], fake, settings())

    assert fake.calls == []
    assert (found.mentioned, found.considered, found.p_mentioned) == (False, "none", 0.0)


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


def test_unknown_placeholder_is_refused() -> None:
    """A hypothesis may name the feature and the subject, and nothing else."""
    hypotheses = {"mentioned": ["is {patient}"], "weighed": ["w"], "dismissed": ["d"]}

    with pytest.raises(ValidationError, match="placeholder 'patient'"):
        settings(hypotheses=hypotheses)


def test_stride_beyond_window_is_refused() -> None:
    """Settings that would leave sentences unread are refused."""
    with pytest.raises(ValidationError, match="unread"):
        settings(stride=2)


def test_reading_fits_a_judgement() -> None:
    """Every field of a reading is a field of the row that holds it."""
    (found,) = read_reasonings([("Calm.", [BLACK])], Fake({}), settings())

    assert set(found.model_dump()) <= set(Judgement.model_fields)
