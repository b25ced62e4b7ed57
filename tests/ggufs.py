"""GGUF files of tiny random models, as llama.cpp writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np

import families

if TYPE_CHECKING:
    from pathlib import Path

ARCHITECTURES = {"qwen2_5_0_5b": gguf.MODEL_ARCH.QWEN2, "qwen3_0_6b": gguf.MODEL_ARCH.QWEN3}


def write(
    path: Path,
    name: str = "qwen2_5_0_5b",
    *,
    template: bool = True,
    form: str = "Q8_0",
    leave_out: str = "",
    **change: Any,
) -> Path:
    """Write the stand-in of a model (`families`) with matrices of a form; `change` replaces its architecture."""
    from safetensors.torch import load_file

    folder = families.build(path.parent / f"{name}-checkpoint", name)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    architecture = ARCHITECTURES[name]
    made = gguf.GGUFWriter(path, change.get("architecture", gguf.MODEL_ARCH_NAMES[architecture]))
    made.add_name("Tiny")
    made.add_license("apache-2.0")
    made.add_block_count(config["num_hidden_layers"])
    made.add_context_length(config["max_position_embeddings"])
    made.add_embedding_length(config["hidden_size"])
    made.add_feed_forward_length(config["intermediate_size"])
    made.add_head_count(config["num_attention_heads"])
    made.add_head_count_kv(config["num_key_value_heads"])
    made.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if "head_dim" in config:
        made.add_key_length(config["head_dim"])
        made.add_value_length(config["head_dim"])
    _add_tokenizer(made, folder, families.LAPTOP[name].template if template else None)
    names = gguf.get_tensor_name_map(architecture, config["num_hidden_layers"])
    for key, tensor in load_file(folder / "model.safetensors").items():
        place = names.get_name(key, try_suffixes=(".weight", ".bias"))
        assert place is not None
        if place == leave_out:
            continue
        values = tensor.float().numpy()
        kind = gguf.GGMLQuantizationType[form if values.ndim > 1 else "F32"]
        made.add_tensor(place, gguf.quantize(values, kind), raw_dtype=kind)
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()
    return path


def _add_tokenizer(made: gguf.GGUFWriter, folder: Path, template: str | None) -> None:
    """Write the tokens of a checkpoint, of which some are special, the pairs that are merged, and the template."""
    words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = words["model"]["vocab"] | {token["content"]: token["id"] for token in words["added_tokens"]}
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    special = {token["content"] for token in words["added_tokens"]}
    kinds = gguf.TokenType
    made.add_tokenizer_model("gpt2")
    made.add_tokenizer_pre("qwen2")
    made.add_token_list(tokens)
    made.add_token_types([kinds.CONTROL if token in special else kinds.NORMAL for token in tokens])
    merges = words["model"]["merges"]
    made.add_token_merges([" ".join(pair) if isinstance(pair, list) else pair for pair in merges])
    made.add_eos_token_id(vocabulary["<|im_end|>"])
    made.add_pad_token_id(vocabulary["<|im_end|>"])
    if template:
        made.add_chat_template(template)


def retype(path: Path, kind: int) -> Path:
    """Give a file's first tensor another type, by its number, in its header."""
    reader = gguf.GGUFReader(path, "r+")
    field = reader.tensors[0].field
    # Its parts: the name's length, the name, the number of sizes, the sizes, the type, the place.
    field.parts[4][0] = np.uint32(kind)
    reader.data.flush()
    return path
