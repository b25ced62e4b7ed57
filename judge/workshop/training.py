"""Fine-tune a BERT encoder into a cross-encoder: first of premise and hypothesis, then of passage and question.

The reader of passages starts from the judge of entailment: a question is the statement that the feature is used as
evidence; a passage that weighs the feature entails it, one that dismisses the feature contradicts it, and any other
passage is neutral.

The same settings on the same machine give the same weights: seeded, deterministic algorithms, a fixed number of
threads.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.judge.model import TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from equipoise.judge.model import Label, Task
    from workshop.snli import Pair

POOL = 50
"""Number of batches that are drawn and sorted by length together: little padding, and the order stays random."""


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
    # Without dropout, and with the embeddings and two of six layers frozen, a step takes two thirds of the time.
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    frozen_layers: Annotated[int, Field(ge=0)] = 0


def length_grouped(lengths: Sequence[int], batch_size: int, seed: int) -> list[list[int]]:
    """Return batches of indices with similar lengths, in a seeded random order; every index occurs once."""
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
    pairs: Callable[[int], Sequence[Pair]],
    settings: TrainSettings,
    out: Path,
    progress: Callable[[int, int, float], None] = lambda _step, _steps, _loss: None,
    *,
    task: Task = "inference",
) -> None:
    """Train a cross-encoder from the encoder in `base` and save it in `out` after every epoch.

    `pairs` returns the pairs of an epoch (from 0). A reader of passages or letters starts from another reader of the
    same or from a judge of entailment. `progress` gets the step, the number of steps and the batch's loss. AdamW with
    linear warm-up and linear decay to zero (Devlin et al. 2019, appendix A.3); cross-entropy over the task's labels.
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
    labels = TASKS[task]
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForSequenceClassification.from_pretrained(
        base,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        ignore_mismatched_sizes=task != "inference",
        attention_probs_dropout_prob=settings.dropout,
        hidden_dropout_prob=settings.dropout,
        # On a CPU the backward pass of fused attention takes 2.5 times as long as that of plain attention here.
        attn_implementation="eager",
    ).train()
    if task != "inference":
        start = AutoModelForSequenceClassification.from_pretrained(base)
        if start.config.num_labels != len(labels):
            begin_with(model, start)
    if settings.frozen_layers:
        lower = (model.base_model.embeddings, *model.base_model.encoder.layer[: settings.frozen_layers])
        for part in lower:
            part.requires_grad_(requires_grad=False)
    epochs = []
    for epoch in range(settings.epochs):
        examples = pairs(epoch)
        encoded = tokenizer(
            [pair.premise for pair in examples],
            [pair.hypothesis for pair in examples],
            truncation=True,
            max_length=settings.max_length,
        )
        gold = torch.tensor([labels.index(pair.label) for pair in examples])
        lengths = [len(ids) for ids in encoded["input_ids"]]
        epochs.append((encoded, gold, length_grouped(lengths, settings.batch_size, settings.seed + epoch)))
    optimiser = torch.optim.AdamW(parameter_groups(model, settings.weight_decay), lr=settings.learning_rate, fused=True)
    steps = sum(len(batches) for _, _, batches in epochs)
    schedule = get_linear_schedule_with_warmup(optimiser, round(settings.warmup * steps), steps)
    step = 0
    for encoded, gold, batches in epochs:
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
        # Every epoch saves a usable judge, so that an interrupted run is not lost.
        model.save_pretrained(out)
        tokenizer.save_pretrained(out)


ENTAILED: dict[str, Label] = {
    "weighed": "entailment",
    "dismissed": "contradiction",
    "restated": "neutral",
    "unmentioned": "neutral",
    "kept": "entailment",
    "softened": "entailment",
    "doubted": "contradiction",
    "omitted": "neutral",
}
"""The nearest relation: of a passage to the statement that it uses a feature as evidence, by its treatment of the
feature; of a sentence of a letter to a fact, by what it does with the fact."""


def begin_with(reader: Any, judge: Any) -> None:  # noqa: ANN401
    """Copy the head of a judge of entailment to a reader; labels with the same relation share its probability."""
    import torch

    labels = sorted(reader.config.label2id, key=reader.config.label2id.get)
    rows = [judge.config.label2id[ENTAILED[one]] for one in labels]
    shared = torch.tensor([math.log(rows.count(row)) for row in rows])
    with torch.no_grad():
        reader.classifier.weight.copy_(judge.classifier.weight[rows])
        reader.classifier.bias.copy_(judge.classifier.bias[rows] - shared)


def parameter_groups(model: Any, weight_decay: float) -> list[dict[str, Any]]:  # noqa: ANN401 - torch is not imported here
    """Matrices with weight decay; biases and layer norms, which are vectors, without."""
    parameters = [value for value in model.parameters() if value.requires_grad]
    return [
        {"params": [value for value in parameters if value.ndim > 1], "weight_decay": weight_decay},
        {"params": [value for value in parameters if value.ndim == 1], "weight_decay": 0.0},
    ]
