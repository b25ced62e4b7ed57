"""Read weights published in blocks of 4 bits from a GGUF file as they are: ggml's q4_0, q4_1 and q4_K, read by gguf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.models.decoder import BLOCK, Blocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray
    from transformers import PreTrainedModel

HALF = 8
"""The code that stands for 0 where a block has no offset."""


def read_blocks(path: Path, model: PreTrainedModel) -> dict[str, Blocks]:
    """Read the weights of a model's linear layers that the file has in blocks of 4 bits, by the builder's layer names.

    A layer is left out if its weight in the model is not, to the last bit, that of its blocks: rows that transformers
    reorders, an adapter, another format.
    """
    import gguf
    import torch

    from equipoise.models import gguffile

    reader = gguffile.read(path)
    config = model.config.get_text_config()
    architecture = gguffile.field(reader, "general.architecture")
    kind = next(kind for kind, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    by_layer: dict[str, Blocks] = {}
    for name, layer in model.named_modules():
        tensor = tensors.get(f"{names.get_name(name)}.weight") if isinstance(layer, torch.nn.Linear) else None
        parse = PARSERS.get(tensor.tensor_type.name) if tensor is not None else None
        if tensor is None or parse is None:
            continue
        blocks = parse(np.asarray(tensor.data))
        if np.array_equal(gguf.dequantize(tensor.data, tensor.tensor_type), layer.weight.detach().numpy()):
            by_layer[name.replace(".self_attn.", ".attn.")] = blocks
    return by_layer


def _pack(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pack codes (outputs, blocks, 32) in pairs, the first in the low half of a byte."""
    return np.ascontiguousarray(codes[..., 0::2] | (codes[..., 1::2] << 4))


def _halves(raw: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Unpack codes whose first half is in the low halves of the bytes: from (…, bytes) to (…, 2 x bytes)."""
    return np.concatenate([raw & 15, raw >> 4], axis=-1)


def _float(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Read a half-precision number from the two bytes of the last axis, which goes."""
    return np.ascontiguousarray(raw).view(np.float16)[..., 0].astype(np.float32)


def _q4_0(raw: NDArray[np.uint8]) -> Blocks:
    """Read blocks of a scale and 32 codes around 8."""
    block = raw.reshape(len(raw), -1, 18)
    return Blocks(_pack(_halves(block[..., 2:])), _float(block[..., :2]), None)


def _q4_1(raw: NDArray[np.uint8]) -> Blocks:
    """Read blocks of a scale, a minimum and 32 codes."""
    block = raw.reshape(len(raw), -1, 20)
    scales, least = _float(block[..., :2]), _float(block[..., 2:4])
    return Blocks(_pack(_halves(block[..., 4:])), scales, least + HALF * scales)


def _q4_k(raw: NDArray[np.uint8]) -> Blocks:
    """Read groups of 8 blocks with scales and minima of 6 bits, which two numbers of the group multiply."""
    from gguf.quants import Q4_K

    group = raw.reshape(-1, 144)
    scales, least = (part.astype(np.float32) for part in Q4_K.get_scale_min(group[:, 4:16]))
    scales *= _float(group[:, :2])[:, None]
    least *= _float(group[:, 2:4])[:, None]
    codes = _halves(group[:, 16:].reshape(-1, 4, BLOCK)).reshape(len(raw), -1, BLOCK)
    shape = codes.shape[:2]
    return Blocks(_pack(codes), scales.reshape(shape), (HALF * scales - least).reshape(shape))


PARSERS: dict[str, Callable[[NDArray[np.uint8]], Blocks]] = {"Q4_0": _q4_0, "Q4_1": _q4_1, "Q4_K": _q4_k}
"""The parser of each format, from the bytes of a tensor (outputs, bytes)."""
