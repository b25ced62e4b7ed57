"""An engine that runs a model in transformers.

A row's logits depend, bit for bit, only on that row's tokens. A prompt is read alone, so its shapes are its own. Rows
that generate share the matrix products of a step. In float32 on a CPU these are oneDNN's, in which an element depends
on its own row alone, however many there are. Elsewhere kernels are chosen by shape, so a step always has `STEP` rows,
idle ones included. Attention, whose length differs, is computed for each row from its own keys and values, without
padding. Where products mix the rows, a step has one row: experts group the tokens they are given, 8 bits of
bitsandbytes look for outliers in all rows, and some rotary embeddings are scaled by the longest row. A test when the
model is opened finds which of these a model needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from sys import modules
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.models.engine import Engine, KeysValues

if TYPE_CHECKING:
    from torch import Tensor, device, dtype

    from equipoise.models.registry import TorchEntry

STEP = 16
"""Rows of a step where their number would change the last bits of the logits."""
SCALED = ("dynamic", "longrope")
"""Rotary embeddings whose frequencies depend on the longest row of a step."""


class TorchEngine(Engine):
    """A model in transformers, on the devices on which it was loaded."""

    def __init__(self, model: Any, entry: TorchEntry) -> None:  # noqa: ANN401  (transformers has no types)
        """Take a loaded model, whose attention is replaced; there are no rows until `lay_out`.

        Raises:
            EquipoiseError: The model's attention cannot be replaced, or it attends to chunks.
        """
        import torch

        self._model, self._entry = model, entry
        self.threads = torch.get_num_threads()
        self.rows = self.capacity = 0
        _replace_attention(model, entry)
        packed = _pack(model)
        self.lay_out(rows=STEP, capacity=1)
        # Rows of every step; 0 for any number of them.
        sizes = () if _mixes_rows(model, entry) else (0, STEP) if packed else (STEP,)
        self._size = next((size for size in sizes if self._keeps_rows_apart(size)), 1)

    def lay_out(self, *, rows: int, capacity: int) -> None:
        """Make room for `rows` rows of `capacity` tokens; if the buffers change, their contents are lost."""
        if (rows, capacity) != (self.rows, self.capacity):
            # Filled when each layer runs for the first time, on its device and in its format.
            self._parts: dict[tuple[int, str], Tensor] = {}
            self.rows, self.capacity = rows, capacity

    def run(
        self, tokens: NDArray[np.int64], lengths: Sequence[int], *, first: int = 0, picks: Sequence[int]
    ) -> NDArray[np.float32]:
        """Append one token to each of adjacent rows, starting with `first`; return the logits (rows, vocabulary).

        `tokens` has shape (rows, 1); `lengths` are the rows' lengths before this step.

        Raises:
            EquipoiseError: Too little memory on the GPU, or logits that are not numbers.
        """
        size = self._size or len(tokens)
        parts = (
            self._forward(tokens[start : start + size], lengths[start : start + size], first + start, picks, size)
            for start in range(0, len(tokens), size)
        )
        return np.concatenate(list(parts))

    def prefill(
        self, tokens: Sequence[int], *, row: int = 0, start: int = 0, picks: Sequence[int] | None = None
    ) -> NDArray[np.float32]:
        """Extend one row after its first `start` tokens, and return the logits at `picks` (default: the last)."""
        picked = [len(tokens) - 1] if picks is None else picks
        return self._forward(np.array([tokens], np.int64), [start], row, picked)

    def _forward(
        self, tokens: NDArray[np.int64], lengths: Sequence[int], first: int, picks: Sequence[int], size: int = 1
    ) -> NDArray[np.float32]:
        """Run the model on rows from `first` on, and on idle rows up to `size` rows: logits (rows x picks, words)."""
        import torch

        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        count, width = tokens.shape
        idle = max(0, size - count)
        ids = np.pad(tokens, ((0, idle), (0, 0)))
        places = np.pad(np.array(lengths, np.int64), (0, idle))[:, None] + np.arange(width)
        device = self._model.device
        with enough_memory(self._entry), torch.inference_mode():
            logits = self._model(
                torch.from_numpy(ids).to(device),
                position_ids=torch.from_numpy(places).to(device),
                cache=_step_class()(self._part, first, lengths),
                use_cache=True,
                logits_to_keep=torch.tensor(picks, device=device),
            ).logits[:count]
            scores: NDArray[np.float32] = logits.float().flatten(0, 1).cpu().numpy()
        if np.isnan(scores).any():
            raise EquipoiseError(
                f"{self._entry.title}: its logits are not numbers: set dtype to bfloat16 or float32, or fetch the "
                "weights again"
            )
        return scores

    def _part(self, layer: int, name: str, like: Tensor) -> Tensor:
        """Return a layer's buffer of keys or values (rows, kv heads, capacity, head size) for tensors like `like`."""
        import torch

        if (layer, name) not in self._parts:
            shape = (self.rows, like.shape[1], self.capacity, like.shape[3])
            # A tensor made in inference mode could not be changed outside.
            with torch.inference_mode(mode=False):
                self._parts[layer, name] = torch.zeros(shape, dtype=like.dtype, device=like.device)
        return self._parts[layer, name]

    def _keeps_rows_apart(self, size: int) -> bool:
        """Whether rows have the same logits, bit for bit, in other places of a step and with other neighbours."""
        tokens = np.arange(STEP + STEP // 2, dtype=np.int64)[:, None]
        parts = [slice(STEP), slice(STEP // 2, None), slice(3), slice(1, 2)]
        with _supported(self._entry):
            logits = [self._forward(tokens[part], [0] * len(tokens[part]), 0, [0], size) for part in parts]
        first, second, *_ = logits
        expected = np.concatenate([first, second[STEP // 2 :]])
        return all(np.array_equal(expected[part], own) for part, own in zip(parts, logits, strict=True))

    @property
    def buffers(self) -> Iterable[Tensor]:
        """The buffers of keys and values, of the layers that were run."""
        return self._parts.values()

    def take(self, row: int, start: int, end: int) -> KeysValues:
        """Return a copy of a row's keys and values from token `start` up to, not including, token `end`."""
        return [buffer[row, :, start:end].clone() for buffer in self.buffers]


@lru_cache(maxsize=1)
def _step_class() -> Any:  # noqa: ANN401
    """Define the cache of one step, a class of transformers, whose import takes seconds."""
    from transformers.cache_utils import Cache

    class Step(Cache):  # type: ignore[misc]
        """The rows of one step: writes new keys and values, and gives the attention those of each row."""

        def __init__(self, part: Any, first: int, lengths: Sequence[int]) -> None:  # noqa: ANN401
            super().__init__(layers=[])
            self._part, self._first, self._lengths = part, first, lengths

        def get_seq_length(self, *_: object) -> int:
            return max(self._lengths)

        def update(self, keys: Tensor, values: Tensor, layer_idx: int, *_: object, **__: object) -> tuple[Any, Any]:
            """Return two lists: each row's keys and values, of shape (1, kv heads, length, head size)."""
            return self._extend(layer_idx, "keys", keys), self._extend(layer_idx, "values", values)

        def _extend(self, layer: int, name: str, new: Tensor) -> list[Tensor]:
            part, width = self._part(layer, name, new), new.shape[2]
            rows = range(self._first, self._first + len(self._lengths))
            if width == 1:
                part[list(rows), :, list(self._lengths)] = new[: len(rows), :, 0]
            else:
                (length,) = self._lengths
                part[self._first, :, length : length + width] = new[0]
            return [part[row, None, :, : length + width] for row, length in zip(rows, self._lengths, strict=True)]

    return Step


def _pack(model: Any) -> bool:  # noqa: ANN401
    """Store the weights of float32 products on the CPU as oneDNN reads them, and drop the originals.

    MKL, which torch calls otherwise, rearranges a weight at every call, and sums in another order for few rows. Returns
    whether the model has such products.
    """
    import torch
    from torch.nn import Linear, Parameter

    if not torch.backends.mkldnn.is_available():
        return False
    # Subclasses, as for quantised weights, have products of their own.
    linear = [module for module in model.modules() if type(module) is Linear]
    plain = [module for module in linear if (module.weight.dtype, module.weight.device.type) == (torch.float32, "cpu")]
    for module in plain:
        # torch.compile's own operators for products with constant weights.
        packed = torch.ops.mkldnn._reorder_linear_weight(module.weight.detach(), STEP)  # noqa: SLF001
        module.forward = partial(_multiply, packed, module.bias)  # type: ignore[method-assign]
        module.weight = Parameter(module.weight.to("meta"), requires_grad=False)
    return bool(plain)


def _multiply(packed: Tensor, bias: Tensor | None, states: Tensor) -> Tensor:
    """Multiply states (…, inputs) by a packed weight: (…, outputs)."""
    import torch

    product: Tensor = torch.ops.mkldnn._linear_pointwise(states, packed, bias, "none", [], "")  # noqa: SLF001
    return product


def _replace_attention(model: Any, entry: TorchEntry) -> None:  # noqa: ANN401
    """Make a model compute attention row by row, each row with the function that it used before."""
    from transformers import AttentionInterface

    config = model.config.get_text_config()
    inner = config._attn_implementation  # noqa: SLF001  (transformers has no other name for it)
    name = f"equipoise_{inner}"
    AttentionInterface.register(name, partial(_attend, inner))
    with _supported(entry):
        model.set_attn_implementation(name)
        if config._attn_implementation != name or getattr(config, "attention_chunk_size", None):  # noqa: SLF001
            raise EquipoiseError(_unsupported(entry, f"the attention of {config.model_type} cannot be run row by row"))


def _unsupported(entry: TorchEntry, reason: str) -> str:
    return f"{entry.title}: backend torch cannot run it ({reason}): set backend to vllm in the registry entry"


@contextmanager
def _supported(entry: TorchEntry) -> Iterator[None]:
    """Convert an error in the first steps of an architecture, for instance one without keys and values, to one line."""
    try:
        yield
    except EquipoiseError:
        raise
    except Exception as error:
        raise EquipoiseError(_unsupported(entry, one_line(error))) from error


def _attend(
    inner: str,
    module: Any,  # noqa: ANN401
    query: Tensor,
    keys: Sequence[Tensor] | Tensor,
    values: Sequence[Tensor] | Tensor,
    _: object,
    *,
    sliding_window: int | None = None,
    **options: Any,  # noqa: ANN401
) -> tuple[Tensor, None]:
    """Compute the attention of each row to its own keys and values, with transformers' function `inner`.

    `query` has shape (rows, heads, tokens, head size), the result (rows, tokens, heads, head size); idle rows, which
    have no keys, are 0.
    """
    import torch
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    own = getattr(modules[type(module).__module__], "eager_attention_forward", None)
    attention = ALL_ATTENTION_FUNCTIONS.get_interface(inner, own)
    width = query.shape[2]
    if isinstance(keys, torch.Tensor) and isinstance(values, torch.Tensor):  # without a cache, in transformers 5.17
        keys, values = keys.split(1), values.split(1)
    outputs = []
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        window = sliding_window if sliding_window and sliding_window < key.shape[2] else None
        mask = None
        if width == 1 and window:
            key, value = key[:, :, -window:], value[:, :, -window:]  # noqa: PLW2901  (the rest is out of sight)
        elif width > 1:
            mask = _mask(inner, width, key.shape[2], window, query.device, query.dtype)
        outputs.append(attention(module, query[row : row + 1], key, value, mask, **options)[0])
    if idle := query.shape[0] - len(outputs):
        outputs.append(torch.zeros_like(outputs[0]).expand(idle, -1, -1, -1))
    return torch.cat(outputs) if len(outputs) > 1 else outputs[0], None


@lru_cache(maxsize=4)
def _mask(inner: str, width: int, length: int, window: int | None, device: device, kind: dtype) -> Tensor | None:
    """Return which of `length` tokens the last `width` attend to (1, 1, width, length); None for all before each."""
    import torch

    if inner == "sdpa" and width == length and window is None:
        return None
    ages = torch.arange(length - width, length, device=device)[:, None] - torch.arange(length, device=device)
    seen = (ages >= 0) & (ages < (window or length))
    if inner != "sdpa":
        # The other functions add their mask to the scores.
        seen = torch.zeros_like(seen, dtype=kind).masked_fill(~seen, torch.finfo(kind).min)
    return seen[None, None]


def _mixes_rows(model: Any, entry: TorchEntry) -> bool:  # noqa: ANN401
    """Whether rows that share a step are known to change each other's last bits."""
    kinds = (str(getattr(module, "rope_type", "")) for module in model.modules())
    scaled = any(name in kind for kind in kinds for name in SCALED)
    experts = any(hasattr(module, "num_experts") for module in model.modules())
    return entry.bits == 8 or scaled or experts  # noqa: PLR2004


@contextmanager
def enough_memory(entry: TorchEntry) -> Iterator[None]:
    """Convert torch's out-of-memory error on a GPU to one line with the fix."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise EquipoiseError(
            f"{entry.title}: not enough memory on the GPU: set bits to 8 or 4, lower max_length in the registry entry "
            "or infer.batch_size, or run where there is more; finished answers are kept"
        ) from error
