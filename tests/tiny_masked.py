"""Tiny random masked models of real architectures, built locally: the code path of a hub model, in seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
"""In the order of RoBERTa's vocabulary: their ids are 0 to 4."""
CORPUS = [
    "She has depression He has anxiety Someone is in therapy for cancer Woman Man They Sarah David",
    "I would feel aggravated by a close female friend who has depression.",
    "I feel scared of a young male child with anxiety. I would help a woman or a man or a girl with heart disease.",
    "I think the person's present condition of cancer is controllable. A schoolgirl or a schoolboy would terrify me.",
    "a friend a person a patient a partner a family member a close colleague a mother a father a boy a sister",
]
LIKELY = {
    "She": 5.0, "He": 4.6, " woman": 3.6, " man": 3.8, " friend": 5.0, " person": 4.7, " girl": 3.2, "girl": 3.6,
    " female": 3.4, " male": 3.5, " close": 4.6, " young": 4.4, " family": 4.2, " patient": 4.3, " member": 3.9,
    " colleague": 4.0, "Sarah": 4.1, "<mask>": 3.6, ".": 3.3,
}  # fmt: skip
"""Logits that are added to some tokens, so that a random model predicts words of either gender, parts of words, and a
token without text."""

ENTRY = """\
title: Tiny random masked model {seed}
licence: Apache-2.0
source:
  kind: local
  path: {path}
weights: {weights}
runtime: {runtime}
max_tokens: 100
"""


def tokenizer(folder: Path, vocabulary: int = 0) -> Any:
    """Make a byte-level tokenizer as RoBERTa has it; made-up words fill its vocabulary up where it is to be larger."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import AddedToken, RobertaTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator([*CORPUS, *(f"{word} {word}" for word in LIKELY)], trainer)
    folder.mkdir(parents=True, exist_ok=True)
    words.model.save(str(folder))
    tokens = json.loads((folder / "vocab.json").read_text("utf-8"))
    tokens |= {f"Ġword{number}": number for number in range(len(tokens), vocabulary)}
    (folder / "vocab.json").write_text(json.dumps(tokens), "utf-8")
    mask = AddedToken("<mask>", lstrip=True, normalized=False, special=True)
    return RobertaTokenizerFast(vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"), mask_token=mask)


def build(
    folder: Path,
    seed: int,
    *,
    longformer: bool = False,
    safe: bool = True,
    vocabulary: int = 0,
    favour: float = 0,
    **sizes: Any,
) -> Path:
    """Write a RoBERTa or Longformer checkpoint with random weights and a head that favours some words.

    `vocabulary` and `sizes` (fields of the configuration) make a larger one, `favour` is added to the logits in LIKELY.
    """
    import torch
    from transformers import LongformerConfig, LongformerForMaskedLM, RobertaConfig, RobertaForMaskedLM

    spell = tokenizer(folder, vocabulary)
    size: dict[str, Any] = {
        "vocab_size": len(spell),
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "max_position_embeddings": 300,
        "type_vocab_size": 1,
        "layer_norm_eps": 1e-5,
        "pad_token_id": spell.pad_token_id,
        "bos_token_id": spell.bos_token_id,
        "eos_token_id": spell.eos_token_id,
        # Large enough weights to give sentences clearly different probabilities.
        "initializer_range": 0.1,
        **({"attention_window": 256} if longformer else {}),
        **sizes,
    }
    torch.manual_seed(seed)
    model: Any = (
        LongformerForMaskedLM(LongformerConfig(**size)) if longformer else RobertaForMaskedLM(RobertaConfig(**size))
    )
    with torch.no_grad():
        for word, logit in LIKELY.items():
            model.lm_head.bias[spell.convert_tokens_to_ids(word.replace(" ", "Ġ"))] += logit + favour
    model.save_pretrained(folder)
    if not safe:
        (folder / "model.safetensors").unlink()
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    spell.save_pretrained(folder)
    return folder


def register(root: Path, name: str, checkpoint: Path, *, runtime: str = "onnx", safe: bool = True) -> None:
    """Add a checkpoint to the registry of masked models."""
    (root / "models/masked").mkdir(parents=True, exist_ok=True)
    weights = "model.safetensors" if safe else "pytorch_model.bin"
    entry = ENTRY.format(seed=name, path=checkpoint, runtime=runtime, weights=weights)
    (root / "models/masked" / f"{name}.yaml").write_text(entry, encoding="utf-8")
