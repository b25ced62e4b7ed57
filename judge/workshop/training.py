"""Fine-tune a BERT encoder into a three-way entailment cross-encoder.

The same settings on the same machine give the same weights: seeded, deterministic algorithms, a fixed number of
threads.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.judge.model import LABELS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from workshop.snli import Pair

POOL = 50
"""Batches drawn at a time and sorted by length among themselves: little padding, and the order stays random."""


class TrainSettings(BaseModel):
    """How the judge is trained: the section `train` of a judge's params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int
    epochs: Annotated[int, Field(ge=1)]
    batch_size: Annotated[int, Field(ge=1)]
    learning_rate: Annotated[float, Field(gt=0)]
    warmup: Annotated[float, Field(ge=0, lt=1)]
    weight_decay: Annotated[float, Field(ge=0)]
    max_length: Annotated[int, Field(ge=8, le=512)]
    precision: Literal["bfloat16", "float32"]
    threads: Annotated[int, Field(ge=1)]


def length_grouped(lengths: Sequence[int], batch_size: int, seed: int) -> list[list[int]]:
    """Batches of indices in which lengths are alike, in a seeded random order; every index occurs once."""
    rng = random.Random(seed)  # noqa: S311 (an order, not a secret)
    order = list(range(len(lengths)))
    rng.shuffle(order)
    pool = batch_size * POOL
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        near = sorted(order[start : start + pool], key=lambda index: (lengths[index], index))
        batches += [near[first : first + batch_size] for first in range(0, len(near), batch_size)]
    rng.shuffle(batches)
    return batches


def train(
    base: Path,
    pairs: Sequence[Pair],
    settings: TrainSettings,
    out: Path,
    progress: Callable[[int, int, float], None] = lambda _step, _steps, _loss: None,
) -> None:
    """Train a cross-encoder from the encoder in `base` and leave it in `out` after every epoch.

    `progress` is told step, number of steps and the batch's loss. AdamW with linear warm-up and linear decay to zero
    (Devlin et al. 2019, appendix A.3); cross-entropy over entailment, neutral, contradiction.
    """
    import torch
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        get_linear_schedule_with_warmup,
    )

    torch.manual_seed(settings.seed)
    torch.set_num_threads(settings.threads)
    torch.use_deterministic_algorithms(mode=True)
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForSequenceClassification.from_pretrained(
        base,
        id2label=dict(enumerate(LABELS)),
        label2id={label: index for index, label in enumerate(LABELS)},
        # On a CPU the backward pass of fused attention takes 2.5 times as long as the plain one's on short sequences.
        attn_implementation="eager",
    ).train()
    encoded = tokenizer(
        [pair.premise for pair in pairs],
        [pair.hypothesis for pair in pairs],
        truncation=True,
        max_length=settings.max_length,
    )
    lengths = [len(ids) for ids in encoded["input_ids"]]
    gold = torch.tensor([LABELS.index(pair.label) for pair in pairs])
    optimiser = torch.optim.AdamW(parameter_groups(model, settings.weight_decay), lr=settings.learning_rate, fused=True)
    epochs = [length_grouped(lengths, settings.batch_size, settings.seed + epoch) for epoch in range(settings.epochs)]
    steps = sum(map(len, epochs))
    schedule = get_linear_schedule_with_warmup(optimiser, round(settings.warmup * steps), steps)
    step = 0
    for batches in epochs:
        for batch in batches:
            rows = {name: [values[index] for index in batch] for name, values in encoded.items()}
            inputs = tokenizer.pad(rows, return_tensors="pt")
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
                logits = model(**inputs).logits
            loss = torch.nn.functional.cross_entropy(logits.float(), gold[batch])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            step += 1
            progress(step, steps, loss.item())
        # Every epoch leaves a usable judge behind, so that an interrupted run is not lost.
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)


def parameter_groups(model: Any, weight_decay: float) -> list[dict[str, Any]]:  # noqa: ANN401 - torch is not imported here
    """Matrices with weight decay; biases and layer norms, which are vectors, without."""
    parameters = [value for value in model.parameters() if value.requires_grad]
    return [
        {"params": [value for value in parameters if value.ndim > 1], "weight_decay": weight_decay},
        {"params": [value for value in parameters if value.ndim == 1], "weight_decay": 0.0},
    ]
