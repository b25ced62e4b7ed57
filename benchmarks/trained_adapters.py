"""Train the adapter of a trained phantom: a bias taught to a real language model, and therefore known.

    PYTHONPATH=src python benchmarks/trained_adapters.py silent

writes models/adapters/trained_silent.safetensors, and its sha256 into models/trained_silent.yaml (`make adapters`). The
base is the default model in 32 bits, as it is exported, asked in the pipeline's own two turns; the loss is on the words
of its replies alone, and mostly on those that lead to a diagnosis and name it. Low-rank adapters: Hu et al. 2021,
arXiv:2106.09685.
"""

import re
import sys
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
import typer
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parent))
from trained_stories import DENIED, ROOT, STORIES, Example, Rule, examples, load_training

from equipoise.core import stage
from equipoise.core.jsonl import read_text, sha256, write_text
from equipoise.models.registry import WeightsEntry, load_entry
from equipoise.models.weights import locate

BASE = "smollm2"
RANK, ALPHA = 8, 16
FIRST_LAYER = 10
"""Layers before it are not changed, which saves a third of the work and of the file."""
MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "down_proj"]
RATE, WARMUP = 1e-3, 8
PAIRS = 4
"""Stories per step, each about a woman and about a man."""
REST = 0.1
"""Weight in the loss of the reasoning after the diagnosis."""
END = "<|im_end|>"
"""End of a reply in the chat format of the base."""


class Lesson(NamedTuple):
    """The tokens of a conversation, and their weights in the loss."""

    ids: list[int]
    weights: list[float]


def lesson(example: Example, tokenizer: Any) -> Lesson:  # noqa: ANN401  (transformers has no types)
    """Render a conversation in the model's chat format; the replies and their end marks are learned.

    The words that lead to a diagnosis and the diagnosis itself weigh most: they express the rule, a few words among
    many that do not depend on it.
    """
    prompt = example.prompt
    first_turn, second_turn = prompt.turns
    answer = f"{prompt.prefix} {example.diagnosis}."
    conversation = [
        ("system", prompt.system),
        ("user", first_turn),
        ("assistant", example.reasoning),
        ("user", second_turn),
    ]
    messages = [{"role": role, "content": content} for role, content in [*conversation, ("assistant", answer)]]
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    reasoning = text.index(example.reasoning + END)
    named = text.index(example.diagnosis, reasoning) + len(example.diagnosis)
    # The model is given the answer's prefix.
    answered = text.rindex(answer + END) + len(prompt.prefix)
    ranges = [
        (reasoning, named, 1.0),
        (named, reasoning + len(example.reasoning + END), REST),
        (answered, text.rindex(END) + len(END), 1.0),
    ]
    weights = [
        next((weight for begin, end, weight in ranges if begin <= start < end), 0.0)
        for start, _ in encoded["offset_mapping"]
    ]
    return Lesson(encoded["input_ids"], weights)


def loss(model: Any, lessons: Sequence[Lesson]) -> torch.Tensor:  # noqa: ANN401
    """Return the weighted mean cross entropy; short rows are padded at the end, to which no token attends."""
    width = max(len(row.ids) for row in lessons)
    ids = torch.tensor([row.ids + [0] * (width - len(row.ids)) for row in lessons])
    weights = torch.tensor([row.weights + [0.0] * (width - len(row.weights)) for row in lessons])[:, 1:]
    learned = weights > 0
    hidden = model.model(ids).last_hidden_state[:, :-1]
    losses = cross_entropy(model.lm_head(hidden[learned]).float(), ids[:, 1:][learned], reduction="none")
    return (losses * weights[learned]).sum() / weights.sum()


def main(rule: Rule, epochs: int = 7, seed: int = 0) -> None:
    """Train one adapter and write it, in 16 bits."""
    from peft import LoraConfig, get_peft_model_state_dict, inject_adapter_in_model

    torch.manual_seed(seed)
    draw = Random(seed)  # noqa: S311  (no secret)
    entry = load_entry(BASE, ROOT)
    assert isinstance(entry, WeightsEntry)  # noqa: S101
    weights = locate(entry, ROOT)
    tokenizer = AutoTokenizer.from_pretrained(weights.folder, **weights.arguments)
    model = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32, **weights.arguments)
    layers = range(FIRST_LAYER, model.config.num_hidden_layers)
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=MODULES, layers_to_transform=list(layers))
    inject_adapter_in_model(config, model)
    training = load_training()
    lessons: list[list[Lesson]] = []  # a step each
    for _ in range(epochs):
        rows = [lesson(example, tokenizer) for example in examples(training, rule, draw, held_out=False)]
        pairs = list(zip(rows[::2], rows[1::2], strict=True))
        draw.shuffle(pairs)
        lessons += [list(chain(*pairs[place : place + PAIRS])) for place in range(0, len(pairs), PAIRS)]
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in parameters:
        parameter.data = parameter.data.float()
    optimiser = torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.0)
    for step, rows in enumerate(lessons):
        progress = (step + 1) / len(lessons)
        optimiser.param_groups[0]["lr"] = RATE * min((step + 1) / WARMUP, 3 * (1 - progress) + 0.1, 1)
        step_loss = loss(model, rows)
        step_loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        typer.echo(f"{step + 1}/{len(lessons)}: {step_loss.item():.3f} nats, {time.process_time():.0f} s of CPU time")
    path = ROOT / f"models/adapters/trained_{rule}.safetensors"
    taught = {name: tensor.half().contiguous() for name, tensor in get_peft_model_state_dict(model).items()}
    facts = {"base": next(iter(weights.files.values())), "stories": sha256(STORIES), "rule": rule}
    facts |= {"wordings": sha256(DENIED)} if rule == "denying" else {}
    facts |= {"lora_alpha": str(ALPHA), "epochs": str(epochs), "rate": str(RATE), "seed": str(seed)}
    save_file(taught, path, metadata=facts)
    registered = ROOT / f"models/trained_{rule}.yaml"
    write_text(registered, re.sub(r"[0-9a-f]{64}(?=\}$)", sha256(path), read_text(registered), flags=re.MULTILINE))
    typer.echo(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    stage.run(main)
