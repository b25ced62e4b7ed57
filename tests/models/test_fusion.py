from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from equipoise.core.errors import EquipoiseError
from equipoise.models import fusion
from equipoise.models.export import export
from equipoise.models.fusion import fuse_attention, obstacle

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Exported


def graph(*operators: str, outputs: tuple[str, ...] = ("logits",)) -> onnx.ModelProto:
    """Build a model that puts its input through operators, one after another; any further output is unmade."""
    names = ["x", *(f"t{number}" for number in range(len(operators) - 1)), "logits"]
    nodes = [
        helper.make_node(operator, [before], [after])
        for operator, before, after in zip(operators, names[:-1], names[1:], strict=True)
    ]
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("x", *outputs)}
    return helper.make_model(helper.make_graph(nodes, "g", [values["x"]], [values[name] for name in outputs]))


@pytest.mark.parametrize(
    "model",
    [
        graph("Relu", "Tanh"),
        graph("Relu", "Softmax", "Tanh"),
        graph("Relu", "Softmax", "Tanh", outputs=("logits", "present.0.key", "present.0.value")),
        graph("Relu", "Tanh", outputs=("logits", "present.0.key", "present.0.value")),
    ],
    ids=["no attention", "softmax without keys", "softmax of another kind", "keys without softmax"],
)
def test_a_graph_without_rotary_attention_is_refused(model: onnx.ModelProto) -> None:
    """A graph of another kind is refused in one line, not fused in part."""
    table = np.zeros((8, 4), np.float32)

    with pytest.raises(EquipoiseError, match=r"^the exported graph has no rotary, causal attention to fuse: [^\n]+$"):
        fuse_attention(model, heads=2, kv_heads=1, scale=0.5, cos=table, sin=table)


def test_every_layer_has_one_fused_attention(tiny_model: Exported) -> None:
    """The fused graph has one GroupQueryAttention a layer, no softmax and no mask, and takes the rows' lengths."""
    folder = tiny_model.store / tiny_model.manifest.folder
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    operators = Counter(node.op_type for node in model.graph.node)

    # The tiny model has two layers; each gives its keys and values.
    past = [f"past_key_values.{layer}.{part}" for layer in (0, 1) for part in ("key", "value")]
    present = [f"present.{layer}.{part}" for layer in (0, 1) for part in ("key", "value")]
    assert (operators["GroupQueryAttention"], operators["Softmax"]) == (2, 0)
    assert {"input_ids", *past, "seqlens_k", "total_sequence_length", "logit_index"} == {
        value.name for value in model.graph.input
    }
    assert ["logits", *present] == [value.name for value in model.graph.output]


def test_after_the_last_attention_picked_positions_alone_go_on(tiny_model: Exported) -> None:
    """Of the last layer, the attention's output and what it is added to are picked from; the logits are not."""
    folder = tiny_model.store / tiny_model.manifest.folder
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    picking = [node for node in model.graph.node if node.op_type == "GatherND"]

    assert {node.input[1] for node in picking} == {"logit_index"}
    # The tiny model's second and last layer is layer 1; its attention reads the same hidden states that it is added to.
    attended, hidden = sorted((node.input[0] for node in picking), key=lambda name: name != "attention.1")
    assert attended == "attention.1"
    assert any(hidden in node.input for node in model.graph.node if node.op_type != "GatherND")
    assert not any(attended in node.input for node in model.graph.node if node.op_type != "GatherND")


def test_what_works_on_all_tokens_together_is_left_whole(
    tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an operator after the last attention is not known to work token by token, the logits alone are picked."""
    monkeypatch.setattr(fusion, "TOKENWISE", fusion.TOKENWISE - {"Sigmoid"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = export("tiny", tiny_model.entry, tiny_model.store.parent, tmp_path, ["Which vitamin prevents scurvy?"])
    graph = onnx.load(tmp_path / str(made.folder) / "model.onnx", load_external_data=False).graph
    (picking,) = [node for node in graph.node if node.op_type == "GatherND"]
    (projection,) = [node for node in graph.node if picking.output[0] in node.input]

    assert list(projection.output) == ["logits"]
    assert (made.fidelity.letters, made.fidelity.tokens) == (1.0, 1.0)


def test_nothing_is_kept_that_no_output_needs(tiny_model: Exported) -> None:
    """Every node comes after what it reads, and every node, input and initializer serves an output."""
    folder = tiny_model.store / tiny_model.manifest.folder
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    known = {value.name for value in (*model.graph.input, *model.graph.initializer)}
    read = {value.name for value in model.graph.output}
    for node in model.graph.node:
        assert {name for name in node.input if name} <= known
        known |= set(node.output)
        read |= set(node.input)

    assert all(set(node.output) & read for node in model.graph.node)
    assert {value.name for value in (*model.graph.input, *model.graph.initializer)} <= read


SIZES = {"hidden_size": 64, "num_attention_heads": 4}


@pytest.mark.parametrize(
    ("kind", "change", "found"),
    [
        ("llama", {}, None),
        # Tables of the rotation that are the same for a text of any length are written into the graph.
        ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, None),
        ("llama", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "rotates by the length of the text"),
        ("mistral", {"sliding_window": 1024}, None),
        ("mistral", {"sliding_window": 1023}, "attends to windows of 1023 tokens"),
        ("qwen2", {"sliding_window": 16}, None),
        (
            "qwen2",
            {"sliding_window": 16, "use_sliding_window": True, "max_window_layers": 1},
            "attends to windows of 16",
        ),
        ("qwen3", {"head_dim": 16}, None),
        ("qwen3", {"head_dim": 24}, "has heads of 24, not a multiple of 16"),
        ("gpt_oss", {"head_dim": 16}, "attends to windows of 128 tokens"),
        ("phi", {}, "rotates a part of each head"),
    ],
)
def test_what_the_fused_attention_cannot_hold_is_known_beforehand(
    kind: str, change: dict[str, Any], found: str | None
) -> None:
    """Windows shorter than the longest text, rotations by its length or of a part, and odd heads are named."""
    from transformers import AutoConfig

    told = obstacle(AutoConfig.for_model(kind, **SIZES, **change), max_length=1024)
    assert told is None if found is None else found in (told or "")
