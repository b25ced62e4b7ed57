"""Multiple choice by log-likelihood, compared with lm-evaluation-harness on the same weights in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from speed_rounds import by_turns, in_pieces

from equipoise.backends.onnx import OnnxBackend

if TYPE_CHECKING:
    from pathlib import Path

    from speed_models import Asked
    from speed_rounds import Way

    from equipoise.backends.base import Backend
    from equipoise.core.prompts import Prompt

OURS = "equipoise"
PIECE = 16
BATCHES = (1, 16)
"""Batch size of the peer; the faster of two."""


def choose(backend: Backend) -> Way:
    """Our way: log likelihoods of each prompt's letters, in nats."""

    def run(prompts: Sequence[Prompt]) -> list[list[float]]:
        likelihoods = {response.key: response.log_likelihood for response in backend.answer(prompts)}
        return [list(likelihoods[prompt.key].values()) for prompt in prompts]

    return run


def harness(loaded: Asked, batch_size: int) -> Way:
    """The peer's way: one request per letter, which it groups by prompt and computes once."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(pretrained=loaded.torch, tokenizer=loaded.tokenizer, batch_size=batch_size)

    def run(prompts: Sequence[Prompt]) -> list[list[float]]:
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=(loaded.text(prompt), f" {letter}"), idx=0)
            for prompt in prompts
            for letter in prompt.candidates
        ]
        results = iter(model.loglikelihood(requests, disable_tqdm=True))
        return [[float(next(results)[0]) for _ in prompt.candidates] for prompt in prompts]

    return run


def open_folder(folder: Path, model: Asked) -> OnnxBackend:
    """Open an exported folder as the pipeline does."""
    return OnnxBackend(folder, model.entry, batch_size=PIECE)


def compare_choice(
    model: Asked, prompts: Sequence[Prompt], backend: Backend, batches: Sequence[int] = BATCHES
) -> dict[str, Any]:
    """Time both ways on pieces of 16 prompts."""
    peers = {f"lm_eval, batch {size}": harness(model, size) for size in batches}
    pieces = in_pieces(prompts, PIECE)
    rounds = by_turns({OURS: choose(backend), **peers}, pieces, prompts[:2])
    amounts = [float(len(piece)) for piece in pieces]
    rates = {way: rounds.rate(way, amounts) for way in rounds.seconds}
    best = max(peers, key=lambda peer: rates[peer])
    ours, theirs = (np.array(rounds.results[way]) for way in (OURS, best))
    tokens = [len(model.tokenizer(model.text(prompt), add_special_tokens=False)["input_ids"]) for prompt in prompts]
    return {
        "prompts": len(ours),
        "rounds": len(pieces),
        "median_prompt_tokens": float(np.median(tokens)),
        "prompts_a_second": rates,
        "peer": best,
        "ratio": rounds.ratio(OURS, best),
        "processor_ratio": rounds.ratio(OURS, best, processor=True),
        "same_letters": float((ours.argmax(axis=1) == theirs.argmax(axis=1)).mean()),
        "largest_difference_of_p": float(f"{np.abs(np.exp(ours) - np.exp(theirs)).max():.1e}"),
    }
