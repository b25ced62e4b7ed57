"""How closely an export must follow its original: the one gate that refuses it, with a measure for each kind of model.

A model under test must favour the letters and greedy tokens of torch, a judge give the labels of its checkpoint, and a
masked model its probabilities.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import DECIMALS, Fidelity
from equipoise.models.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from equipoise.models.registry import OnnxEntry

GREEDY_TOKENS = 16
DIFFERENCE = 1e-4
"""The largest difference of any probability of a masked model from that of its checkpoint in torch."""


class LabelFidelity(BaseModel):
    """How closely a changed classifier follows its reference on the same `n` pairs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agreement: float
    largest_difference: float
    n: int


def require(name: str, *, faithful: bool, found: str, fix: str) -> None:
    """Refuse an export that is not faithful; `found` says what was measured and what is required."""
    if not faithful:
        message = f"export of {name} refused: {found}: {fix}"
        raise EquipoiseError(message)


def chat_fidelity(
    name: str,
    entry: OnnxEntry,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
    probes: Sequence[str],
) -> Fidelity:
    """Compare torch and the exported graph on the same probes, one at a time.

    Compared are the letter (A to D) that each probe's next token favours, and greedy continuations. Logits that are not
    finite are an EquipoiseError.
    """
    import torch

    engine = Engine(folder, rows=1, capacity=entry.max_length)
    letters = [tokenizer(f" {letter}", add_special_tokens=False)["input_ids"][-1] for letter in "ABCD"]
    same_letters = same_tokens = tokens = 0
    furthest = 0.0
    for probe in probes:
        messages = [{"role": "user", "content": probe}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) + "Answer:"
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        # Both are read along the graph's own continuation, so that one difference is not counted again at later tokens.
        exported = engine.prefill(ids)
        reply = [int(exported[0].argmax())]
        while len(reply) < GREEDY_TOKENS:
            exported = np.vstack([exported, engine.prefill(reply[-1:], start=len(ids) + len(reply) - 1)])
            reply.append(int(exported[-1].argmax()))
        with torch.inference_mode():
            logits = model(torch.tensor([[*ids, *reply[:-1]]])).logits[0, len(ids) - 1 :].numpy()
        same_letters += int(logits[0, letters].argmax() == exported[0, letters].argmax())
        same_tokens += int((logits.argmax(-1) == exported.argmax(-1)).sum())
        tokens += len(exported)
        finite = bool(np.isfinite(logits).all() and np.isfinite(exported).all())
        require(name, faithful=finite, found="its logits are not all finite numbers", fix="check the weights")
        furthest = max(furthest, float(np.abs(logits - exported).max()))
    return Fidelity(
        probes=len(probes),
        letters=same_letters / len(probes),
        tokens=same_tokens / tokens,
        # A power of ten: the digits differ from processor to processor, and the manifest should not.
        max_abs_logit=10.0 ** math.ceil(math.log10(furthest)) if furthest > 0 else 0.0,
    )


def require_agreement(name: str, measured: Fidelity, threshold: float) -> None:
    """Refuse an export that agrees with torch on too few letters or greedy tokens."""
    require(
        name,
        faithful=min(measured.letters, measured.tokens) >= threshold,
        found=f"it agrees with torch on {measured.letters:.1%} of letters and {measured.tokens:.1%} of greedy tokens",
        fix=f"models/{name}.yaml requires {threshold:.1%}",
    )


def label_fidelity(
    name: str, reference: NDArray[np.float64], candidate: NDArray[np.float64], *, at_least: float
) -> LabelFidelity:
    """Compare probabilities (n, labels) of a changed classifier with those of the original.

    Gives the share of rows with the same most probable label, and the largest difference of a probability; an agreement
    below `at_least` is an EquipoiseError.
    """
    agreement = float(np.mean(reference.argmax(axis=1) == candidate.argmax(axis=1)))
    require(
        name,
        faithful=agreement >= at_least,
        found=f"it agrees with its checkpoint on {agreement:.4f} of {len(reference)} pairs, and {at_least} is required",
        fix="export it in float32, or train it again",
    )
    difference = float(np.abs(reference - candidate).max())
    return LabelFidelity(agreement=agreement, largest_difference=difference, n=len(reference))


def masked_fidelity(name: str, reference: NDArray[np.float64], candidate: NDArray[np.float64], fix: str) -> float:
    """Compare probabilities at the mask with those of the original; give a bound of their difference.

    A difference of `DIFFERENCE` or more is an EquipoiseError.
    """
    difference = float(np.abs(candidate - reference).max())
    found = f"its probabilities differ by up to {difference:.2g} from those of its checkpoint, not within "
    require(name, faithful=difference < DIFFERENCE, found=f"{found}{DIFFERENCE:g}", fix=fix)
    return bound(difference)


def bound(difference: float) -> float:
    """Give the power of ten, 1e-6 or more, that a difference does not exceed.

    The digits differ from processor to processor, which a manifest should not; files hold six places.
    """
    return 10.0 ** max(-DECIMALS, math.ceil(math.log10(difference))) if difference > 0 else 10.0**-DECIMALS
