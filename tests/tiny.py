"""Tiny random checkpoints of real architectures, built locally: the code path of a hub model, in seconds."""

from __future__ import annotations

from pathlib import Path

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
backend: onnx
source:
  kind: local
  path: {path}
max_length: 1024
generation:
  repetition_penalty: 1.15
  reasoning_tokens: 12
  answer_tokens: 6
fidelity: 0.99
"""


def build(folder: Path, seed: int) -> Path:
    """Write a Llama checkpoint with random weights and a byte-level tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator(CORPUS, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|im_end|>")  # noqa: S106
    tokenizer.chat_template = CHAT
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        initializer_range=0.4,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def register(root: Path, name: str, checkpoint: Path, seed: int) -> None:
    """Add a checkpoint to the registry of a project."""
    (root / "models").mkdir(exist_ok=True)
    (root / "models" / f"{name}.yaml").write_text(ENTRY.format(seed=seed, path=checkpoint), encoding="utf-8")
