"""An exported masked model that computes its vocabulary at the mask alone.

Exported as it is, the graph multiplies every position by the whole vocabulary, which for a base-sized model is about a
third of the work, and one position of each sentence is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    import onnx

IDS, LOGITS = "input_ids", "logits"
HEAD = "/lm_head/"
"""What the names of the nodes of the head that predicts words begin with."""


def at_the_mask(model: onnx.ModelProto, mask: int) -> onnx.ModelProto:
    """Give the graph with logits of shape (batch, vocabulary), those at the token `mask`; the input is not changed.

    Raises:
        EquipoiseError: the graph has no head of the kind that transformers' RoBERTa models have.
    """
    import onnx
    from onnx import TensorProto, helper

    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    graph = cut.graph
    place, first = next(
        (
            (place, node)
            for place, node in enumerate(graph.node)
            if node.op_type == "MatMul" and node.name.startswith(HEAD)
        ),
        (0, None),
    )
    if first is None or [output.name for output in graph.output] != [LOGITS]:
        message = "the exported graph has no lm_head: set `runtime: torch` in the model's registry entry"
        raise EquipoiseError(message)
    hidden = first.input[0]
    # Equal, then ArgMax: the position of the mask; GatherND with a batch axis takes that position of each sentence.
    added = [
        helper.make_node("Constant", [], ["mask.id"], value=helper.make_tensor("id", TensorProto.INT64, [], [mask])),
        helper.make_node("Equal", [IDS, "mask.id"], ["mask.here"]),
        helper.make_node("Cast", ["mask.here"], ["mask.flags"], to=TensorProto.INT32),
        helper.make_node("ArgMax", ["mask.flags"], ["mask.position"], axis=1, keepdims=1),
        helper.make_node("GatherND", [hidden, "mask.position"], ["mask.hidden"], batch_dims=1),
    ]
    first.input[0] = "mask.hidden"
    for offset, node in enumerate(added):
        graph.node.insert(place + offset, node)
    # Shapes noted for the whole sentence hold no longer.
    del graph.value_info[:]
    del graph.output[0].type.tensor_type.shape.dim[1]
    return cut
