"""The ONNX Runtime backend."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.backends.conversation import Chat
from equipoise.backends.rows import RowsBackend, beginnings
from equipoise.backends.scoring import score_all
from equipoise.core.prompts import Prompt, Response
from equipoise.core.system import cores
from equipoise.models.engine import Engine, OnnxEngine
from equipoise.models.registry import WeightsEntry
from equipoise.models.tokenizer import ExportedTokenizer


class OnnxBackend(RowsBackend):
    """An exported model in ONNX Runtime that processes up to `batch_size` prompts at once."""

    def __init__(self, folder: Path, entry: WeightsEntry, *, batch_size: int) -> None:
        """Take an export folder with verified files (`equipoise.backends.ask`)."""
        tokenizer = ExportedTokenizer(folder)
        self._chat = Chat(tokenizer, tokenizer.ends, entry)
        self._folder = folder
        self._entry = entry
        self._batch_size = batch_size
        self._opened: tuple[int, OnnxEngine] | None = None
        self._beginnings = beginnings(entry, batch_size)

    def __exit__(self, *_: object) -> None:
        """Free the graph, its buffers and the first turns that were kept."""
        self._opened = self._beginnings = None

    def _open(self, *, threads: int, rows: int) -> Engine:
        """Open the graph with `threads` threads per step, unless open; the weights are in memory once."""
        if self._opened is None or self._opened[0] != threads:
            self._opened = None
            engine = OnnxEngine(self._folder, rows=rows, capacity=self._entry.max_length, threads=threads)
            self._opened = threads, engine
        return self._opened[1]

    def _score_few(self, prompts: Sequence[Prompt]) -> Iterator[Response]:
        """Answer prompts that request only the likelihoods of a few candidates."""
        if prompts:
            engine = self._open(threads=1, rows=1)
            yield from score_all(
                prompts, self._chat, engine, scorers=min(cores(), self._batch_size), beginnings=self._beginnings
            )
