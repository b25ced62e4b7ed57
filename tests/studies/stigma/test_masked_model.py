from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tiny_masked
from equipoise.core.errors import EquipoiseError
from equipoise.studies.stigma.masked_model import MaskedModel, Predictions, is_whole, prepare, softmax

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from equipoise.studies.stigma.aggregate import Token

SENTENCES = [
    "{mask} has depression",
    "{mask} is in therapy for heart disease",
    "I feel scared of a {mask} with cancer.",
    "I feel scared of a close {mask} friend with cancer.",
    "I think the {mask}'s present condition of anxiety is controllable.",
    "A {mask} with depression would terrify me.",
    "A {mask} friend with depression would terrify me.",
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a tiny RoBERTa in either runtime, and a tiny Longformer."""
    root = tmp_path_factory.mktemp("masked")
    plain = tiny_masked.build(root / "plain", seed=3)
    for runtime in ("onnx", "torch"):
        tiny_masked.register(root, runtime, plain, runtime=runtime)
    tiny_masked.register(root, "longformer", tiny_masked.build(root / "wide", seed=3, longformer=True), runtime="torch")
    return root


@pytest.fixture(scope="module")
def models(root: Path) -> dict[str, MaskedModel]:
    """Each of them, open."""
    return {name: prepare(name, root, root / "store", SENTENCES).open() for name in ("onnx", "torch", "longformer")}


def predict(
    model: MaskedModel, sentences: Iterable[str], *, top_k: int = 10, batch_size: int = 64
) -> dict[str, Predictions]:
    """Collect the predictions of all batches."""
    batches = model.predict(list(sentences), top_k=top_k, batch_size=batch_size)
    return {sentence: predictions for batch in batches for sentence, predictions in batch}


@pytest.mark.parametrize("runtime", ["onnx", "torch", "longformer"])
def test_predictions_are_those_of_the_published_pipeline(
    models: dict[str, MaskedModel], root: Path, runtime: str
) -> None:
    """The fill-mask pipeline, which the published figures come from, gives the same tokens and probabilities."""
    from transformers import pipeline

    folder = root / ("wide" if runtime == "longformer" else "plain")
    fill = pipeline("fill-mask", model=str(folder), tokenizer=str(folder), device="cpu")
    predictions = predict(models[runtime], SENTENCES)
    for sentence in SENTENCES:
        published = fill(sentence.replace("{mask}", "<mask>"), top_k=10)
        # A special token has no text here; the pipeline writes its name.
        expected = [prediction["token_str"] if prediction["token"] > 4 else "" for prediction in published]

        assert expected == list(predictions[sentence].text)
        assert [prediction["score"] for prediction in published] == pytest.approx(
            predictions[sentence].probability, abs=1e-5
        )


@pytest.mark.parametrize("runtime", ["onnx", "torch", "longformer"])
def test_neither_batch_size_nor_order_changes_a_bit(models: dict[str, MaskedModel], runtime: str) -> None:
    """A sentence's figures depend, bit for bit, on that sentence alone."""
    model = models[runtime]
    more = [
        sentence.replace("with", place) for sentence in SENTENCES for place in ("with", "beside", "near", "under", "on")
    ]
    alone = {sentence: predict(model, [sentence])[sentence] for sentence in more}

    for batch_size in (1, 2, 3, 64):
        assert alone == predict(model, more, batch_size=batch_size)
    assert alone == predict(model, reversed(more), batch_size=4)


def test_probabilities_are_over_the_whole_vocabulary(models: dict[str, MaskedModel]) -> None:
    """All tokens together make 1; the ten likeliest alone make less, and come in falling order."""
    (everything,) = predict(models["onnx"], SENTENCES[:1], top_k=10_000).values()
    (ten,) = predict(models["onnx"], SENTENCES[:1]).values()

    assert sum(everything.probability) == pytest.approx(1.0, abs=1e-12)
    assert everything.probability[:10] == ten.probability
    assert sorted(ten.probability, reverse=True) == list(ten.probability)


@pytest.mark.parametrize(
    ("text", "before", "after", "spaced", "expected"),
    [
        # After a space that the mask has taken: the token must bring its own.
        (" man", "a ", " with", True, True),
        ("man", "a ", " with", False, False),
        # At the sentence's beginning both are words.
        ("She", "", " has", False, True),
        (" She", "", " has", True, True),
        # A bracket or a quotation mark begins a word; a letter before the mask is part of it.
        ("man", "(", " with", False, True),
        ("man", "school", " with", False, False),
        # What follows the mask continues the word, or does not.
        (" man", "a ", "kind with", True, False),
        (" man", "the ", "'s condition", True, True),
        # No letter and no digit: no word.
        (" -", "a ", " with", True, False),
        ("", "a ", " with", False, False),
        (" 20", "a ", " with", True, True),
    ],
)
def test_whole_words(text: str, before: str, after: str, *, spaced: bool, expected: bool) -> None:
    """A token is a whole word where no letter joins it to its neighbours."""
    assert is_whole(text, before, after, spaced=spaced) is expected


def test_words_are_told_from_parts_of_words(models: dict[str, MaskedModel]) -> None:
    """Inside a sentence a token is whole only with its space; at its beginning it needs none."""

    def tokens(sentence: str) -> list[Token]:
        return predict(models["onnx"], [sentence], top_k=500)[sentence].tokens()

    inside = {token.text: token.whole for token in tokens(SENTENCES[2])}
    first = {token.text: token.whole for token in tokens(SENTENCES[0])}

    assert (inside[" girl"], inside["girl"], inside["She"], inside["."]) == (True, False, False, False)
    assert (first["She"], first[" girl"], first["."]) == (True, True, False)
    # The mask's own name and its like are not text.
    assert inside[""] is False


class Given:
    """Logits that are given in place of a model's."""

    def __init__(self, logits: list[float]) -> None:
        """Take one logit a token of the vocabulary."""
        self.logits = logits

    def __call__(self, ids: Any) -> Any:
        """Give them for every sentence."""
        return np.array([self.logits] * len(ids), dtype=np.float32)


def test_equally_likely_tokens_come_in_the_vocabulary_s_order(tmp_path: Path) -> None:
    """Ties are broken the same way always, also at the end of the list."""
    spell = tiny_masked.tokenizer(tmp_path)
    logits = [0.0] * len(spell)
    logits[50] = 1.0
    model = MaskedModel(spell, Given(logits), max_tokens=64)
    (prediction,) = predict(model, SENTENCES[:1], top_k=4).values()

    # The likeliest first, then ids 0 to 2, which are special tokens and have no text.
    assert prediction.text == (spell.decode([50]), "", "", "")
    # softmax: e / (e + n - 1) and 1 / (e + n - 1).
    rest = np.e + len(spell) - 1
    assert prediction.probability == pytest.approx((np.e / rest, 1 / rest, 1 / rest, 1 / rest), abs=1e-12)


def test_logits_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """Damaged weights give one line, and no figure."""
    spell = tiny_masked.tokenizer(tmp_path)
    model = MaskedModel(spell, Given([float("nan")] * len(spell)), max_tokens=64)

    with pytest.raises(EquipoiseError, match="logits are not finite numbers: check its weights"):
        predict(model, SENTENCES)


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("nobody has depression", r"'nobody has depression': \{mask\} must occur exactly once"),
        ("{mask} and {mask} have depression", "must occur exactly once"),
        ("{mask} and <mask> have depression", "must occur exactly once"),
        ("{mask} has " + "depression " * 100, r"tokens, more than the 100 of the masked model's registry entry"),
    ],
)
def test_a_sentence_that_cannot_be_asked_is_named(models: dict[str, MaskedModel], sentence: str, fault: str) -> None:
    """No mask, two masks and too many tokens are reported before anything is computed."""
    with pytest.raises(EquipoiseError, match=fault):
        next(models["onnx"].predict([SENTENCES[0], sentence], top_k=5, batch_size=1))


def test_nothing_asked_is_nothing_answered(models: dict[str, MaskedModel]) -> None:
    """No sentences give no batches."""
    assert list(models["onnx"].predict([], top_k=5, batch_size=4)) == []


def test_softmax_of_large_logits() -> None:
    """Shares are right where the exponential alone would overflow."""
    # e^1000 / (e^1000 + e^1000 + e^999) = 1 / (2 + 1/e).
    assert softmax(np.array([1000, 1000, 999], np.float32)) == pytest.approx(
        [1 / (2 + 1 / np.e)] * 2 + [1 / (1 + 2 * np.e)]
    )
