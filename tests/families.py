"""Tiny random checkpoints in the likeness of the models that the registry names: architecture, chat template, marks.

Weights are random, but for tokens that are made likely, so that some replies close their thinking, end, or come to a
final channel.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import tiny

if TYPE_CHECKING:
    from collections.abc import Sequence

_TURNS = "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{{ turn.content }}<|im_end|>\n{% endfor %}"
_ASKS = "{% if add_generation_prompt %}"
QWEN2 = f"{_TURNS}{_ASKS}<|im_start|>assistant\n{{% endif %}}"
QWEN3 = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{{ turn.content.split('</think>')[-1] }}<|im_end|>\n"
    f"{{% endfor %}}{_ASKS}<|im_start|>assistant\n"
    "{% if not enable_thinking|default(true) %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
DEEPSEEK = (
    "<｜begin▁of▁sentence｜>{% for turn in messages %}"
    "{% if turn.role == 'system' %}{{ turn.content }}"
    "{% elif turn.role == 'user' %}<｜User｜>{{ turn.content }}"
    "{% else %}<｜Assistant｜>{{ turn.content.split('</think>')[-1] }}<｜end▁of▁sentence｜>{% endif %}{% endfor %}"
    f"{_ASKS}<｜Assistant｜><think>\n{{% endif %}}"
)
HARMONY = (
    "<|start|>system<|message|>Current date: {{ strftime_now('%Y-%m-%d') }}\nReasoning: {{ reasoning_effort }}<|end|>"
    "{% for turn in messages %}"
    "{% if turn.role == 'system' %}<|start|>developer<|message|>{{ turn.content }}<|end|>"
    "{% elif turn.role == 'user' %}<|start|>user<|message|>{{ turn.content }}<|end|>"
    "{% else %}<|start|>assistant<|channel|>final<|message|>{{ turn.content }}<|end|>{% endif %}{% endfor %}"
    f"{_ASKS}<|start|>assistant{{% endif %}}"
)
_OWN_SYSTEM = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
)
HELPFUL = _OWN_SYSTEM + QWEN2
"""Of Qwen2.5 and SmolLM2, which state a system text of their own where a conversation has none."""
LLAMA3 = (
    "{{ bos_token }}<|start_header_id|>system<|end_header_id|>\n\n"
    "{% if strftime_now is defined %}{% set today = strftime_now('%d %b %Y') %}{% endif %}"
    "Today: {{ today|default('26 Jul 2024') }}\n\n"
    "{% if messages[0].role == 'system' %}{{ messages[0].content|trim }}{% endif %}<|eot_id|>"
    "{% for turn in messages if turn.role != 'system' %}<|start_header_id|>{{ turn.role }}<|end_header_id|>\n\n"
    "{{ turn.content|trim }}<|eot_id|>{% endfor %}"
    f"{_ASKS}<|start_header_id|>assistant<|end_header_id|>\n\n{{% endif %}}"
)
OLMO2 = (
    "{{ bos_token }}{% for turn in messages %}{% if turn.role == 'assistant' %}"
    "<|assistant|>\n{{ turn.content }}{{ eos_token }}\n"
    "{% else %}<|{{ turn.role }}|>\n{{ turn.content }}\n{% endif %}{% endfor %}"
    f"{_ASKS}<|assistant|>\n{{% endif %}}"
)
GRANITE4 = (
    "{% for turn in messages %}<|start_of_role|>{{ turn.role }}<|end_of_role|>{{ turn.content }}<|end_of_text|>\n"
    f"{{% endfor %}}{_ASKS}<|start_of_role|>assistant<|end_of_role|>{{% endif %}}"
)
GEMMA3 = (
    "{{ bos_token }}{% set told = namespace(system='') %}{% for turn in messages %}{% if turn.role == 'system' %}"
    "{% set told.system = turn.content ~ '\n\n' %}{% else %}"
    "{% if loop.previtem is defined and loop.previtem.role == turn.role %}"
    "{{ raise_exception('user and assistant do not take turns') }}{% endif %}"
    "<start_of_turn>{{ 'model' if turn.role == 'assistant' else 'user' }}\n"
    "{{ told.system }}{{ turn.content|trim }}<end_of_turn>\n{% set told.system = '' %}{% endif %}{% endfor %}"
    f"{_ASKS}<start_of_turn>model\n{{% endif %}}"
)
"""Without a system role: the text stands before the user's first words."""
IM = ("<|im_start|>", "<|im_end|>")
THINK = ("<think>", "</think>")
CHANNELS = ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>")
HEADERS = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
ROLES = ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>")
GEMMA_TURNS = ("<bos>", "<start_of_turn>", "<end_of_turn>", "<eos>")
TURNS = ("<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>")


