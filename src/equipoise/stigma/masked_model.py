"""A masked language model at work: the likeliest words at the one mask of each sentence.

Only sentences of exactly the same number of tokens are computed together. Nothing is padded, so a sentence's figures do
not depend on what else is asked, on its order or on the batch size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Frozen
from equipoise.stigma.aggregate import Token, continues
from equipoise.stigma.library import MASK

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SPACE = "Ġ"
"""How the name of a token begins that begins with a space."""
Logits = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""From token ids, (sentences, tokens), with one mask a sentence, to the logits at it, (sentences, vocabulary)."""


class Predictions(Frozen):
    """The likeliest tokens at one mask, in falling order: text, probability, and whether each is a whole word."""

    text: tuple[str, ...]
    probability: tuple[float, ...]
    whole: tuple[bool, ...]

    def tokens(self) -> list[Token]:
        """Give the predictions one by one."""
        return [Token(*one) for one in zip(self.text, self.probability, self.whole, strict=True)]


class MaskedModel:
    """A masked model and its tokenizer. Sentences hold `{mask}` once, in place of the word that is asked for."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, logits: Logits, *, max_tokens: int) -> None:
        """Take the two; `max_tokens` is the most tokens that a sentence may have."""
        self._tokenizer = tokenizer
        self._logits = logits
        self._max_tokens = max_tokens
        self._special = frozenset(tokenizer.all_special_ids)
        self._known: dict[int, tuple[str, bool]] = {}

    def predict(
        self, sentences: Sequence[str], *, top_k: int, batch_size: int
    ) -> Iterator[list[tuple[str, Predictions]]]:
        """Give every sentence with its `top_k` likeliest tokens, a batch at a time, the shortest sentences first.

        Probabilities are over the whole vocabulary.

        Raises:
            EquipoiseError: a sentence has no mask or more than one, or too many tokens; raised before any work.
        """
        for rows, logits in self._batches(sentences, batch_size):
            yield [
                (sentences[row], self._likeliest(sentences[row], found, top_k))
                for row, found in zip(rows, logits, strict=True)
            ]

    def probabilities(self, sentences: Sequence[str]) -> NDArray[np.float64]:
        """Give the probability of every token at each sentence's mask, (sentences, vocabulary)."""
        found: dict[int, NDArray[np.float64]] = {}
        for rows, logits in self._batches(sentences, len(sentences)):
            found.update(zip(rows, softmax(logits), strict=True))
        return np.stack([found[row] for row in range(len(sentences))])

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Give each sentence's token ids."""
        mask = self._tokenizer.mask_token
        encoded = self._tokenizer([sentence.replace(MASK, mask) for sentence in sentences])["input_ids"]
        for sentence, ids in zip(sentences, encoded, strict=True):
            if sentence.count(MASK) != 1 or ids.count(self._tokenizer.mask_token_id) != 1:
                message = f"{sentence!r}: {MASK} must occur exactly once"
                raise EquipoiseError(message)
            if len(ids) > self._max_tokens:
                message = (
                    f"{sentence!r} has {len(ids)} tokens, more than the {self._max_tokens} of the masked model's "
                    "registry entry: shorten it, or raise max_tokens there"
                )
                raise EquipoiseError(message)
        return [list(ids) for ids in encoded]

    def _batches(self, sentences: Sequence[str], batch_size: int) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Give the rows of each batch and their logits at the mask."""
        encoded = self.encode(sentences) if sentences else []
        by_length: dict[int, list[int]] = {}
        for row, ids in enumerate(encoded):
            by_length.setdefault(len(ids), []).append(row)
        for _, rows in sorted(by_length.items()):
            for first in range(0, len(rows), batch_size):
                batch = rows[first : first + batch_size]
                logits = self._logits(np.array([encoded[row] for row in batch], dtype=np.int64))
                if not np.isfinite(logits).all():
                    message = (
                        f"{sentences[batch[0]]!r}: the masked model's logits are not finite numbers: check its weights"
                    )
                    raise EquipoiseError(message)
                yield batch, logits

    def _likeliest(self, sentence: str, logits: NDArray[np.float32], top_k: int) -> Predictions:
        count = min(top_k, len(logits))
        least = np.partition(logits, -count)[-count]
        (near,) = np.nonzero(logits >= least)
        # Of equally likely tokens the one that comes first in the vocabulary, so that the order is always the same.
        ids = near[np.lexsort((near, -logits[near]))][:count]
        shares = softmax(logits[None])[0]
        before, after = sentence.split(MASK)
        named = [self._named(int(token)) for token in ids]
        return Predictions(
            text=tuple(text for text, _ in named),
            probability=tuple(shares[ids].tolist()),
            whole=tuple(is_whole(text, before, after, spaced=spaced) for text, spaced in named),
        )

    def _named(self, token: int) -> tuple[str, bool]:
        """Give a token's text, empty for a special token, and whether it begins with a space."""
        if token not in self._known:
            name = self._tokenizer.convert_ids_to_tokens(token)
            text = "" if token in self._special else self._tokenizer.decode([token])
            self._known[token] = (text, name.startswith(SPACE))
        return self._known[token]


def is_whole(text: str, before: str, after: str, *, spaced: bool) -> bool:
    """Say whether a token between two parts of a sentence is a whole word there.

    It is one if it holds a letter or digit, begins with a space or where a word begins anyway (at the sentence's start,
    after a bracket), and what follows does not continue it. RoBERTa's mask takes the space before it, so that a token
    without its own is written together with the word before.
    """
    begins = spaced or not before or not (before[-1].isalnum() or before[-1].isspace())
    return begins and any(letter.isalnum() for letter in text) and not continues(after)


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Turn logits into probabilities along the last axis, in double precision."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def onnx_logits(graph: Path) -> Logits:
    """Run a graph that `masked_export.at_the_mask` made."""
    import onnxruntime

    from equipoise.models.engine import providers

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options, providers=providers())

    def logits(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = session.run(["logits"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
        return found

    return logits


def torch_logits(model: PreTrainedModel, mask: int) -> Logits:
    """Run a model in torch, on the GPU where there is one; `mask` is the mask's token id.

    One sentence at a time: torch chooses its kernels by the number of rows, and with them the last bits of a sum.
    """
    import torch

    device = torch_device()
    model = model.to(device)

    def logits(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        rows = []
        with torch.inference_mode():
            for tokens in torch.from_numpy(ids).to(device).split(1):
                hidden: Any = model.base_model(tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
                # The mask alone goes through the head, which multiplies by the whole vocabulary.
                rows.append(model.lm_head(hidden[tokens == mask]).cpu().numpy())
        found: NDArray[np.float32] = np.concatenate(rows)
        return found

    return logits


def torch_device() -> str:
    """Name the device that torch runs on."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
