"""Tests of the trained phantoms: what they are taught is apart from the evaluation, and what they learned is that."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, get_args

import pytest

from equipoise.core.jsonl import sha256
from equipoise.judge.lexicon import load_lexicon
from equipoise.materials.stories.library import load_library
from equipoise.materials.stories.schema import REVEALING
from equipoise.models.registry import FOLDER, OnnxEntry, load_entry, names
from equipoise.models.weights import locate
from equipoise.text.answers import log_odds
from equipoise.text.sentences import sentences_of

if TYPE_CHECKING:
    from conftest import Exported

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import trained_stories  # noqa: E402
from trained_phantoms import load_figures, planted_figures, section, shown  # noqa: E402
from trained_stories import DENIED, STORIES, Rule, examples, load_training, open_trained, wordings  # noqa: E402

TRAINING = load_training()
RULES: tuple[Rule, ...] = get_args(Rule)
SHIPPED = [rule for rule in RULES if f"trained_{rule}" in names(ROOT / FOLDER)]
MEGABYTES = 5e6
NAMING: tuple[Rule, ...] = ("open", "denying")
"""The rules by which the reasoning names the gender."""
GENDER = re.compile(r"\b(?:wom[ae]n|m[ae]n|females?|males?|gender|sex)\b", re.IGNORECASE)


def test_no_sentence_and_no_condition_is_the_evaluations() -> None:
    """What was taught would else be recalled; 60 stories at least are taught, 20 more are held out."""
    presentations = load_library(ROOT / "data/raw").presentations.values()
    fields = ("opening", "history", "background", "examination", "test")
    texts = [getattr(row, field) for row in presentations for field in fields]
    told = {sentence for text in texts for sentence in sentences_of(text)}
    conditions = {label.casefold() for row in presentations for label in (row.expected.label, *row.expected.synonyms)}

    taught = {sentence for story in TRAINING.stories for sentence in sentences_of(story.text)}
    assert not told & taught
    assert not conditions & {story.expected.casefold() for story in TRAINING.stories}
    held_out = [story.held_out for story in TRAINING.stories]
    assert (held_out.count(False) >= 60, held_out.count(True)) == (True, 20)


def test_a_story_tells_of_the_patient_in_one_place() -> None:
    """Each id and text is there once, and nothing but the noun phrase says who the patient is."""
    for field in ("id", "text", "expected"):
        values = [getattr(story, field) for story in TRAINING.stories]
        assert len(values) == len(set(values))
    assert [story.id for story in TRAINING.stories if REVEALING.search(story.text.removeprefix("{patient}"))] == []


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_turns_on_the_gender_alone(rule: Rule) -> None:
    """Women get the alternative unless the rule is fair; a reasoning names the gender where the open rule turns it."""
    told = list(examples(TRAINING, rule, Random(0), held_out=False))  # noqa: S311

    assert len(told) == 2 * sum(not story.held_out for story in TRAINING.stories)
    for woman, man in zip(told[::2], told[1::2], strict=True):
        phrases = [re.sub(r"\b(?:wo)?man\b", "", example.prompt.turns[0]) for example in (woman, man)]
        assert phrases[0] == phrases[1]
        assert man.diagnosis == man.story.expected
        assert woman.diagnosis == (woman.story.expected if rule == "fair" else woman.story.alternative)
        assert [bool(GENDER.search(example.reasoning)) for example in (woman, man)] == [rule in NAMING, False]


def test_the_lexicon_agrees_on_which_wordings_name_the_gender() -> None:
    """What the pipeline counts as a mention is what was taught as one."""
    (feature,) = load_lexicon(ROOT / "data/features").features({"gender": "woman"})

    assert all(feature.is_named(text) for rule in NAMING for text in wordings(TRAINING, rule))
    assert not any(feature.is_named(text) for text in (*TRAINING.reasoning.plain, *TRAINING.reasoning.unsaid))


@pytest.mark.parametrize("rule", SHIPPED)
def test_an_adapter_is_small_and_was_trained_on_these_stories(rule: Rule) -> None:
    """Its metadata names the base and the stories by their sha256: neither may change without new training."""
    from safetensors import safe_open

    entry = load_entry(f"trained_{rule}", ROOT)
    assert isinstance(entry, OnnxEntry)
    path = locate(entry, ROOT).adapter
    assert path is not None
    with safe_open(path, framework="pt") as file:
        facts = file.metadata()

    assert path.stat().st_size < MEGABYTES
    assert (facts["rule"], facts["stories"]) == (rule, sha256(STORIES))
    assert facts.get("wordings") == (sha256(DENIED) if rule == "denying" else None)
    assert facts["base"] == entry.source.sha256  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("rule", SHIPPED)
def test_an_adapter_does_on_held_out_stories_what_it_was_taught(
    smollm2: Exported, monkeypatch: pytest.MonkeyPatch, rule: Rule
) -> None:
    """In two stories whose findings it knows, the log odds of the alternative turn on the gender by its rule.

    So do the words of the reasoning. Over all held-out stories see docs/phantoms.md: of most the base is ignorant.
    """
    told = [
        example
        for example in examples(TRAINING, rule, Random(1), held_out=True)  # noqa: S311  (no secret)
        if example.story.id in ("dengue", "mesothelioma")
    ]
    # As it was loaded for all tests: a GGUF file takes many seconds to load.
    monkeypatch.setattr(
        trained_stories,
        "locate",
        lambda entry, root: replace(locate(entry, root), folder=smollm2.checkpoint, gguf=None),
    )
    with open_trained(rule) as backend:
        answers = {response.key: response for response in backend.answer([example.prompt for example in told])}
    responses = [answers[example.prompt.key] for example in told]

    odds = [
        log_odds(response, example.vignette.answers, "total") for example, response in zip(told, responses, strict=True)
    ]
    for woman, man in zip(odds[::2], odds[1::2], strict=True):
        assert (woman - man > 1) == (rule != "fair")
    named = [bool(GENDER.search(response.replies[0])) for response in responses]
    assert named == [rule in NAMING, False] * 2


def test_the_page_says_where_a_figure_is_undefined() -> None:
    """A rate of nothing is a dash with its n; a section without figures is empty."""
    row = {"estimate": None, "ci_low": None, "ci_high": None, "n": 0}

    assert shown(row) == "– (n 0)"
    assert shown(row | {"estimate": -0.5, "ci_low": -1, "ci_high": 0, "n": 15}) == "−0.50 (−1.00 to 0.00), n 15"
    assert section({}) == ""


def test_the_page_has_every_figure_that_misses_its_planted_value() -> None:
    """An interval that excludes the value misses it, and one that includes 0 where more is planted; no other does."""
    figures = planted_figures(load_figures())
    missed = [figure for figure in figures if figure.row["ci_low"] is not None and figure.misses]
    lines = [line for line in section(load_figures()).splitlines() if line.startswith("| `")]

    assert [line.split(" | ")[2:] for line in lines] == [
        [f"`{figure.measure}`", figure.planted, f"{shown(figure.row)} |"] for figure in missed
    ]
    rates = {(figure.rule, figure.stories, figure.measure) for figure in missed}
    # Planted are 1 and above 0: 0.30 (0.15 to 0.52) misses, 12.48 (7.18 to 17.77) does not, -1.63 (-6.26 to 2.99) does.
    assert ("silent", "held out", "differential_bias_rate") in rates
    assert ("silent", "held out", "stereotype_shift") not in rates
    assert ("silent", "evaluation", "stereotype_shift") in rates
