"""Convert a judge's ONNX file back to a checkpoint, so that training can continue from the file in Git."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.judge.model import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    import onnx
    from numpy.typing import NDArray

WORDS = "bert.embeddings.word_embeddings.weight"
"""The table of word pieces, with a row for each entry of the vocabulary."""


def restore(file: Path, base: Path, checkpoint: Path, labels: Sequence[str] = LABELS) -> None:
    """Write the model of an ONNX file made by `export.ship` to a folder in the transformers layout.

    int8 weights are converted to float32: the checkpoint computes what the file computes, not what the original
    checkpoint did. `base` has the architecture, the tokenizer and the word pieces that the export removed; `labels` are
    those of the task.

    Raises:
        EquipoiseError: The file lacks a weight of that architecture.
    """
    import onnx
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    places = dict(enumerate(labels))
    model = AutoModelForSequenceClassification.from_pretrained(
        base, id2label=places, label2id={label: place for place, label in places.items()}
    )
    stored = weights(onnx.load(file))
    expected = model.state_dict()
    tokenizer = AutoTokenizer.from_pretrained(base)
    pieces = tokenizer.get_vocab()
    vocabulary = json.loads(file.with_name("tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    rows = [pieces.get(piece) for piece in vocabulary]
    if None not in rows and len(stored.get(WORDS, ())) == len(rows):
        table = expected[WORDS].numpy().copy()
        table[rows] = stored[WORDS]
        stored[WORDS] = table
    missing = sorted(
        name for name, value in expected.items() if stored.get(name, value[:0]).shape != tuple(value.shape)
    )
    if missing:
        message = f"{file}: has no weight {missing[0]} of the shape that {base} asks for: take a judge made from it"
        raise EquipoiseError(message)
    model.load_state_dict({name: torch.from_numpy(stored[name].copy()) for name in expected})
    model.save_pretrained(checkpoint)
    tokenizer.save_pretrained(checkpoint)


def weights(model: onnx.ModelProto) -> dict[str, NDArray[np.float32]]:
    """Return the float32 weights of an exported judge, by their names in the checkpoint.

    An export keeps the names of vectors and embeddings; a matrix is stored transposed, under a number, and identified
    by the node that multiplies with it (`/bert/encoder/layer.0/…/query/MatMul`).
    """
    import numpy as np
    from onnx import numpy_helper

    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in stored:
            axis = next(attribute.i for attribute in node.attribute if attribute.name == "axis")
            scale = np.expand_dims(stored[node.input[1]], 1 - axis)
            stored[node.output[0]] = stored[node.input[0]].astype(np.float32) * scale
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in stored:
            owner = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            stored[f"{owner}.weight"] = stored[node.input[1]].T
    return stored
