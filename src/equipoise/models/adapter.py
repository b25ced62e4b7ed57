"""Merge a low-rank adapter into the weights of the model that it was trained for.

W becomes W + (α / r) · B · A (Hu et al. 2021, arXiv:2106.09685, section 4.1), so backends need no support for
adapters.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError, one_line

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

DOWN, UP = ".lora_A.weight", ".lora_B.weight"
"""Suffixes of an adapter's tensor names, as written by PEFT, after the name of a linear layer."""
ALPHA = "lora_alpha"
"""Key of α in the file's metadata."""
FIX = "name an adapter that was trained for this model"


def merge(model: PreTrainedModel, path: Path) -> None:
    """Add an adapter to a model's linear layers, in place.

    The file is safetensors: for each layer, A (r, inputs) and B (outputs, r), and in the metadata `lora_alpha`.

    Raises:
        EquipoiseError: The file is not an adapter, or its layers do not match the model's; the message names the file
            and the layer.
    """
    import torch

    tensors, alpha = _read(path)
    layers = dict(model.named_modules())
    for name in dict.fromkeys(name.removesuffix(DOWN).removesuffix(UP) for name in tensors):
        layer = layers.get(name)
        if not isinstance(layer, torch.nn.Linear):
            raise EquipoiseError(f"{path}: {name} is not a linear layer of the model: {FIX}")
        if (down := tensors.get(name + DOWN)) is None or (up := tensors.get(name + UP)) is None:
            raise EquipoiseError(f"{path}: {name} lacks {DOWN[1:]} or {UP[1:]}: write it again")
        rank, weight = len(down), layer.weight
        if down.shape != (rank, weight.shape[1]) or up.shape != (weight.shape[0], rank):
            mismatch = f"A {tuple(down.shape)} and B {tuple(up.shape)} do not fit its weight {tuple(weight.shape)}"
            raise EquipoiseError(f"{path}: {name}: {mismatch}: {FIX}")
        change = (up.float() @ down.float() * (alpha / rank)).to(weight.device)
        with torch.no_grad():
            weight.copy_(weight.float() + change)


def _read(path: Path) -> tuple[dict[str, Tensor], float]:
    from safetensors import safe_open

    try:
        with safe_open(path, framework="pt") as file:
            alpha = float(file.metadata()[ALPHA])
            return {name: file.get_tensor(name) for name in file.keys()}, alpha  # noqa: SIM118  (no mapping)
    except Exception as error:
        # The library raises its own errors and the system's; missing metadata raises others.
        message = f"{path}: not a low-rank adapter with {ALPHA} in its metadata ({one_line(error)}): write it again"
        raise EquipoiseError(message) from error
