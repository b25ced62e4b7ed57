from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import ValidationError

from equipoise.errors import EquipoiseError
from equipoise.judge.reading import Feature, ReadingSettings, features_of, has_keyword, read_reasonings
from equipoise.records import Judgement

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLACK = Feature("race", ("Black",))
LOW_INCOME = Feature("income", ("low income", "poor"))


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
        """Hold the table and count the calls."""
        mentions = {(sentence, f"is {word}"): 1.0 for sentence, _ in table for word in ("Black", "low income")}
        self.table = mentions | table
        self.calls = 0

    def __call__(self, pairs: list[tuple[str, str]]) -> NDArray[Any]:
        """Rows of entailment, neutral, contradiction."""
        self.calls += 1
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
    """Of two judgements above their thresholds the likelier one stands."""
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

    assert fake.calls == 1
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
    """Any of a feature's wordings counts, and a wording of two words must stand together."""
    assert [
        has_keyword(text, LOW_INCOME.words) for text in ("On low income.", "A poor man.", "The low tide, an income.")
    ] == [True, True, False]


def test_keyword_stands_beside_the_judgement() -> None:
    """The keyword is reported whatever the judge says."""
    (found,) = read_reasonings([("A Black man.", [BLACK])], Fake({}), settings())

    assert (found.mentioned, found.keyword) == (False, True)


def test_features_carry_their_subject() -> None:
    """A vignette's features take their dimension's subject, in the order of the dimensions."""
    found = features_of({"race": "Black", "age": "elderly"}, {"race": "race", "age": "age", "gender": "sex"})

    assert (Feature("age", ("elderly",)), Feature("race", ("Black",))) == found


def test_dimension_without_subject_is_refused() -> None:
    """A dimension that has no subject is named in the error."""
    with pytest.raises(EquipoiseError, match=r"score\.subjects.*'race'"):
        features_of({"race": "Black"}, {"age": "age"})


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
