from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper

from equipoise.judge.first_token import first_token_only
from equipoise.judge.model import NliJudge

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ASKED = [
    (f"{who} has {what}.", f"The patient is {guess}.")
    for who in ("A young woman", "The homeless patient", "A Black student who lives in a hostel")
    for what in ("chest pain", "been low in mood since the birth of her second child in March")
    for guess in ("ill", "homeless", "in pain and short of breath")
]


def test_shipped_judge_is_cut_and_no_bit_changes(judge: NliJudge, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge that ships is cut when it is opened, and gives bit for bit what its whole graph gives."""
    weights = root / "judge/weights"
    monkeypatch.setattr("equipoise.judge.model.needed_graph", lambda folder: folder / "model.onnx")
    whole = NliJudge(weights, max_tokens=512)

    assert first_token_only(onnx.load(weights / "model.onnx"))
    np.testing.assert_array_equal(whole.probabilities(ASKED), judge.probabilities(ASKED))


def test_only_the_last_layer_is_cut(root: Path) -> None:
    """Of six layers the sixth one's projection and residual see one token, and the valid graph gains two slices."""
    model = onnx.load(root / "judge/weights/model.onnx")
    before = {node.output[0]: list(node.input) for node in model.graph.node}

    assert first_token_only(model)
    onnx.checker.check_model(model)
    assert {"first_token.attended", "first_token.hidden"} == {
        node.output[0] for node in model.graph.node
    } - before.keys()
    changed = [one.name for one in model.graph.node if list(one.input) != before.get(one.output[0], list(one.input))]
    assert changed == [
        "/bert/encoder/layer.5/attention/output/dense/MatMul",
        "/bert/encoder/layer.5/attention/output/Add",
    ]


def test_graph_that_is_cut_is_left(root: Path) -> None:
    """A graph that is cut already has nothing left to cut."""
    model = onnx.load(root / "judge/weights/model.onnx")
    first_token_only(model)
    once = model.SerializeToString()

    assert not first_token_only(model)
    assert once == model.SerializeToString()


def test_other_graph_is_left() -> None:
    """A graph that gathers the first token, but of no layer that is BERT's, stays as it is."""
    nodes = [
        helper.make_node("Relu", ["x"], ["hidden"]),
        helper.make_node("Gather", ["hidden", "first"], ["y"], axis=1),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    first = helper.make_tensor("first", TensorProto.INT64, [], [0])
    model = helper.make_model(helper.make_graph(nodes, "other", ends[:1], ends[1:], [first]))
    before = model.SerializeToString()

    assert not first_token_only(model)
    assert before == model.SerializeToString()
