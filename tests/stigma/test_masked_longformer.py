from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tiny_masked
from equipoise.core.errors import EquipoiseError
from equipoise.stigma.masked_longformer import without_windows

if TYPE_CHECKING:
    from pathlib import Path


def load(folder: Path) -> Any:
    """Load a checkpoint as it is."""
    from transformers import AutoModelForMaskedLM

    return AutoModelForMaskedLM.from_pretrained(folder).eval()


def test_in_a_short_sentence_the_windows_make_no_difference(tmp_path: Path) -> None:
    """Up to half a window, 128 tokens, a Longformer's logits are those of ordinary attention with its weights."""
    import torch

    model = load(tiny_masked.build(tmp_path, seed=5, longformer=True))
    plain = without_windows(model, 128)
    torch.manual_seed(0)
    for length in (3, 20, 128):
        ids = torch.randint(5, model.config.vocab_size, (2, length))
        with torch.inference_mode():
            expected, found = (one(ids, attention_mask=torch.ones_like(ids)).logits for one in (model, plain))

        torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


def test_a_longer_sentence_is_refused(tmp_path: Path) -> None:
    """Beyond half a window the two differ, and the registry entry must not allow it."""
    model = load(tiny_masked.build(tmp_path, seed=5, longformer=True))

    with pytest.raises(EquipoiseError, match="max_tokens 129 of a Longformer that sees 128 tokens: lower it"):
        without_windows(model, 129)


def test_other_models_stay_as_they_are(tmp_path: Path) -> None:
    """A RoBERTa has no windows to leave out."""
    model = load(tiny_masked.build(tmp_path, seed=5))

    assert without_windows(model, 512) is model
