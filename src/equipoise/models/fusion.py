"""Replace the exported graph's softmax attention with ONNX Runtime's GroupQueryAttention.

The fused operator reads each row's own length, so a row's result does not depend, bit for bit, on the rest of its
batch; and it writes keys and values into a buffer of the caller, instead of a longer copy at every step. The graph
returns logits only at `logit_index`, and after the last attention, beyond which tokens do not interact, continues with
those positions only. Reference: ONNX Runtime contrib operators, com.microsoft.GroupQueryAttention.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    import numpy as np
    import onnx
    from numpy.typing import NDArray
    from transformers import PretrainedConfig

DOMAIN = "com.microsoft"
HEAD_STEP = 16
"""The fused operator requires head sizes that are a multiple of this."""
TOKENWISE = frozenset(
    {"Add", "Cast", "Div", "Erf", "Gelu", "MatMul", "Mul", "Neg", "Pow", "Reciprocal", "ReduceMean", "Relu", "Sigmoid"}
    | {"Sqrt", "Sub", "Tanh"}
)
"""Operators that, as decoders use them after the attention, compute each token separately."""
ELSEWHERE = "set backend: torch in its registry entry"


def obstacle(config: PretrainedConfig, max_length: int) -> str | None:
    """Return a clause about the decoder's property that the fused operator does not support; None if there is none.

    Properties that depend on the length of a text must be detected here: a comparison on short probes misses them.
    """
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    window = getattr(config, "sliding_window", None) or getattr(config, "attention_chunk_size", None)
    layers = set(getattr(config, "layer_types", None) or ["windowed"])
    scaling = getattr(config, "rope_scaling", None) or {}
    rotation = scaling.get("rope_type", scaling.get("type"))
    if window and window < max_length and layers != {"full_attention"}:
        return f"attends to windows of {window} tokens"
    if rotation in ("dynamic", "longrope"):
        return f"rotates by the length of the text (rope_type {rotation})"
    if getattr(config, "partial_rotary_factor", 1.0) not in (None, 1.0):
        return "rotates a part of each head"
    if size % HEAD_STEP:
        return f"has heads of {size}, not a multiple of {HEAD_STEP}"
    return None


class Graph:
    """The graph's nodes, by the tensors that they produce and consume."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        """Index the nodes of a graph."""
        self.producer = {output: node for node in graph.node for output in node.output}
        self.consumers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in graph.node:
            for name in node.input:
                self.consumers[name].append(node)

    def walk_back(self, name: str, *operators: str) -> onnx.NodeProto:
        """Walk from a tensor back through the named operators, nearest first, and return the last node."""
        names = [name]
        for operator in operators:
            producers = (self.producer[x] for x in names if x in self.producer)
            node: onnx.NodeProto = next(x for x in producers if x.op_type == operator)
            names = list(node.input)
        return node

    def descendants(self, name: str) -> list[onnx.NodeProto]:
        """List all nodes that depend on a tensor."""
        nodes: dict[str, onnx.NodeProto] = {}
        names = [name]
        while names:
            for node in self.consumers[names.pop()]:
                if node.output[0] not in nodes:
                    nodes[node.output[0]] = node
                    names += node.output
        return list(nodes.values())

    def walk_forward(self, name: str, *operators: str) -> onnx.NodeProto:
        """Walk from a tensor to the first consumer of each named operator in turn, and return the last node."""
        for operator in operators:
            node = next(x for x in self.consumers[name] if x.op_type == operator)
            name = node.output[0]
        return node


