"""Backend torch, compared with lm-evaluation-harness and `generate` on the same weights in float32."""

from __future__ import annotations

from typing import Any

from speed_choice import compare_choice
from speed_generation import PIECE, compare_generation
from speed_models import MODEL, ROOT, amqa_questions, load_original, pipeline_questions, reasoning_prompts

from equipoise.backends.torch import TorchBackend
from equipoise.core.errors import EquipoiseError
from equipoise.models import registry
from equipoise.models.registry import TorchEntry
from equipoise.models.weights import locate

BATCHES = (1, 8, 16, 32)
"""Batch sizes of lm_eval, of which the fastest counts."""
BATCHES_GENERATING = (16, 32, PIECE)
"""Batch sizes of `generate`."""


def compare_torch(prompts: int) -> dict[str, Any]:
    """Time multiple choice (the pipeline's own prompts, and AMQA's) and reasoning, each with its best batch size.

    Ours is the largest: it does not matter where prompts are scored, one on each core.
    """
    entry = registry.load_entry(MODEL, ROOT)
    if not isinstance(entry, registry.OnnxEntry):
        message = f"models/{MODEL}.yaml: field backend is {entry.backend}: the benchmarks are of backend onnx"
        raise EquipoiseError(message)
    settings = {"backend": "torch", "dtype": "float32", "device_map": "cpu"}
    run = TorchEntry.model_validate(entry.model_dump(exclude={"fidelity", "precision"}) | settings)
    model = load_original(entry)
    tokens = entry.generation.reasoning_tokens
    sets = {"pipeline": pipeline_questions(prompts), "amqa": amqa_questions(prompts)}
    with TorchBackend(locate(run, ROOT), run, batch_size=PIECE) as backend:
        chosen = {name: compare_choice(model, some, backend, BATCHES) for name, some in sets.items() if some}
        reasoning = reasoning_prompts(2 * prompts, tokens)
        return chosen | {"generation": compare_generation(model, reasoning, tokens, backend, BATCHES_GENERATING)}
