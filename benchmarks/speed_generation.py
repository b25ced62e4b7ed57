"""Reasoning by greedy decoding, compared with transformers' `generate` on the same weights in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from speed_choice import OURS
from speed_rounds import by_turns, in_pieces

if TYPE_CHECKING:
    from speed_models import Asked
    from speed_rounds import Way

    from equipoise.backends.base import Backend
    from equipoise.core.prompts import Prompt

PIECE = 42
BATCHES = (16, 42)
"""Batch size of the peer, which pads its prompts to equal length; the faster of two."""


def converse(backend: Backend) -> Way:
    """Our way: the reply to each prompt and the number of its tokens."""

    def run(prompts: Sequence[Prompt]) -> list[tuple[str, int]]:
        responses = {response.key: response for response in backend.answer(prompts)}
        return [(responses[prompt.key].replies[0], responses[prompt.key].generated_tokens) for prompt in prompts]

    return run


def generate(model: Asked, tokens: int, batch_size: int) -> Way:
    """The peer's way: padded batches, each generated until its longest reply ends."""
    import torch

    words = model.tokenizer
    words.padding_side, words.pad_token = "left", words.eos_token
    penalty = model.entry.generation.repetition_penalty

    def together(prompts: Sequence[Prompt]) -> list[tuple[str, int]]:
        batch = words(
            [model.text(prompt) for prompt in prompts], padding=True, add_special_tokens=False, return_tensors="pt"
        )
        with torch.inference_mode():
            tokens_out = model.torch.generate(
                **batch,
                do_sample=False,
                repetition_penalty=penalty,
                max_new_tokens=tokens,
                eos_token_id=words.eos_token_id,
                pad_token_id=words.eos_token_id,
            )[:, batch["input_ids"].shape[1] :]
        replies = tokens_out.tolist()
        counts = [row.index(words.eos_token_id) + 1 if words.eos_token_id in row else len(row) for row in replies]
        texts = words.batch_decode(tokens_out, skip_special_tokens=True)
        return [(text.strip(), count) for text, count in zip(texts, counts, strict=True)]

    def run(prompts: Sequence[Prompt]) -> list[tuple[str, int]]:
        starts = range(0, len(prompts), batch_size)
        return [reply for start in starts for reply in together(prompts[start : start + batch_size])]

    return run


def compare_generation(
    model: Asked,
    prompts: Sequence[Prompt],
    tokens: int,
    backend: Backend,
    batches: Sequence[int] = BATCHES,
) -> dict[str, Any]:
    """Time both ways on pieces of 42 prompts; a token counts where it belongs to a reply, its end included."""
    pieces = in_pieces(prompts, PIECE)
    peers = {f"transformers, batch {size}": generate(model, tokens, size) for size in batches}
    rounds = by_turns({OURS: converse(backend), **peers}, pieces, prompts[:2])
    rates = {}
    for way, results in rounds.results.items():
        amounts = [float(sum(count for _, count in piece)) for piece in in_pieces(results, PIECE)]
        rates[way] = rounds.rate(way, amounts)
    best = max(peers, key=lambda peer: rates[peer])
    ours, theirs = ([text for text, _ in rounds.results[way]] for way in (OURS, best))
    counts = [count for _, count in rounds.results[OURS]]
    return {
        "prompts": len(ours),
        "rounds": len(pieces),
        "most_new_tokens": tokens,
        "mean_new_tokens": round(sum(counts) / len(counts), 1),
        "tokens_a_second": rates,
        "peer": best,
        "ratio": rounds.ratio(OURS, best),
        "processor_ratio": rounds.ratio(OURS, best, processor=True),
        "same_texts": round(sum(map(str.__eq__, ours, theirs)) / len(ours), 4),
    }
