from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import FOLDER, load_lexicon
from workshop.corpus import GOLD, RELATIONS, Bank, CorpusSettings, Kind, Relation, Surroundings, compose, load_banks
from workshop.settings import section
from workshop.snli import Pair

ROOT = Path(__file__).parents[3]
AROUND = Surroundings(
    sentences=tuple(f"Around 0 {place}." for place in range(5)), conditions=("gout",), findings=("pain",)
)
SUBJECTS = {"race": "race", "housing": "housing", "gender": "gender"}
SETTINGS: dict[str, Any] = {
    "seed": 0,
    "passages": 60,
    "test": 20,
    "held_out": 0.25,
    "kinds": dict.fromkeys(RELATIONS, 1.0),
    "elsewhere": 0.3,
    "bare": 0.2,
    "hypotheses": {
        "mentioned": ["{subject} {feature} mentioned"],
        "weighed": ["{subject} {feature} weighed"],
        "dismissed": ["{subject} {feature} dismissed"],
    },
}


def sentences(dimension: str, n: int = 4) -> dict[Kind, list[str]]:
    """Sentences of each kind that say which they are, one of them in the same words in every bank."""
    return {
        kind: [*(f"{dimension} {kind} {place} {{trait}}." for place in range(n)), f"Common {kind}."]
        for kind in RELATIONS
    }


def bank(dimension: str, *features: str, n: int = 4) -> Bank:
    """Build a bank whose features are expressed by their names."""
    words = {name: {"person": [name], "group": [name], "trait": [name]} for name in features}
    return Bank.model_validate({"dimension": dimension, "features": words, "sentences": sentences(dimension, n)})


BANKS = {
    "race": bank("race", "black", "white"),
    "housing": bank("housing", "homeless"),
    "gender": bank("gender", "female"),
}


def composed(**changes: Any) -> tuple[list[Pair], list[Pair]]:
    """Compose pairs from the small banks."""
    return compose(BANKS, AROUND, SUBJECTS, CorpusSettings.model_validate(SETTINGS | changes))


def told(pairs: list[Pair]) -> set[str]:
    """The sentences in passages, without what fills their slots."""
    texts = "\n".join(pair.premise for pair in pairs).lower()
    return set(re.findall(r"(?:race|housing|gender) \w+ \d|common \w+|around 0 \d", texts))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.floats(0.01, 0.99))
def test_training_and_test_share_no_sentence(seed: int, held_out: float) -> None:
    """Whatever the draw, no sentence is used in both, not even one that several banks share."""
    training, test = (told(pairs) for pairs in composed(seed=seed, held_out=held_out))

    assert training
    assert test
    assert not training & test


def test_half_of_a_bank_is_kept_where_half_is_asked() -> None:
    """With enough passages every sentence is used, and the share that was asked for is in the test."""
    training, test = (told(pairs) for pairs in composed(passages=3000, test=3000, held_out=0.4))
    own = {
        name: {text for text in texts if text[:6] not in ("common", "around")}
        for name, texts in (("a", training), ("b", test))
    }

    # Three banks of six kinds with four sentences of their own, and one a kind that they share; five around them.
    assert len(training | test) == 3 * 6 * 4 + 6 + 5
    assert len({text for text in test if "around" in text}) == 2
    # Of five, two are held out in each; where one of these is the shared sentence, one of the bank's own.
    assert 3 * 6 <= len(own["b"]) <= 3 * 6 * 2


def test_equal_seeds_give_equal_pairs() -> None:
    """The settings decide every pair and their order; another seed gives others."""
    assert composed() == composed()
    assert composed() != composed(seed=1)


def test_each_pair_occurs_once() -> None:
    """No question is put twice to the same passage."""
    for pairs in composed(passages=500):
        assert len({(pair.premise, pair.hypothesis) for pair in pairs}) == len(pairs)


@pytest.mark.parametrize("kind", RELATIONS)
def test_labels_follow_what_a_sentence_does(kind: Kind) -> None:
    """A passage about one sentence is labelled by its kind, in every question."""
    kinds = dict.fromkeys(RELATIONS, 0.0) | {kind: 1.0}
    training, test = composed(kinds=kinds, elsewhere=0.0, bare=0.0, passages=200)
    questions = set()
    for pair in [*training, *test]:
        subject, feature, question = pair.hypothesis.split()
        questions.add(question)

        assert re.search(rf"({subject} {kind} \d {feature}|common {kind})", pair.premise, re.IGNORECASE)
        assert pair.label == GOLD[question][RELATIONS[kind]]
    assert questions == set(GOLD)


def test_what_is_not_told_of_is_absent() -> None:
    """Asked about a dimension of which a passage has no sentence, the answer is neutral."""
    absent = 0
    for pair in composed(passages=800, bare=0.0)[0]:
        subject = pair.hypothesis.split()[0]
        if not re.search(rf"{subject} \w+ \d|common", pair.premise, re.IGNORECASE):
            absent += 1
            assert pair.label == "neutral"
            # A passage may name a gender without a sentence about it.
            assert subject != "gender"
    assert absent > 0