def fuse_attention(
    model: onnx.ModelProto,
    *,
    heads: int,
    kv_heads: int,
    scale: float,
    cos: NDArray[np.float32],
    sin: NDArray[np.float32],
) -> onnx.ModelProto:
    """Fuse the attention of a decoder that optimum exported with past keys and values, in place.

    `cos` and `sin` are the rotary tables, shape (positions, head size / 2). Inputs of the result: input_ids (batch,
    tokens), past_key_values.* (batch, kv heads, capacity, head size), seqlens_k (batch; the row's length after this
    step, minus one), total_sequence_length (scalar; the longest of them), logit_index (picked, 2: row, token).
    Outputs: logits (picked, vocabulary) and present.*. Raises EquipoiseError if the graph's attention is not rotary and
    causal.
    """
    import numpy as np
    from onnx import helper, numpy_helper

    graph = model.graph
    view = Graph(graph)
    tables: dict[str, NDArray[Any]] = {"rotary.cos": cos, "rotary.sin": sin, "flat": np.array([0, 0, -1], np.int64)}
    graph.initializer.extend(numpy_helper.from_array(table, name) for name, table in tables.items())
    added: list[onnx.NodeProto] = []
    replaced: dict[str, str] = {}
    softmaxes = [node for node in graph.node if node.op_type == "Softmax"]
    refusal = f"the exported graph has no rotary, causal attention to fuse: {ELSEWHERE}"
    caches = sum(output.name.startswith("present.") for output in graph.output)  # keys and values of each layer
    if not softmaxes or 2 * len(softmaxes) != caches:
        raise EquipoiseError(refusal)
    try:
        for layer, softmax in enumerate(softmaxes):
            key, value = view.producer[f"present.{layer}.key"], view.producer[f"present.{layer}.value"]
            query = view.walk_back(softmax.input[0], "Add", "MatMul", "Mul", "Add", "Mul", "Transpose").input[0]
            parts = {
                "query": query,
                "key": view.walk_back(key.input[1], "Add", "Mul", "Transpose").input[0],
                "value": view.walk_back(value.input[1], "Transpose").input[0],
            }
            for part, source in parts.items():
                added.append(helper.make_node("Reshape", [source, "flat"], [f"attention.{layer}.{part}"]))
            past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
            lengths = ["seqlens_k", "total_sequence_length", "rotary.cos", "rotary.sin"]
            added.append(
                helper.make_node(
                    "GroupQueryAttention",
                    [*(f"attention.{layer}.{part}" for part in parts), *past, *lengths],
                    [f"attention.{layer}", *key.output, *value.output],
                    name=f"attention.{layer}",
                    domain=DOMAIN,
                    num_heads=heads,
                    kv_num_heads=kv_heads,
                    scale=scale,
                    do_rotary=1,
                )
            )
            replaced[_attention_output(view, softmax)] = f"attention.{layer}"
            key.output[0], value.output[0] = f"unfused.{layer}.key", f"unfused.{layer}.value"
        _pick(view, _attention_output(view, softmaxes[-1]), f"attention.{len(softmaxes) - 1}", added)
    except (KeyError, StopIteration, IndexError) as error:
        raise EquipoiseError(refusal) from error
    for node in graph.node:
        node.input[:] = [replaced.get(name, name) for name in node.input]
    _rebuild(model, [*graph.node, *added])
    return model


def _attention_output(view: Graph, softmax: onnx.NodeProto) -> str:
    """Return the name of the attention's output tensor (batch, tokens, heads x head size), before its projection."""
    name = softmax.output[0]
    # torch's export may guard softmax against rows with nothing to attend to; such a guard is skipped.
    if any(node.op_type == "Where" for node in view.consumers[name]):
        name = view.walk_forward(name, "Where").output[0]
    return str(view.walk_forward(name, "MatMul", "Transpose", "Reshape").output[0])


def _pick(view: Graph, attended: str, fused: str, added: list[onnx.NodeProto]) -> None:
    """Restrict all nodes after the last attention to the positions that `logit_index` picks.

    `attended` is that attention's output, and `fused` its replacement. The following nodes read one more tensor, the
    hidden states to which the attention is added; if they read others, or do not work token by token, only the
    vocabulary projection is restricted.
    """
    from onnx import helper

    hidden = {node.output[0] for node in view.descendants("input_ids")}
    following = view.descendants(attended)
    streams = {name for node in following for name in node.input} & hidden - {node.output[0] for node in following}
    if len(streams) != 2 or any(node.op_type not in TOKENWISE for node in following):  # noqa: PLR2004
        following = [view.producer["logits"]]
        streams = {following[0].input[0]}
    for name in sorted(streams):
        source = fused if name == attended else name
        added.append(helper.make_node("GatherND", [source, "logit_index"], [f"picked.{name}"]))
    for node in following:
        node.input[:] = [f"picked.{name}" if name in streams else name for name in node.input]


def _rebuild(model: onnx.ModelProto, nodes: list[onnx.NodeProto]) -> None:
    """Sort the nodes that the outputs need topologically, and drop every other node, input and initializer."""
    from onnx import TensorProto, helper

    graph = model.graph
    producer = {output: node for node in nodes for output in node.output}
    order: list[onnx.NodeProto] = []
    seen: set[str] = set()
    stack: list[tuple[str, bool]] = [(output.name, False) for output in reversed(graph.output)]
    while stack:
        name, ready = stack.pop()
        node = producer.get(name)
        if node is None or (not ready and node.output[0] in seen):
            continue
        if ready:
            order.append(node)
            continue
        seen.add(node.output[0])
        stack.append((node.output[0], True))
        stack.extend((x, False) for x in reversed(node.input))
    used = {name for node in order for name in node.input}
    lengths: list[tuple[str, int, list[Any]]] = [
        ("seqlens_k", TensorProto.INT32, ["batch_size"]),
        ("total_sequence_length", TensorProto.INT32, []),
        ("logit_index", TensorProto.INT64, ["picked", 2]),
    ]
    inputs = [*(x for x in graph.input if x.name in used), *(helper.make_tensor_value_info(*x) for x in lengths)]
    initializers = [x for x in graph.initializer if x.name in used]
    vocabulary = graph.output[0].type.tensor_type.shape.dim[-1].dim_value
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["picked", vocabulary])
    outputs = [logits, *(x for x in graph.output if x.name != "logits")]
    for field, content in (("node", order), ("input", inputs), ("initializer", initializers), ("output", outputs)):
        graph.ClearField(field)
        getattr(graph, field).extend(content)
    graph.ClearField("value_info")
    if all(opset.domain != DOMAIN for opset in model.opset_import):
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
