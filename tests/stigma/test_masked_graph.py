from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from equipoise.core.errors import EquipoiseError
from equipoise.stigma.masked_graph import at_the_mask


def model(head: str = "/lm_head/dense/MatMul") -> onnx.ModelProto:
    """A graph whose hidden state of a token is (id, 1) and whose head multiplies it by [[1, 0, 2], [0, 10, 1]]."""
    weights = helper.make_tensor("weights", TensorProto.FLOAT, [2, 3], [1, 0, 2, 0, 10, 1])
    last = helper.make_tensor("last", TensorProto.INT64, [1], [-1])
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["number", "last"], ["column"]),
        helper.make_node("Div", ["column", "column"], ["one"]),
        helper.make_node("Concat", ["column", "one"], ["hidden"], axis=-1),
        helper.make_node("MatMul", ["hidden", "weights"], ["logits"], name=head),
    ]
    shape = ["batch", "tokens"]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*shape, 3])],
        [weights, last],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_the_head_sees_the_mask_alone() -> None:
    """The graph gives the logits at the mask, wherever in its sentence it stands."""
    cut = at_the_mask(model(), mask=4)
    onnx.checker.check_model(cut, full_check=True)
    session = onnxruntime.InferenceSession(cut.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"input_ids": np.array([[4, 7, 7], [7, 7, 4]])})

    # (4, 1) @ [[1, 0, 2], [0, 10, 1]] = (4, 10, 9), whatever stands around it.
    np.testing.assert_array_equal(found, [[4, 10, 9], [4, 10, 9]])


def test_the_graph_that_is_given_stays_as_it_is() -> None:
    """The rewrite works on a copy."""
    given = model()
    at_the_mask(given, mask=4)

    assert given == model()


def test_a_graph_without_a_head_is_refused() -> None:
    """A graph whose head is not where it is looked for is refused with the mend."""
    with pytest.raises(EquipoiseError, match="no lm_head: set `runtime: torch`"):
        at_the_mask(model(head="/cls/MatMul"), mask=4)