def test_bare_passages_tell_of_nothing() -> None:
    """The share asked for is of surroundings alone, about any dimension; the answer is neutral."""
    pairs = [pair for pair in composed(passages=2000, bare=0.5)[0] if pair.hypothesis.endswith("weighed")]
    bare = [pair for pair in pairs if re.fullmatch(r"(?:Around 0 \d\.\s?)+", pair.premise)]

    assert {pair.label for pair in bare} == {"neutral"}
    assert {pair.hypothesis.split()[0] for pair in bare} == set(SUBJECTS)


def test_weighing_is_asked_of_every_passage() -> None:
    """Each passage has the question that matters most, and each of the others about every second one."""
    pairs = composed(passages=2000)[0]
    asked = {question: {pair.premise for pair in pairs if pair.hypothesis.endswith(question)} for question in GOLD}
    passages = {pair.premise for pair in pairs}

    assert asked["weighed"] == passages
    # A passage that is composed several times is asked more often than half the time.
    assert all(0.5 < len(asked[question]) / len(passages) < 1 for question in ("mentioned", "dismissed"))


def test_gold() -> None:
    """To weigh and to dismiss contradict each other; both mention; a restatement entails neither."""
    relations: tuple[Relation, ...] = ("weighed", "dismissed", "restated", "absent")

    assert [GOLD["mentioned"][kind] for kind in relations] == ["entailment", "entailment", "entailment", "neutral"]
    assert [GOLD["weighed"][kind] for kind in relations] == ["entailment", "contradiction", "neutral", "neutral"]
    assert [GOLD["dismissed"][kind] for kind in relations] == ["contradiction", "entailment", "neutral", "neutral"]


def test_two_banks_suffice() -> None:
    """With two banks a passage that tells of both leaves no dimension to ask about elsewhere."""
    two = {name: BANKS[name] for name in ("race", "housing")}
    chosen = CorpusSettings.model_validate(SETTINGS | {"passages": 400, "elsewhere": 0.9})

    assert compose(two, AROUND, SUBJECTS, chosen)[0]


def test_what_cannot_be_composed_is_refused() -> None:
    """One bank alone, a dimension without words, and a bank without sentences of its own are named."""
    chosen = CorpusSettings.model_validate(SETTINGS)
    # The first bank keeps 2 of 9 sentences a kind for the test, seldom one of the two that the second has as well.
    alike = {"race": bank("race", "black", n=8), "housing": bank("race", "homeless", n=1)}

    with pytest.raises(EquipoiseError, match="there are 1 banks of sentences: passages need two"):
        compose({"race": BANKS["race"]}, AROUND, SUBJECTS, chosen)
    with pytest.raises(EquipoiseError, match=r"'gender' has no subject: add data/features/gender\.yaml"):
        compose(BANKS, AROUND, {"race": "race", "housing": "housing"}, chosen)
    with pytest.raises(EquipoiseError, match=r"housing\.yaml: too few \w+ sentences that no other bank has: add some"):
        compose(alike, AROUND, SUBJECTS, chosen)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kinds": {"weighed": 1.0}}, "kinds has no share for weighed_indirect"),
        ({"kinds": dict.fromkeys(RELATIONS, 0.0)}, "kinds are all 0"),
        ({"held_out": 1.0}, "held_out"),
        ({"hypotheses": {"weighed": ["x"]}}, "mentioned"),
        ({"hypotheses": SETTINGS["hypotheses"] | {"weighed": ["{patient}"]}}, "placeholder 'patient'"),
    ],
)
def test_settings_that_compose_nothing_are_refused(changes: dict[str, Any], message: str) -> None:
    """Shares that are missing, and hypotheses that could not be filled, are refused before any work."""
    with pytest.raises(ValidationError, match=message):
        composed(**changes)


def test_the_shipped_banks_compose() -> None:
    """With the shipped settings, no brace is left, each bank's dimension is asked about, and none is used in both."""
    shipped = section(ROOT / "judge/params.yaml", "corpus", CorpusSettings)
    banks, around = load_banks(ROOT / "judge/corpus")
    subjects = load_lexicon(ROOT / FOLDER).subjects
    training, test = compose(banks, around, subjects, shipped.model_copy(update={"passages": 1500}))

    assert [pair for pair in (*training, *test) if set("{}") & set(pair.premise + pair.hypothesis)] == []
    for pairs in (training, test):
        asked = " ".join(pair.hypothesis for pair in pairs)
        assert [name for name in banks if subjects[name] not in asked] == []
        assert {pair.label for pair in pairs} == {"entailment", "neutral", "contradiction"}
    assert not {pair.premise for pair in training} & {pair.premise for pair in test}
