"""The last layer of a BERT classifier computed for its first token only: the pooler reads no other.

What is left out is the attention's output projection and the feed-forward part of every other token: 9 of the 12 parts
of a layer, hence an eighth of a judge of six layers. The first token's sums are the same sums in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

MERGED = "first_token.attended"
HIDDEN = "first_token.hidden"


def first_token_only(model: onnx.ModelProto) -> bool:
    """Cut the last layer down to the first token; the model is changed in place.

    Args:
        model: a sequence classifier as optimum exports it, whose pooler gathers the first of the tokens (axis 1).

    Returns:
        Whether it was done; where the last layer is not BERT's, the model is left as it was.
    """
    import numpy as np
    from onnx import helper, numpy_helper

    graph = model.graph
    producer = {output: node for node in graph.node for output in node.output}
    gathers = [node for node in graph.node if node.op_type == "Gather" and _axis(node) == 1]
    if len(gathers) != 1:
        return False
    # Backwards from the pooler: norm, (dense + hidden), norm, (attention's projection + what the layer was given).
    norms = [_made_by(producer, gathers[0].input[0], "LayerNormalization")]
    norms.append(_behind(producer, norms[0], "Add", "LayerNormalization"))
    residual = _behind(producer, norms[1], "Add")
    given = _behind(producer, residual, "LayerNormalization")
    projection = _behind(producer, residual, "Add", "MatMul")
    merged = _behind(producer, projection, "Reshape")
    if residual is None or given is None or projection is None or merged is None:
        return False
    ends = ["first_token.start", "first_token.end"]
    graph.initializer.extend(numpy_helper.from_array(np.array([end]), name) for end, name in enumerate(ends))
    for source, name, user in ((merged.output[0], MERGED, projection), (given.output[0], HIDDEN, residual)):
        user.input[:] = [name if one == source else one for one in user.input]
        # Tokens are axis 1, which the second of the ends happens to say as well.
        cut = helper.make_node("Slice", [source, *ends, ends[1]], [name], name=name)
        graph.node.insert(list(graph.node).index(projection), cut)
    return True


def _axis(node: onnx.NodeProto) -> int:
    """The axis that a node names; 0 where it names none."""
    return next((one.i for one in node.attribute if one.name == "axis"), 0)


def _made_by(producer: dict[str, onnx.NodeProto], name: str, operator: str) -> onnx.NodeProto | None:
    """The node that makes a tensor, if it is of that kind."""
    node = producer.get(name)
    return node if node is not None and node.op_type == operator else None


def _behind(producer: dict[str, onnx.NodeProto], node: onnx.NodeProto | None, *operators: str) -> onnx.NodeProto | None:
    """Walk back from a node through the named operators, to the last; None where the graph does not go that way."""
    for operator in operators:
        made = [_made_by(producer, name, operator) for name in (node.input if node is not None else [])]
        node = next((one for one in made if one is not None), None)
    return node
