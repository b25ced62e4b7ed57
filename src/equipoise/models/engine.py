"""Engines: a model with key-value buffers for a fixed number of rows, in ONNX Runtime here."""

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.core.system import has_driver

GRAPH = "model.onnx"
PAIRS = "equipoise.pairs"
"""Key in the metadata of a graph whose operators compute a single token of a single row with other last bits."""
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
KeysValues = list[Any]
"""Keys and values of adjacent tokens of one row: an array or tensor (kv heads, tokens, head size) for each buffer."""


def providers() -> list[str]:
    """List the execution providers for this machine, best first: CUDA if ONNX Runtime and the driver support it."""
    import onnxruntime

    return [CUDA, CPU] if CUDA in onnxruntime.get_available_providers() and has_driver() and _has_cuda() else [CPU]


def _has_cuda() -> bool:
    """Whether torch finds a device; importing it takes seconds, and also loads the libraries that CUDA needs."""
    import torch

    return torch.cuda.is_available()


def provider() -> str:
    """Return the best execution provider."""
    return providers()[0]


class Engine(ABC):
    """A model with `rows` independent sequences of at most `capacity` tokens: tokens in, logits out.

    Keys and values are stored in buffers of shape (rows, kv heads, capacity, head size), one pair per layer, which a
    step reads and extends in place. A row's logits depend, bit for bit, only on that row's tokens.
    """

    rows: int
    capacity: int

    @abstractmethod
    def lay_out(self, *, rows: int, capacity: int) -> None:
        """Make room for `rows` rows of `capacity` tokens; if the buffers change, their contents are lost."""

    @abstractmethod
    def run(
        self, tokens: NDArray[np.int64], lengths: Sequence[int], *, first: int = 0, picks: Sequence[int]
    ) -> NDArray[np.float32]:
        """Extend adjacent rows, starting with `first`, and return the logits at the picked tokens.

        `tokens` has shape (rows, tokens); `lengths` are the rows' lengths before this step. Several tokens at a time
        require a single row. `picks` are positions within `tokens`; the result has shape (rows x picks, vocabulary).
        """

    @abstractmethod
    def move(self, source: int, target: int, length: int) -> None:
        """Copy a row's first `length` keys and values to another row."""

    @abstractmethod
    def take(self, row: int, start: int, end: int) -> KeysValues:
        """Return a copy of a row's keys and values from token `start` up to, not including, token `end`."""

    @abstractmethod
    def put(self, row: int, start: int, keys_values: KeysValues) -> None:
        """Write what `take` returned into a row, starting at token `start`."""

    def replicate(self) -> Self:
        """Return an engine of the same model with its own rows, which another Python thread may run concurrently."""
        other = copy.copy(self)
        other.rows = other.capacity = 0
        other.lay_out(rows=self.rows, capacity=self.capacity)
        return other

    def prefill(
        self, tokens: Sequence[int], *, row: int = 0, start: int = 0, picks: Sequence[int] | None = None
    ) -> NDArray[np.float32]:
        """Extend one row after its first `start` tokens, and return the logits at `picks` (default: the last)."""
        picked = [len(tokens) - 1] if picks is None else picks
        return self.run(np.array([tokens], np.int64), [start], first=row, picks=picked)


class OnnxEngine(Engine):
    """A graph of `equipoise.models.decoder` in ONNX Runtime."""

    def __init__(self, folder: Path, *, rows: int, capacity: int, threads: int = 0) -> None:
        """Open the graph of an export folder; raises EquipoiseError if ONNX Runtime cannot load it.

        A step is computed by `threads` threads, 0 for one per core; their number does not change the results.
        """
        import onnxruntime

        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        try:
            self._session = onnxruntime.InferenceSession(folder / GRAPH, options, providers=providers())
        except Exception as error:
            message = f"{folder / GRAPH}: ONNX Runtime cannot load it ({error}): run `dvc repro --force export`"
            raise EquipoiseError(message) from error
        heads = config["num_attention_heads"]
        size = config.get("head_dim") or config["hidden_size"] // heads
        self._paired = PAIRS in self._session.get_modelmeta().custom_metadata_map
        self._head_shape = (config.get("num_key_value_heads", heads), size)
        self._names = [
            (f"past_key_values.{layer}.{part}", f"present.{layer}.{part}")
            for layer in range(config["num_hidden_layers"])
            for part in ("key", "value")
        ]
        self.rows = self.capacity = 0
        self.lay_out(rows=rows, capacity=capacity)

    def lay_out(self, *, rows: int, capacity: int) -> None:
        """Make room for `rows` rows of `capacity` tokens; if the buffers change, their contents are lost."""
        if (rows, capacity) == (self.rows, self.capacity):
            return
        # The old buffers are freed first, so that old and new ones need not fit in memory together.
        self._buffers: dict[tuple[str, str], NDArray[np.float32]] = {}
        heads, size = self._head_shape
        # For pairs, one more row and one more token, which no text uses.
        shape = (rows + self._paired, heads, capacity + self._paired, size)
        self._buffers = {name: np.zeros(shape, np.float32) for name in self._names}
        self.rows, self.capacity = rows, capacity

    def run(
        self, tokens: NDArray[np.int64], lengths: Sequence[int], *, first: int = 0, picks: Sequence[int]
    ) -> NDArray[np.float32]:
        """As `Engine.run`."""
        if self._paired and tokens.size == 1:
            # The next row computes a token that it does not keep.
            return self._run(tokens.repeat(2, axis=0), [*lengths, self.capacity], first=first, picks=picks)[:1]
        return self._run(tokens, lengths, first=first, picks=picks)

    def _run(
        self, tokens: NDArray[np.int64], lengths: Sequence[int], *, first: int, picks: Sequence[int]
    ) -> NDArray[np.float32]:
        import onnxruntime

        count, width = tokens.shape
        after = np.array(lengths, np.int32) + width
        values = {
            "input_ids": np.ascontiguousarray(tokens),
            "seqlens_k": after - np.int32(1),
            "total_sequence_length": np.array(after.max(), np.int32),
            "logit_index": np.array([(row, pick) for row in range(count) for pick in picks], np.int64),
        }
        binding = self._session.io_binding()
        # ONNX Runtime borrows these arrays: they must outlive the run.
        borrowed: list[Any] = [values]
        for name, array in values.items():
            value = onnxruntime.OrtValue.ortvalue_from_numpy(array)
            binding.bind_ortvalue_input(name, value)
            borrowed.append(value)
        binding.bind_output("logits", "cpu")
        for (past, present), buffer in self._buffers.items():
            value = onnxruntime.OrtValue.ortvalue_from_numpy(buffer[first : first + count])
            binding.bind_ortvalue_input(past, value)
            binding.bind_ortvalue_output(present, value)
            borrowed.append(value)
        self._session.run_with_iobinding(binding)
        return np.asarray(binding.get_outputs()[0].numpy())

    def move(self, source: int, target: int, length: int) -> None:
        """Copy a row's first `length` keys and values to another row."""
        for buffer in self._buffers.values():
            buffer[target, :, :length] = buffer[source, :, :length]

    def take(self, row: int, start: int, end: int) -> KeysValues:
        """Return a copy of a row's keys and values from token `start` up to, not including, token `end`."""
        return [buffer[row, :, start:end].copy() for buffer in self._buffers.values()]

    def put(self, row: int, start: int, keys_values: KeysValues) -> None:
        """Write keys and values into a row, starting at token `start`."""
        for buffer, values in zip(self._buffers.values(), keys_values, strict=False):
            buffer[row, :, start : start + values.shape[1]] = values
