"""Engines: a model with key-value buffers for a fixed number of rows, in ONNX Runtime here."""

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.core.system import has_driver

GRAPH = "model.onnx"
PAIRS = "equipoise.pairs"
"""Key in the metadata of a graph whose operators compute a single token of a single row with other last bits."""
PLACES, BIAS = "position_ids", "attention_bias"
"""Inputs of a graph in which texts may fork."""
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
KeysValues = list[Any]
"""Keys and values of adjacent tokens of one row: an array or tensor (kv heads, tokens, head size) for each buffer."""


class Branch(NamedTuple):
    """A continuation of a text: the number of the text's tokens that it follows, at least 1, and its own tokens."""

    start: int
    tokens: tuple[int, ...]


class _Fork(NamedTuple):
    """Where the tokens of a step stand: their positions (1, tokens), and what is added to their attention scores."""

    places: NDArray[np.int64]
    bias: NDArray[np.float32]


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

    @property
    @abstractmethod
    def buffers(self) -> Iterable[Any]:
        """The buffers of keys and values, arrays or tensors, as `take` returns them."""

    def move(self, source: int, target: int, length: int) -> None:
        """Copy a row's first `length` keys and values to another row."""
        for buffer in self.buffers:
            buffer[target, :, :length] = buffer[source, :, :length]

    @abstractmethod
    def take(self, row: int, start: int, end: int) -> KeysValues:
        """Return a copy of a row's keys and values from token `start` up to, not including, token `end`."""

    def put(self, row: int, start: int, keys_values: KeysValues) -> None:
        """Write what `take` returned into a row, starting at token `start`."""
        for buffer, values in zip(self.buffers, keys_values, strict=False):
            buffer[row, :, start : start + values.shape[1]] = values

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

    def fork(
        self, tokens: Sequence[int], branches: Sequence[Branch], *, row: int = 0, start: int = 0
    ) -> tuple[NDArray[np.float32], dict[Branch, NDArray[np.float32]]]:
        """Extend one row after its first `start` tokens, then by each of distinct branches instead of one another.

        Branches follow the row after `start` tokens or more. Returns the logits after the text (vocabulary), and of
        each branch those before its first token and after each of its tokens (1 + tokens, vocabulary). The row then
        holds the text.
        """
        end = start + len(tokens)
        (last,) = self.prefill(tokens, row=row, start=start)
        logits: dict[Branch, NDArray[np.float32]] = {}
        # Branches that leave the text whole come first: the others overwrite its last tokens.
        for branch in sorted(branches, key=lambda branch: -branch.start):
            before = last[None]
            if branch.start < end:
                before = self.prefill(tokens[branch.start - 1 - start :][:1], row=row, start=branch.start - 1)
            logits[branch] = before
            if branch.tokens:
                after = self.prefill(branch.tokens, row=row, start=branch.start, picks=range(len(branch.tokens)))
                logits[branch] = np.vstack([before, after])
        lowest = min((branch.start for branch in branches), default=end)
        if lowest < end:
            (last,) = self.prefill(tokens[lowest - start :], row=row, start=lowest)
        return last, logits


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
        self._forks = BIAS in {value.name for value in self._session.get_inputs()}
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

    def fork(
        self, tokens: Sequence[int], branches: Sequence[Branch], *, row: int = 0, start: int = 0
    ) -> tuple[NDArray[np.float32], dict[Branch, NDArray[np.float32]]]:
        """As `Engine.fork`, in one step, where each token of a branch attends to that branch and to the text before it.

        ONNX Runtime ignores positions in a step that begins a row. There, and where a row has no room for all of them,
        branches have steps of their own.
        """
        ends = start + len(tokens) + np.cumsum([0, *(len(branch.tokens) for branch in branches)])
        total = int(ends[-1])
        if not start or not self._forks or total == ends[0] or total > self.capacity:
            return super().fork(tokens, branches, row=row, start=start)
        places = np.arange(start, total)
        bias = np.zeros((total - start, total), np.float32)
        for branch, (begin, end) in zip(branches, pairwise(ends), strict=True):
            places[begin - start : end - start] = np.arange(branch.start, branch.start + end - begin)
            bias[begin - start : end - start, branch.start : begin] = -np.inf
        picks = sorted({len(tokens) - 1, *(branch.start - 1 - start for branch in branches)})
        logits = self._run(
            np.array([[*tokens, *(token for branch in branches for token in branch.tokens)]], np.int64),
            [start],
            first=row,
            picks=[*picks, *range(len(tokens), total - start)],
            fork=_Fork(places[None], bias[None, None]),
        )
        before = dict(zip(picks, logits, strict=False))
        after = np.split(logits[len(picks) :], ends[1:-1] - ends[0])
        return before[len(tokens) - 1], {
            branch: np.vstack([before[branch.start - 1 - start][None], own])
            for branch, own in zip(branches, after, strict=True)
        }

    def _run(
        self,
        tokens: NDArray[np.int64],
        lengths: Sequence[int],
        *,
        first: int,
        picks: Sequence[int],
        fork: _Fork | None = None,
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
        if self._forks:
            places = np.array(lengths, np.int64)[:, None] + np.arange(width)
            values[PLACES], values[BIAS] = fork or (places, np.zeros((1, 1, width, after.max()), np.float32))
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

    @property
    def buffers(self) -> Iterable[NDArray[np.float32]]:
        """The buffers of keys and values."""
        return self._buffers.values()

    def take(self, row: int, start: int, end: int) -> KeysValues:
        """Return a copy of a row's keys and values from token `start` up to, not including, token `end`."""
        return [buffer[row, :, start:end].copy() for buffer in self.buffers]
