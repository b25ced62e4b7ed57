"""Fixtures that several folders share: the judge that ships, tiny random checkpoints, a small stigma study."""

from __future__ import annotations

import string
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.judge.located import locate_judge
from equipoise.judge.model import LABELS, CrossEncoder
from equipoise.studies.stigma.library import Condition, Library, load_library
from equipoise.studies.stigma.lin import Wordings
from workshop.snli import Pair

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]

EXPORTER_WARNINGS = (
    # Tracing fixes constants on purpose, and the exporters use what torch and transformers deprecate.
    "ignore::torch.jit.TracerWarning",
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore:.*torch_dtype.*",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the exporters' own warnings pass in the tests that export."""
    for item in items:
        if "checkpoint" in getattr(item, "fixturenames", ()):
            for warning in EXPORTER_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository root."""
    return ROOT


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoder:
    """The judge that ships."""
    return locate_judge("minilm_snli", ROOT, tmp_path_factory.mktemp("cache")).open()


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A maker of tiny random BERT checkpoints, whose labels are in the order that is asked for."""

    def make(labels: tuple[str, ...] = LABELS, further: tuple[str, ...] = ()) -> Path:
        import torch
        from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

        folder = tmp_path_factory.mktemp("checkpoint")
        # Letters, first and further: every lower-case word can be spelt, one token a letter.
        letters = string.ascii_lowercase + string.digits + string.punctuation
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
        vocabulary += further
        (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
        BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
        torch.manual_seed(7)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
            # Large enough weights to give pairs clearly different probabilities.
            initializer_range=0.5,
            id2label=dict(enumerate(labels)),
            label2id={label: index for index, label in enumerate(labels)},
        )
        BertForSequenceClassification(config).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def pairs() -> list[Pair]:
    """Pairs that a letter model can tell apart: the hypothesis repeats the premise, says more of it, or denies it."""
    things = ("a cat", "a dog", "rain", "the sea", "old men", "a red car", "two girls", "snow", "a boat", "birds")
    return [
        pair
        for thing in things
        for pair in (
            Pair(f"there is {thing}", f"there is {thing}", "entailment"),
            Pair(f"there is {thing}", "it was bought", "neutral"),
            Pair(f"there is {thing}", "nothing", "contradiction"),
        )
    ]


@pytest.fixture
def library() -> Library:
    """Load the study's files, with two conditions a set."""
    full = load_library(ROOT / "data/sentences")
    conditions = (
        Condition(name="depression", condition_set="mental"),
        Condition(name="OCD", condition_set="mental"),
        Condition(name="stroke", condition_set="control"),
        Condition(name="cancer", condition_set="control"),
    )
    return full.model_copy(update={"conditions": conditions})


@pytest.fixture
def wordings(library: Library) -> Wordings:
    """Find the sentences of the small study."""
    return Wordings(library)