class Family(NamedTuple):
    """How a model is built and how it speaks.

    `special` and `marks` are tokens of their own, `end` ends a reply. `likely` are the first tokens of the sequences
    that are likely at any place. `mxfp4` says that its experts are published in 4 bits. `begin` begins every text,
    `rotation` is how positions are encoded where that is not the architecture's usual way.
    """

    architecture: tiny.Architecture
    template: str
    special: Sequence[str]
    end: str
    marks: Sequence[str]
    likely: Sequence[Sequence[str]]
    mxfp4: bool = False
    begin: str | None = None
    rotation: dict[str, Any] | None = None


_QWEN3 = Family("qwen3", QWEN3, IM, IM[1], THINK, [["</think>"]])
_QWEN2 = Family("qwen2", QWEN2, IM, IM[1], (), [])
FAMILIES = {
    "qwen3_8b": _QWEN3,
    "piaget8b": _QWEN3,
    "psych_qwen_32b": _QWEN3,
    "psyllm": _QWEN3._replace(marks=(*THINK, "<content>", "</content>"), likely=[["</think>", "<content>"]]),
    "psyche_r1": _QWEN2._replace(marks=THINK, likely=[["</think>"]]),
    "qwq_32b": _QWEN2,
    "deepseek_r1_14b": Family("qwen2", DEEPSEEK, TURNS, TURNS[3], THINK, [["</think>"]]),
    "gpt_oss_20b": Family(
        "gpt_oss", HARMONY, CHANNELS, "<|return|>", ("final",), [["<|channel|>", "final", "<|message|>"]], mxfp4=True
    ),
}
"""The eight models of the benchmark that come from the hub, by their names in the registry."""
_HELPFUL = _QWEN2._replace(template=HELPFUL)
_SMOL = _HELPFUL._replace(architecture="llama")
_STRETCHED = {"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
_LLAMA3 = Family(
    "llama",
    LLAMA3,
    HEADERS,
    HEADERS[3],
    (),
    [],
    begin=HEADERS[0],
    rotation={"rope_type": "llama3", "rope_theta": 500_000.0, **_STRETCHED},
)
_GEMMA3 = Family("gemma3", GEMMA3, GEMMA_TURNS, GEMMA_TURNS[2], (), [], begin=GEMMA_TURNS[0])
LAPTOP = {
    "smollm2_360m": _SMOL,
    "smollm2_1_7b": _SMOL,
    "qwen2_5_0_5b": _HELPFUL,
    "qwen2_5_1_5b": _HELPFUL,
    "qwen2_5_7b": _HELPFUL,
    "qwen3_0_6b": _QWEN3,
    "qwen3_1_7b": _QWEN3,
    "qwen3_4b": _QWEN3,
    "olmo2_1b": Family("olmo2", OLMO2, ("<|endoftext|>",), "<|endoftext|>", (), [], begin="<|endoftext|>"),
    "granite4_1b": Family("granitemoehybrid", GRANITE4, ROLES, ROLES[2], (), []),
    "llama3_2_1b": _LLAMA3,
    "llama3_2_3b": _LLAMA3,
    "gemma3_1b": _GEMMA3._replace(architecture="gemma3_text"),
    "gemma3_4b": _GEMMA3,
    "medgemma_4b": _GEMMA3,
}
"""The models that run on a laptop or one GPU, by their names in the registry."""
HIDDEN, INNER = 64, 128
"""Multiples of 64, the size of the blocks in which bitsandbytes stores weights in 4 bits."""
LIKELY, LESS_LIKELY = 0.85, 0.55
"""Weights in the head by which a token is likely at any place: a mark a few times more than the end of a reply."""
CONSTANT, LEADS = 10.0, 20.0
"""Entries of the embeddings: one that all tokens share, and those by which a token calls for the next."""


def build(folder: Path, name: str, seed: int = 0) -> Path:
    """Write the checkpoint of a model of the registry, with its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM

    family = (FAMILIES | LAPTOP)[name]
    words = tokenizer(family)
    torch.manual_seed(seed)
    model: Any = AutoModelForCausalLM.from_config(_config(family, words), dtype=torch.bfloat16)
    for number, sequence in enumerate(family.likely, start=1):
        _favour(model, words.convert_tokens_to_ids(list(sequence)), LIKELY, number)
    _favour(model, [words.eos_token_id], LESS_LIKELY, 0)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    if family.mxfp4:
        _quantise(folder)
    words.save_pretrained(folder)
    return folder


def tokenizer(family: Family) -> Any:
    """Train the tokenizer of a model, with its template and its marks."""
    words = tiny.tokenizer(family.template, family.special, family.end, family.marks)
    words.bos_token = family.begin
    return words


def _config(family: Family, words: Any) -> Any:
    """Give the configuration; one of texts and images has it for its texts, and a tiny one for its images."""
    from transformers import AutoConfig

    ends = {"eos_token_id": words.eos_token_id, "pad_token_id": words.pad_token_id, "bos_token_id": words.bos_token_id}
    sizes = {
        "vocab_size": len(words),
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        # As many as `max_length` of any entry, or as a rotation stretches them to.
        "max_position_embeddings": 2048 if family.rotation else 8192,
        "tie_word_embeddings": False,
        "initializer_range": 0.1,
        **ends,
        **tiny.SIZES[family.architecture],
        **({"rope_parameters": family.rotation} if family.rotation else {}),
    }
    if family.architecture != "gemma3":
        return AutoConfig.for_model(family.architecture, **sizes)
    images = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    images |= {"image_size": 32, "patch_size": 16}
    return AutoConfig.for_model(
        "gemma3", text_config=sizes, vision_config=images, mm_tokens_per_image=4, tie_word_embeddings=False, **ends
    )


def _favour(model: Any, sequence: list[int], weight: float, number: int) -> None:
    """Make the first of some tokens likely at any place, and every other one after the one before it.

    The `number` of the sequence decides which entries of the embeddings its tokens use: ten for each.
    """
    import torch

    embeddings, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    with torch.no_grad():
        embeddings[:, 0] = CONSTANT
        head[sequence[0], 0] = weight
        for entry, (before, after) in enumerate(pairwise(sequence), start=10 * number):
            embeddings[before, entry] = LEADS
            head[after, entry] = 1.5


def _quantise(folder: Path) -> None:
    """Put random experts in MXFP4 in the place of a checkpoint's own, as gpt-oss is published.

    A row of weights is in blocks of 32, two to a byte, each block with a power of two in common (OCP Microscaling
    Formats, version 1.0, section 5.2).
    """
    import json

    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, columns, rows = tensors.pop(name).shape
        tensors[f"{name}_blocks"] = torch.randint(256, (experts, rows, columns // 32, 16), dtype=torch.uint8)
        # Powers of two from 2^-6 to 2^-5; 127 is the exponent 0.
        tensors[f"{name}_scales"] = torch.randint(121, 123, (experts, rows, columns // 32), dtype=torch.uint8)
    save_file(tensors, path, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": kept}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
