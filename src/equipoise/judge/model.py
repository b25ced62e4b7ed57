"""A natural-language-inference cross-encoder in ONNX Runtime: entailment probabilities that no batch can change."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import digest, sha256
from equipoise.judge.first_token import first_token_only
from equipoise.judge.registry import EmbeddedSource, load_entry, verified_folder
from equipoise.judge.snli import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

CPU = "CPUExecutionProvider"

TOKENS_A_BATCH = 320
"""Tokens that a core computes at once: enough to use each weight often, few enough for its cache to hold them."""

TOKENS_A_BATCH_ELSEWHERE = 2048
"""Tokens that another device than the CPU computes at once."""

FILES = ("model.onnx", "config.json", "tokenizer.json")
"""What a judge's folder holds."""


class NliJudge:
    """A cross-encoder that says how far a premise entails, leaves open or contradicts a hypothesis.

    Only sequences of exactly the same number of tokens are computed together. Nothing is padded, and on the CPU each
    row of a batch comes out bit for bit as it does alone, so batch size and order change nothing (the tests check it).
    There each core computes a batch of its own: no core waits for another within a batch.
    """

    def __init__(self, folder: Path, *, max_tokens: int, providers: Sequence[str] = (CPU,)) -> None:
        """Open `folder`, which holds model.onnx, config.json and tokenizer.json.

        Args:
            folder: where the three files are.
            max_tokens: the longest sequence, in tokens; a longer premise loses its end.
            providers: ONNX Runtime execution providers, best first.

        Raises:
            EquipoiseError: a file is missing, or the labels are not entailment, neutral and contradiction.
        """
        import onnxruntime
        from tokenizers import Tokenizer

        _require_files(folder)
        self._columns = label_columns(folder / "config.json")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        # The hypothesis must stay whole, so what exceeds the limit is taken from the premise.
        self._tokenizer.enable_truncation(max_tokens, strategy="only_first")
        options = onnxruntime.SessionOptions()
        # Without this ONNX Runtime keeps int8 weights packed and picks other kernels; folded once, they run as float32.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        on_cpu = providers[0] == CPU
        self._workers = _cores() if on_cpu else 1
        self._tokens_a_batch = TOKENS_A_BATCH if on_cpu else TOKENS_A_BATCH_ELSEWHERE
        if on_cpu:
            options.intra_op_num_threads = 1
        graph = needed_graph(folder)
        self._session = onnxruntime.InferenceSession(graph, options, providers=list(providers))
        self._inputs = [value.name for value in self._session.get_inputs()]

    def probabilities(
        self, pairs: Sequence[tuple[str, str]], *, tokens_a_batch: int | None = None
    ) -> NDArray[np.float64]:
        """Probabilities of entailment, neutral and contradiction of each (premise, hypothesis), shape (n, 3).

        The columns have this order whatever order the model was trained with. Equal pairs are computed once.
        `tokens_a_batch` is how many tokens are computed at once at most; without it, what suits the device.
        """
        import numpy as np

        places = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        unique = list(places)
        encoded = self._tokenizer.encode_batch(unique)
        by_length: dict[int, list[int]] = {}
        for row, encoding in enumerate(encoded):
            by_length.setdefault(len(encoding.ids), []).append(row)
        # The longest first, so that at the end no core is left with much more work than the others.
        batches: list[list[int]] = []
        for length, rows in sorted(by_length.items(), reverse=True):
            size = max(1, (tokens_a_batch or self._tokens_a_batch) // length)
            batches += [rows[first : first + size] for first in range(0, len(rows), size)]
        found = np.empty((len(unique), len(LABELS)))
        with ThreadPoolExecutor(self._workers) as pool:
            computed = pool.map(lambda batch: self._run([encoded[row] for row in batch]), batches)
            for batch, rows_found in zip(batches, computed, strict=True):
                found[batch] = rows_found
        return found[[places[pair] for pair in pairs]]

    def _run(self, encodings: Sequence[Any]) -> NDArray[np.float64]:
        """Softmax over the logits of sequences of one length, columns in the order of LABELS."""
        import numpy as np

        feed = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
            "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
        }
        logits = self._session.run(["logits"], {name: feed[name] for name in self._inputs})[0]
        shifted = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        probabilities: NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
        return probabilities[:, self._columns]


def needed_graph(folder: Path) -> bytes | Path:
    """The graph of `folder`/model.onnx without what the answer does not need: of a BERT, changed; else the file's path.

    The file itself stays as it is, since a registry entry may hold it to its sha256.
    """
    import onnx

    path = folder / "model.onnx"
    if json.loads((folder / "config.json").read_text("utf-8")).get("model_type") != "bert":
        return path
    model = onnx.load(path)
    return bytes(model.SerializeToString()) if first_token_only(model) else path


def _cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def label_columns(config: Path) -> list[int]:
    """Which of the model's outputs is entailment, neutral and contradiction, as its config.json says.

    Raises:
        EquipoiseError: the file is not a config, or its labels are others.
    """
    try:
        names = {
            str(label).lower(): int(index) for index, label in json.loads(config.read_text("utf-8"))["id2label"].items()
        }
        return [names[label] for label in LABELS]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"{config}, id2label: must name {', '.join(LABELS)}; take a model trained for NLI"
        raise EquipoiseError(message) from error


class LocatedJudge(NamedTuple):
    """A judge that can be opened: its folder, how many tokens it reads, and its execution providers, best first."""

    folder: Path
    max_tokens: int
    providers: tuple[str, ...] = ("CPUExecutionProvider",)

    @property
    def identity(self) -> str:
        """A digest of all that decides a probability: the judge's part of a cache key."""
        import onnxruntime

        _require_files(self.folder)
        files = {name: sha256(self.folder / name) for name in FILES}
        return digest([files, self.max_tokens, self.providers, str(onnxruntime.__version__)])

    def open(self) -> NliJudge:
        """Open the judge, ready to run."""
        return NliJudge(self.folder, max_tokens=self.max_tokens, providers=self.providers)


def locate_judge(name: str, root: Path, cache: Path) -> LocatedJudge:
    """The judge registered as `name` under `root`, not yet opened.

    Args:
        name: stem of a file in models/judges/.
        root: the repository root.
        cache: where the export of a judge that does not ship is kept.

    Raises:
        EquipoiseError: unknown name, malformed entry, weights missing, altered or out of reach; told before any work.
    """
    entry = load_entry(name, root)
    if isinstance(entry.source, EmbeddedSource):
        return LocatedJudge(verified_folder(entry.source, root), entry.max_tokens)
    from equipoise.judge.checkpoint import exported, providers

    return LocatedJudge(exported(entry, root, cache), entry.max_tokens, tuple(providers()))


def load_judge(name: str, root: Path, cache: Path) -> NliJudge:
    """The judge registered as `name` under `root`, ready to run. See `locate_judge`."""
    return locate_judge(name, root, cache).open()


def _require_files(folder: Path) -> None:
    for name in FILES:
        if not (folder / name).is_file():
            message = f"{folder / name}: missing; a judge's folder holds model.onnx, config.json and tokenizer.json"
            raise EquipoiseError(message)
