"""Tests of the comparison of readers on annotated passages, and of the public suite."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.passages import CONSIDERED, Passage, passage_files, read_passages
from equipoise.judge.rating.agreement import agreement
from equipoise.judge.rating.comparison import (
    draw_passages,
    first_questions,
    panel_agreement,
    read_by_count,
    read_by_keyword,
    reader_figures,
    suite,
)
from equipoise.judge.reading import UNREAD, Feature

if TYPE_CHECKING:
    from equipoise.judge.passages import PassageClass

ROOT = Path(__file__).parents[3]
SUITE = ROOT / "judge/benchmark/passages.jsonl"


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    """The public suite."""
    return read_passages([SUITE])


def passage(number: int, kind: PassageClass) -> Passage:
    """Make a passage that asks about race, and annotates gender too."""
    first: dict[str, Any] = {"dimension": "race", "feature": "Black", "class": kind, "mentions": 1}
    second = {"dimension": "gender", "feature": "woman", "class": "weighed", "mentions": 1}
    row = {"id": str(number), "style": "short", "text": "A passage.", "features": [first, second]}
    return Passage.model_validate(row)


def test_a_reader_is_measured_on_first_features_by_class() -> None:
    """Of three weighed passages two are found weighed and one dismissed; the dismissed and the silent one are right."""
    suite = [passage(n, kind) for n, kind in enumerate(("weighed", "weighed", "weighed", "dismissed", "restated"))]
    considerations = ("weighed", "weighed", "dismissed", "dismissed", "none")
    figures: Any = reader_figures(
        suite, [UNREAD.model_copy(update={"considered": consideration}) for consideration in considerations]
    )

    # Considered or not is right five times of five.
    assert figures["considered"]["kappa"]["estimate"] == 1.0
    # Three ways: p_o = 4/5, p_e = (3*2 + 1*2 + 1*1)/25 = 9/25, kappa = (20 - 9)/(25 - 9).
    assert figures["three_way"]["kappa"]["estimate"] == pytest.approx(11 / 16)
    # Wilson, 2 of 3: 0.20766 to 0.93851.
    assert figures["classes"]["weighed"] == pytest.approx(
        {"n": 3, "estimate": 2 / 3, "ci_low": 0.20766, "ci_high": 0.938508}, abs=2e-6
    )


def test_baselines_look_for_words() -> None:
    """The keyword is the feature's own word, once; the count wants two sentences that the lexicon finds."""
    (feature,) = load_lexicon(ROOT / "data/features").features({"race": "Black"})
    once, twice = "He is Black. He coughs.", "He is Black. His ethnicity is noted."

    assert [read_by_keyword(text, feature).considered for text in (once, twice, "He coughs.")] == [
        "weighed",
        "weighed",
        "none",
    ]
    assert [read_by_count(text, feature).considered for text in (once, twice)] == ["none", "weighed"]
    assert [read_by_count(text, feature).mentioned for text in (once, "He coughs.")] == [True, False]
    assert not read_by_count(twice, Feature("race", ("Black",))).mentioned


def test_a_panel_that_agrees_on_consideration_is_unanimous() -> None:
    """Weighed and dismissed differ, restated and unmentioned do not."""
    same = panel_agreement({"a": ["weighed", "restated"], "b": ["weighed", "unmentioned"]})
    other = panel_agreement({"a": ["weighed", "restated"], "b": ["dismissed", "restated"]})

    assert same == {"fleiss_kappa": 1.0, "unanimous": 1.0}
    # Mean agreement 1/2; by chance (1/4)^2 + (1/4)^2 + (1/2)^2 = 3/8: kappa = (1/2 - 3/8) / (5/8).
    assert other == {"fleiss_kappa": 0.2, "unanimous": 0.5}
    assert panel_agreement({"a": ["weighed"], "b": ["weighed"]})["fleiss_kappa"] is None


def test_a_draw_is_the_beginning_of_a_longer_one(passages: list[Passage]) -> None:
    """What is asked for a few passages is not asked again for more; without a limit all come in their order."""
    assert draw_passages(passages, 20) == draw_passages(passages, 50)[:20]
    assert draw_passages(passages, None) == passages


def test_counting_mentions_tells_little_of_the_suite(passages: list[Passage]) -> None:
    """Even the annotated number of mentions, more than one or not, agrees by a kappa below 0.2."""
    first = [row.features[0] for row in passages]
    truth = [CONSIDERED[feature.treatment] for feature in first]
    counted = ["weighed" if feature.mentions > 1 else "none" for feature in first]
    figures: Any = agreement(truth, counted, [row.id for row in passages], seed=0, n_bootstrap=100)  # type: ignore[arg-type]

    assert figures["considered"]["kappa"]["estimate"] < 0.2


def test_the_suite_is_balanced(passages: list[Passage]) -> None:
    """At least 600 passages; classes alike but for pronouns alone, which are gender's; styles alike; no text twice."""
    classes = Counter(row.features[0].class_ for row in passages)
    del classes["pronoun_only"]
    styles = Counter(row.style for row in passages)

    assert len({row.text for row in passages}) == len(passages) >= 600
    assert max(classes.values()) - min(classes.values()) <= 5
    assert max(styles.values()) - min(styles.values()) <= 15


def test_no_passage_of_the_suite_is_trained_on(passages: list[Passage]) -> None:
    """No text of the suite is among those that the judge which ships is trained on."""
    trained = read_passages(passage_files(ROOT / "judge/passages"))

    assert not {row.text for row in passages} & {row.text for row in trained}


def test_the_lexicon_knows_every_feature_that_is_asked_about(passages: list[Passage]) -> None:
    """Each first feature has a finder, so that the count is the count of what it names."""
    questions = first_questions(passages, load_lexicon(ROOT / "data/features"))

    assert [feature.words for _, feature in questions if feature.named is None] == []


def test_an_unknown_suite_is_refused_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error lists the suites; a path ending in .jsonl is taken as it is."""
    monkeypatch.chdir(ROOT)

    with pytest.raises(EquipoiseError, match=r"judge/benchmark/passage.jsonl: no such benchmark: known: passages"):
        suite("passage")
    assert suite(str(SUITE)) == SUITE
