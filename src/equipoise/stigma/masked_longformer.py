"""A Longformer as the RoBERTa that it is on short sentences.

Every token of a Longformer sees half a window to either side (256 tokens in the published models), so that in a
sentence no longer than that each sees all: ordinary attention, with the same weights. As it is, the model pads every
sentence to a multiple of its window, 512 tokens in place of our 20 or 30, and cannot be exported to ONNX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
)
"""What the two configurations share and a forward pass depends on."""


def without_windows(model: PreTrainedModel, max_tokens: int) -> PreTrainedModel:
    """Give a Longformer with ordinary attention, for sentences of at most `max_tokens`; other models as they are.

    Raises:
        EquipoiseError: in a sentence of `max_tokens` some tokens of the Longformer would not see each other.
    """
    from transformers import RobertaConfig, RobertaForMaskedLM

    config = model.config
    if config.model_type != "longformer":
        return model
    windows = config.attention_window
    sight = (windows if isinstance(windows, int) else min(windows)) // 2
    if max_tokens > sight:
        message = f"max_tokens {max_tokens} of a Longformer that sees {sight} tokens: lower it in its registry entry"
        raise EquipoiseError(message)
    plain = RobertaForMaskedLM(RobertaConfig(**{name: getattr(config, name) for name in SIZES}))
    # Its global attention is for tokens that are marked so; in predicting a mask none is.
    weights = {
        name.replace("longformer.", "roberta.", 1): value
        for name, value in model.state_dict().items()
        if "_global." not in name
    }
    plain.load_state_dict(weights)
    return plain.eval()
