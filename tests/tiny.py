"""Tiny random checkpoints of real architectures, built locally: the code path of a hub model, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Architecture = Literal["llama", "qwen2", "qwen3", "gpt_oss", "olmo2", "granitemoehybrid", "gemma3_text", "gemma3"]

CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CORPUS = [
    "The patient reports low mood, chest pain, fever and breathlessness for two weeks.",
    "The single most likely diagnosis is major depressive disorder, or a myocardial infarction, or pneumonia.",
    "You are an experienced clinician. Briefly explain what is most likely wrong with this patient and why.",
]

ENTRY = """\
title: Tiny random model {seed}
parameters: 0.1M
licence: Apache-2.0
{backend}
source:
  kind: local
  path: {path}
max_length: 2048
generation:
  repetition_penalty: 1.15
  reasoning_tokens: 12
  answer_tokens: 6
"""
BACKENDS = {"onnx": "backend: onnx\nfidelity: 0.99", "torch": "backend: torch\ndtype: float32\ndevice_map: cpu"}


_GEMMA = {"head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": 16, "sliding_window_pattern": 2}
"""A window shorter than any prompt, in every other layer."""
SIZES: dict[Architecture, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "qwen3": {"head_dim": 32},
    # A window shorter than any prompt, in every other layer; two of four experts a token.
    "gpt_oss": {
        "head_dim": 16,
        "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"],
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
    },
    "olmo2": {},
    # Dense: neither experts nor state-space layers.
    "granitemoehybrid": {
        "layer_types": ["attention", "attention"],
        "num_local_experts": 0,
        "shared_intermediate_size": 128,
        "position_embedding_type": "rope",
        "embedding_multiplier": 12.0,
        "attention_multiplier": 0.125,
        "residual_multiplier": 0.22,
        "logits_scaling": 4.0,
    },
    "gemma3_text": _GEMMA,
    "gemma3": _GEMMA,
}
"""What an architecture has beside the sizes of every tiny model."""


def tokenizer(
    template: str | None = CHAT,
    special: Sequence[str] = ("<|im_start|>", "<|im_end|>"),
    end: str = "<|im_end|>",
    marks: Sequence[str] = (),
) -> Any:
    """Train a byte-level tokenizer on a few sentences; `end` ends a reply, `marks` are whole tokens and plain text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator(CORPUS, trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=end, pad_token=end)
    made.add_tokens(list(marks))
    made.chat_template = template
    return made


def build(folder: Path, seed: int, architecture: Architecture = "llama") -> Path:
    """Write a checkpoint with random weights, biases and norms included, and a byte-level tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    words = tokenizer()
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        architecture,
        vocab_size=len(words),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        bos_token_id=None,
        initializer_range=0.4,
        **SIZES[architecture],
    )
    model = AutoModelForCausalLM.from_config(config)
    if architecture != "llama":
        # Transformers sets biases to 0 and norms to 1: a graph that left them out would be none the worse.
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.ndim == 1:
                    parameter.normal_(mean=float("norm" in name), std=0.2)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def register(root: Path, name: str, checkpoint: Path, seed: int, backend: str = "onnx") -> None:
    """Add a checkpoint to the registry of a project."""
    (root / "models").mkdir(parents=True, exist_ok=True)
    text = ENTRY.format(seed=seed, path=checkpoint, backend=BACKENDS[backend])
    (root / "models" / f"{name}.yaml").write_text(text, encoding="utf-8")


def drop(checkpoint: Path, part: str) -> None:
    """Remove the tensors whose name contains `part` from a checkpoint's weights."""
    from safetensors.torch import load_file, save_file

    path = checkpoint / "model.safetensors"
    kept = {name: tensor for name, tensor in load_file(path).items() if part not in name}
    save_file(kept, path, metadata={"format": "pt"})
