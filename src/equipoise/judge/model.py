"""A natural-language-inference cross-encoder in ONNX Runtime: entailment probabilities that no batch can change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from equipoise.errors import EquipoiseError
from equipoise.judge.registry import EmbeddedSource, load_entry, verified_folder
from equipoise.judge.snli import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

TOKENS_A_BATCH = 2048
"""Tokens computed at once: enough to fill the cores, little enough for a small machine."""


class NliJudge:
    """A cross-encoder that says how far a premise entails, leaves open or contradicts a hypothesis.

    Only sequences of exactly the same number of tokens are computed together. Nothing is padded, and on the CPU each
    row of a batch comes out bit for bit as it does alone, so batch size and order change nothing (the tests check it).
    """

    def __init__(self, folder: Path, *, max_tokens: int, providers: Sequence[str] = ("CPUExecutionProvider",)) -> None:
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

        for name in ("model.onnx", "config.json", "tokenizer.json"):
            if not (folder / name).is_file():
                message = f"{folder / name}: missing; a judge's folder holds model.onnx, config.json and tokenizer.json"
                raise EquipoiseError(message)
        self._columns = label_columns(folder / "config.json")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        # The hypothesis must stay whole, so what exceeds the limit is taken from the premise.
        self._tokenizer.enable_truncation(max_tokens, strategy="only_first")
        options = onnxruntime.SessionOptions()
        # Without this ONNX Runtime keeps int8 weights packed and picks other kernels; folded once, they run as float32.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        self._session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=list(providers))
        self._inputs = [value.name for value in self._session.get_inputs()]

    def probabilities(
        self, pairs: Sequence[tuple[str, str]], *, tokens_a_batch: int = TOKENS_A_BATCH
    ) -> NDArray[np.float64]:
        """Probabilities of entailment, neutral and contradiction of each (premise, hypothesis), shape (n, 3).

        The columns have this order whatever order the model was trained with. Equal pairs are computed once.
        """
        import numpy as np

        places = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        unique = list(places)
        encoded = self._tokenizer.encode_batch(unique)
        by_length: dict[int, list[int]] = {}
        for row, encoding in enumerate(encoded):
            by_length.setdefault(len(encoding.ids), []).append(row)
        found = np.empty((len(unique), len(LABELS)))
        for length, rows in sorted(by_length.items()):
            size = max(1, tokens_a_batch // length)
            for first in range(0, len(rows), size):
                batch = rows[first : first + size]
                found[batch] = self._run([encoded[row] for row in batch])
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


def load_judge(name: str, root: Path, cache: Path) -> NliJudge:
    """The judge registered as `name` under `root`, ready to run.

    Args:
        name: stem of a file in models/judges/.
        root: the repository root.
        cache: where the export of a judge that does not ship is kept.

    Raises:
        EquipoiseError: unknown name, malformed entry, weights missing, altered or out of reach; told before any work.
    """
    entry = load_entry(name, root)
    if isinstance(entry.source, EmbeddedSource):
        return NliJudge(verified_folder(entry.source, root), max_tokens=entry.max_tokens)
    from equipoise.judge.checkpoint import exported, providers

    return NliJudge(exported(entry, root, cache), max_tokens=entry.max_tokens, providers=providers())
