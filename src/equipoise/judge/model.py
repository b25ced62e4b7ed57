"""A cross-encoder in ONNX Runtime, which classifies pairs of texts with probabilities that do not depend on the batch.

There are three tasks, distinguished by a model's labels: a passage's treatment of a feature (`reading`), a premise's
relation to a hypothesis (natural-language `inference`), and what a letter does with a fact (`facts`).

The last layer of a BERT classifier is computed only for its first token, since the pooler reads no other. This omits
the attention's output projection and the feed-forward part of every other token: 9 of the 12 parts of a layer, hence an
eighth of a judge of six layers. The first token's sums are the same sums in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import EquipoiseError
from equipoise.core.system import cores
from equipoise.judge.passages import MANNERS, TREATMENTS
from equipoise.models.engine import CPU, GRAPH

if TYPE_CHECKING:
    import onnx

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = get_args(Label)
ENTAILMENT = LABELS.index("entailment")
"""Column of the probabilities of entailment."""
Task = Literal["reading", "inference", "facts"]
TASKS: dict[Task, tuple[str, ...]] = {"reading": TREATMENTS, "inference": LABELS, "facts": MANNERS}
"""The labels of each task, in the order of the probability columns, whatever order a model was trained with."""
TOKENS_A_BATCH = 320
"""Tokens that a core computes at once: enough to use each weight often, few enough for its cache."""
TOKENS_A_BATCH_ELSEWHERE = 2048
"""Tokens that a device other than the CPU computes at once."""
FILES = (GRAPH, "config.json", "tokenizer.json")
NEEDED = f"must name {' or '.join(', '.join(labels) for labels in TASKS.values())}; take a model trained for that"
MERGED = "first_token.attended"
HIDDEN = "first_token.hidden"


class CrossEncoder:
    """A cross-encoder that reads a passage and a question together, or a premise and a hypothesis.

    Only sequences of exactly the same number of tokens are computed together. Nothing is padded, and on the CPU each
    row of a batch is bit for bit the same as alone, so batch size and order change nothing (the tests check it). On the
    CPU each core computes its own batch, so that no core waits for another within a batch.
    """

    def __init__(self, folder: Path, *, max_tokens: int, providers: Sequence[str] = (CPU,)) -> None:
        """Open `folder`, which contains model.onnx, config.json and tokenizer.json.

        Args:
            folder: The folder of the three files.
            max_tokens: The longest sequence, in tokens; in a longer one, the end of the first text is cut off.
            providers: ONNX Runtime execution providers, best first.

        Raises:
            EquipoiseError: A file is missing, or the labels belong to no task.
        """
        import onnxruntime
        from tokenizers import Tokenizer

        require_files(folder)
        task, self._columns = task_columns(folder / "config.json")
        self.labels = TASKS[task]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        # The question must stay whole, so the passage is truncated.
        self._tokenizer.enable_truncation(max_tokens, strategy="only_first")
        options = onnxruntime.SessionOptions()
        # Otherwise ONNX Runtime keeps int8 weights packed and picks other kernels; folded once, they run as float32.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        on_cpu = providers[0] == CPU
        self._workers = cores() if on_cpu else 1
        self._tokens_a_batch = TOKENS_A_BATCH if on_cpu else TOKENS_A_BATCH_ELSEWHERE
        if on_cpu:
            options.intra_op_num_threads = 1
        graph = needed_graph(folder)
        self._session = onnxruntime.InferenceSession(graph, options, providers=list(providers))
        self._inputs = [value.name for value in self._session.get_inputs()]

    def probabilities(
        self, pairs: Sequence[tuple[str, str]], *, tokens_a_batch: int | None = None
    ) -> NDArray[np.float64]:
        """Return the probabilities of the task's labels, in the order of `TASKS`, for each pair: (pairs, labels).

        Equal pairs are computed once. `tokens_a_batch` limits the tokens computed at once; the default suits the
        device.
        """
        places = {pair: row for row, pair in enumerate(dict.fromkeys(pairs))}
        unique = list(places)
        encoded = self._tokenizer.encode_batch(unique)
        by_length: dict[int, list[int]] = {}
        for row, encoding in enumerate(encoded):
            by_length.setdefault(len(encoding.ids), []).append(row)
        # The longest first, so that at the end no core has much more work left than the others.
        batches: list[list[int]] = []
        for length, rows in sorted(by_length.items(), reverse=True):
            size = max(1, (tokens_a_batch or self._tokens_a_batch) // length)
            batches += [rows[first : first + size] for first in range(0, len(rows), size)]
        probabilities = np.empty((len(unique), len(self.labels)))
        with ThreadPoolExecutor(self._workers) as pool:
            computed = pool.map(lambda batch: self._run([encoded[row] for row in batch]), batches)
            for batch, result in zip(batches, computed, strict=True):
                probabilities[batch] = result
        return probabilities[[places[pair] for pair in pairs]]

    def _run(self, encodings: Sequence[Any]) -> NDArray[np.float64]:
        """Return the softmax of the logits of sequences of one length, columns in the order of `TASKS`."""
        from scipy.special import softmax

        feed = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
            "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
        }
        logits = self._session.run(["logits"], {name: feed[name] for name in self._inputs})[0]
        return np.asarray(softmax(logits.astype(np.float64), axis=1)[:, self._columns])


def needed_graph(folder: Path) -> bytes | Path:
    """Return the graph of `folder`/model.onnx without unneeded computation if it is a BERT, else the file's path.

    The file itself is not changed, since a registry entry may state its sha256.
    """
    import onnx

    path = folder / "model.onnx"
    if json.loads((folder / "config.json").read_text("utf-8")).get("model_type") != "bert":
        return path
    model = onnx.load(path)
    return bytes(model.SerializeToString()) if cut_to_first_token(model) else path


def require_files(folder: Path, names: Sequence[str] = FILES) -> None:
    """Refuse a folder without all files of a judge."""
    for name in names:
        if not (folder / name).is_file():
            raise EquipoiseError(f"{folder / name}: missing: a judge consists of {', '.join(FILES)}")


def task_columns(config: Path) -> tuple[Task, list[int]]:
    """Return a model's task, from the labels in its config.json, and the output index of each of the task's labels.

    Raises:
        EquipoiseError: The file is not a config, or its labels belong to no task.
    """
    try:
        labels = json.loads(config.read_text("utf-8"))["id2label"]
        names = {str(label).lower(): int(index) for index, label in labels.items()}
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise EquipoiseError(f"{config}, id2label: {NEEDED}") from error
    for task, task_labels in TASKS.items():
        if names.keys() >= {*task_labels}:
            return task, [names[label] for label in task_labels]
    raise EquipoiseError(f"{config}, id2label: {NEEDED}")


def cut_to_first_token(model: onnx.ModelProto) -> bool:
    """Restrict the last layer to the first token, in place.

    Args:
        model: A sequence classifier exported by optimum, whose pooler gathers the first of the tokens (axis 1).

    Returns:
        Whether the model was changed; it is left unchanged if its last layer is not BERT's.
    """
    from onnx import helper, numpy_helper

    graph = model.graph
    gathers = [node for node in graph.node if node.op_type == "Gather" and _axis(node) == 1]
    if len(gathers) != 1:
        return False
    pooled = gathers[0].input[0]
    back = partial(_walk_back, {output: node for node in graph.node for output in node.output}, pooled)
    # Backwards from the pooler: norm, (dense + hidden), norm, (attention's projection + the layer's input).
    layer = ("LayerNormalization", "Add", "LayerNormalization", "Add")
    try:
        residual = back(*layer)
        layer_input = back(*layer, "LayerNormalization")
        projection = back(*layer, "Add", "MatMul")
        merged = back(*layer, "Add", "MatMul", "Reshape")
    except StopIteration:
        return False
    ends = ["first_token.start", "first_token.end"]
    graph.initializer.extend(numpy_helper.from_array(np.array([end]), name) for end, name in enumerate(ends))
    for source, name, user in ((merged.output[0], MERGED, projection), (layer_input.output[0], HIDDEN, residual)):
        user.input[:] = [name if tensor == source else tensor for tensor in user.input]
        # Tokens are axis 1, and the second of the ends happens to have that value.
        cut = helper.make_node("Slice", [source, *ends, ends[1]], [name], name=name)
        graph.node.insert(list(graph.node).index(projection), cut)
    return True


def _axis(node: onnx.NodeProto) -> int:
    """Return a node's axis; 0 if it has none."""
    return next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)


def _walk_back(producer: Mapping[str, onnx.NodeProto], name: str, *operators: str) -> onnx.NodeProto:
    """Walk from a tensor back through the named operators, nearest first, and return the last node.

    `producer` is the node of each tensor; raises StopIteration if no such node precedes.
    """
    names = [name]
    for operator in operators:
        producers = (producer[x] for x in names if x in producer)
        node = next(x for x in producers if x.op_type == operator)
        names = list(node.input)
    return node
