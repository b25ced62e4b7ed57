"""Build the ONNX graph of a decoder with ONNX Runtime GenAI's model builder, and adapt it to our engine.

The builder writes each layer's attention as one GroupQueryAttention, which reads each row's own length, so that a row's
result does not depend, bit for bit, on the rest of its batch; and which writes keys and values into a buffer of the
caller. Four changes follow: rows have lengths instead of a mask (`take_lengths`), texts may fork (`take_forks`), logits
are computed only at `logit_index` (`pick`), and weights published in blocks of 4 bits may stay in them (`keep_blocks`).
Reference: ONNX Runtime contrib operators, com.microsoft.GroupQueryAttention and MatMulNBits.
"""

from __future__ import annotations

import importlib.util
import io
import logging
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.models.engine import BIAS, GRAPH, PAIRS, PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    import onnx_ir as ir
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

PACKAGE = "onnxruntime_genai"
ATTENTION = "GroupQueryAttention"
CONTRIB = "com.microsoft"
TOKENWISE = frozenset(
    {"Add", "Cast", "Div", "Erf", "Gelu", "Identity", "LayerNormalization", "MatMul", "Mul", "Neg", "Pow", "Reciprocal"}
    | {"ReduceMean", "Relu", "Sigmoid", "SimplifiedLayerNormalization", "SkipLayerNormalization"}
    | {"SkipSimplifiedLayerNormalization", "Sqrt", "Sub", "Tanh"}
)
"""Operators that, as decoders use them after the attention, compute each token separately."""
HEAD_STEP = 16
"""The fused operator requires head sizes that are a multiple of this."""
ELSEWHERE = "set backend: torch in its registry entry"
BLOCK = 32
"""Weights of a block, which share a scale and an offset."""
INLINE = 1024
"""Fewest bytes of a tensor stored beside the graph; ONNX Runtime must read shapes before it opens that file."""
LEVEL = 1
"""MatMulNBits' accuracy level: activations stay in float32 (4 would round a block's activations to 8 bits)."""


class Blocks(NamedTuple):
    """A weight (outputs, inputs) in blocks of 32 inputs: weight = scale x (code - 8) + offset.

    `codes` (outputs, blocks, 16) holds two codes of 4 bits a byte, the first in the low half; `scales` and `offsets`
    have shape (outputs, blocks), and offsets are None if they are all 0.
    """

    codes: NDArray[np.uint8]
    scales: NDArray[np.float32]
    offsets: NDArray[np.float32] | None


def obstacle(model: PreTrainedModel) -> str | None:
    """Return a clause about the model's property that the graph cannot have; None if there is none.

    Rotations that depend on the length of the whole text change the keys of tokens already read.
    """
    config = model.config.get_text_config()
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    scaling = getattr(config, "rope_scaling", None) or {}
    rotation = scaling.get("rope_type", scaling.get("type"))
    if rotation in ("dynamic", "longrope"):
        return f"rotates by the length of the text (rope_type {rotation})"
    if size % HEAD_STEP:
        return f"has heads of {size}, not a multiple of {HEAD_STEP}"
    return None


def write(model: PreTrainedModel, folder: Path, blocks: Mapping[str, Blocks] | None = None) -> int:
    """Write a model's configuration, graph and weights to a folder that has its tokenizer.

    Inputs of the graph: input_ids (batch, tokens), past_key_values.* (batch, kv heads, capacity, head size), seqlens_k
    (batch; the row's length after this step, minus one), total_sequence_length (scalar; the longest of them),
    logit_index (picked, 2: row, token), and unless a layer has a window, position_ids (batch, tokens) and
    attention_bias (1, 1, tokens, the longest length). Outputs: logits (picked, vocabulary) and present.*. `blocks` are
    weights, by the name of their layer, that stay in blocks. Returns the version of the graph's operator set.

    Raises:
        EquipoiseError: The builder does not know the architecture, or the graph is not a causal decoder's.
    """
    import onnx_ir as ir
    from onnx_ir.passes import common

    # A checkpoint in GGUF names no class, which the builder requires, and a format in which the graph is not.
    model.config.architectures = [type(model).__name__]
    vars(model.config).pop("quantization_config", None)
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    graph = build(model, folder, fuse=not blocks)
    take_lengths(graph.graph)
    take_forks(graph.graph)
    require_windows(graph.graph, model)
    pick(graph.graph)
    if blocks:
        keep_blocks(graph, blocks)
    common.RemoveUnusedNodesPass()(graph)
    graph.graph.sort()
    ir.save(graph, folder / GRAPH, external_data=f"{GRAPH}.data", size_threshold_bytes=INLINE)
    return graph.graph.opset_imports[""]


def build(model: PreTrainedModel, folder: Path, *, fuse: bool) -> ir.Model:
    """Build the graph of a loaded model in float32; with `fuse`, queries, keys and values are one product.

    The builder reads configuration and tokenizer from `folder`, and would load the weights from there a second time.
    """
    options = [] if fuse else ["disable_qkv_fusion=true"]
    place = str(folder)
    with _lending(model) as (builder, built), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            extra = builder.parse_extra_options(place, place, place, "fp32", "cpu", place, options)
            builder.create_model(place, place, place, "fp32", "cpu", place, **extra)
        except _Built:
            pass
        except Exception as error:
            # The builder raises whatever it runs into.
            message = f"a {model.config.model_type} model cannot be exported to ONNX ({one_line(error)}): {ELSEWHERE}"
            raise EquipoiseError(message) from error
    graph: ir.Model = built[0]
    return graph


class _Built(Exception):  # noqa: N818  (no error: it ends the builder's work)
    """The graph is complete; what the builder writes after it is not needed."""


@contextmanager
def _lending(model: PreTrainedModel) -> Iterator[tuple[Any, list[Any]]]:
    """Lend the builder a model that is in memory, and take the graph before it is written."""
    with _own_modules() as (builder, base):
        built: list[Any] = []

        def take(self: Any, _: str) -> None:  # noqa: ANN401
            built.append(self.model)
            raise _Built

        base.Model.load_weights, base.Model.save_model = lambda *_: model, take
        yield builder, built


@contextmanager
def _own_modules() -> Iterator[tuple[ModuleType, ModuleType]]:
    """Import the builder and the base of its models for the time of the context.

    It is a program, whose modules have names such as `builders`: others of these names are put aside meanwhile. What it
    imports also sets up logging for everyone, which is undone.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise EquipoiseError(f"{PACKAGE} is not installed: run `pip install 'equipoise[run]'`")
    folder = Path(spec.origin).parent / "models"
    names = {path.stem for path in folder.iterdir()}

    def aside() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names}

    others = aside()
    log = logging.getLogger()
    handlers, level = [*log.handlers], log.level
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("builder"), importlib.import_module("builders.base")
    finally:
        log.handlers[:] = handlers
        log.setLevel(level)
        sys.path.remove(str(folder))
        aside()
        sys.modules.update(others)


def require_windows(graph: ir.Graph, model: PreTrainedModel) -> None:
    """Refuse a graph whose layers attend to other windows than the model's: short probes would not show it."""
    config = model.config.get_text_config()
    attentions = [node for node in graph if node.op_type == ATTENTION]
    window = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None)
    kinds = kinds or ["sliding_attention" if window else "full_attention"] * len(attentions)
    expected = [{"sliding_attention": window, "full_attention": -1}.get(kind) for kind in kinds]
    windows = [node.attributes["local_window_size"].value for node in attentions]
    if windows != expected:
        reason = f"windows of {windows} tokens by layer, where the model has {expected}"
        raise EquipoiseError(f"the exported graph of a {model.config.model_type} model has {reason}: {ELSEWHERE}")


def take_lengths(graph: ir.Graph) -> None:
    """Give the attention the rows' lengths as inputs of the graph, where the builder computes them from a mask."""
    import onnx_ir as ir

    attentions = [node for node in graph if node.op_type == ATTENTION]
    if not attentions:
        raise EquipoiseError(f"the exported graph has no {ATTENTION}: {ELSEWHERE}")
    for index, name, shape in ((5, "seqlens_k", ["batch_size"]), (6, "total_sequence_length", [])):
        value = ir.val(name, ir.DataType.INT32, shape)
        graph.inputs.append(value)
        ir.convenience.replace_all_uses_with(_read(attentions[0], index), value)
    for value in [value for value in graph.inputs if value.name in ("attention_mask", "position_ids")]:
        graph.inputs.remove(value)


def take_forks(graph: ir.Graph) -> None:
    """Give the attention tokens' positions and a bias as inputs of the graph, so that a step may hold several branches.

    A bias of 0 and positions in sequence, as in every other step, leave the logits as they are, to the last bit. A
    window is counted from a token's place in the buffer, whatever its position: a graph with one has no branches.
    """
    import onnx_ir as ir

    attentions = [node for node in graph if node.op_type == ATTENTION]
    if any(node.attributes["local_window_size"].value != -1 for node in attentions):
        return
    places = ir.val(PLACES, ir.DataType.INT64, ["batch_size", "sequence_length"])
    bias = ir.val(BIAS, ir.DataType.FLOAT, [1, 1, "sequence_length", "total_length"])
    graph.inputs.extend([places, bias])
    for node in attentions:
        node.resize_inputs(max(len(node.inputs), 11))
        node.replace_input_with(9, places)
        node.replace_input_with(10, bias)


def pick(graph: ir.Graph) -> None:
    """Restrict all nodes after the last attention to the positions that the input `logit_index` picks.

    They read the attention's output and one more tensor, the hidden states to which it is added; if they read others,
    or do not work token by token, only the vocabulary projection is restricted.
    """
    import onnx_ir as ir

    last = [node for node in graph if node.op_type == ATTENTION][-1]
    logits = next(value for value in graph.outputs if value.name == "logits")
    following = _between(graph, last.outputs[0], logits)
    made = {value for node in following for value in node.outputs}
    streams = {
        value
        for node in following
        for value in node.inputs
        if value is not None and value not in made and value.const_value is None and value.producer() is not None
    }
    if len(streams) != 2 or any(node.op_type not in TOKENWISE for node in following):  # noqa: PLR2004
        following = [_maker(logits)]
        streams = {_read(following[0], 0)}
    index = ir.val("logit_index", ir.DataType.INT64, ["picked", 2])
    graph.inputs.append(index)
    for number, value in enumerate(sorted(streams, key=lambda value: str(value.name))):
        gather = ir.node("GatherND", [value, index])
        gather.outputs[0].name = f"picked.{number}"
        graph.insert_before(following[0], gather)
        for node in following:
            for place, source in enumerate(node.inputs):
                if source is value:
                    node.replace_input_with(place, gather.outputs[0])
    logits.shape = ir.Shape(["picked", logits.shape[-1]]) if logits.shape else None


def _between(graph: ir.Graph, source: ir.Value, target: ir.Value) -> list[ir.Node]:
    """List the nodes that depend on one value and on which another depends, in the graph's order."""
    after: set[ir.Node] = set()
    values = [source]
    while values:
        for user in values.pop().uses():
            if user.node not in after:
                after.add(user.node)
                values += user.node.outputs
    before: set[ir.Node] = set()
    values = [target]
    while values:
        node = values.pop().producer()
        if node in after and node not in before:
            before.add(node)
            values += [value for value in node.inputs if value is not None]
    return [node for node in graph if node in before]


def _maker(value: ir.Value) -> ir.Node:
    """Return the node that computes a value."""
    node = value.producer()
    if node is None:
        raise EquipoiseError(f"the exported graph computes no {value.name}: {ELSEWHERE}")
    return node


def _read(node: ir.Node, place: int) -> ir.Value:
    """Return the value that a node reads at a place."""
    value = node.inputs[place]
    if value is None:
        raise EquipoiseError(f"the exported graph's {node.op_type} reads no input {place}: {ELSEWHERE}")
    return value


def keep_blocks(model: ir.Model, blocks: Mapping[str, Blocks]) -> None:
    """Compute products with weights in blocks from the blocks: x W = MatMulNBits(x) + (sums of x by block) offsets.

    At one token of one row MatMulNBits uses another kernel, whose sums have other last bits; the graph's metadata asks
    the engine never to run a single token (`equipoise.models.engine.PAIRS`).
    """
    import onnx_ir as ir

    graph = model.graph
    model.metadata_props[PAIRS] = "true"
    sums: dict[ir.Value, ir.Value] = {}
    for node in [node for node in graph if node.op_type == "MatMul"]:
        name = str(_read(node, 1).name).removesuffix(".MatMul.weight")
        if name not in blocks:
            continue
        block, hidden = blocks[name], _read(node, 0)
        outputs, groups, _ = block.codes.shape
        values = [_constant(graph, f"{name}.codes", block.codes), _constant(graph, f"{name}.scales", block.scales)]
        sizes = {"K": groups * BLOCK, "N": outputs, "bits": 4, "block_size": BLOCK, "accuracy_level": LEVEL}
        product = ir.node("MatMulNBits", [hidden, *values], sizes, domain=CONTRIB)
        nodes, result = [product], product
        if block.offsets is not None:
            if hidden not in sums:
                # As a product, since the activations have one dimension less where positions are picked.
                members = np.eye(groups, dtype=np.float32).repeat(BLOCK, axis=0)
                nodes.append(ir.node("MatMul", [hidden, _constant(graph, f"blocks.{groups}", members)]))
                sums[hidden] = nodes[-1].outputs[0]
            offset = ir.node("MatMul", [sums[hidden], _constant(graph, f"{name}.offsets", block.offsets.T.copy())])
            result = ir.node("Add", [product.outputs[0], offset.outputs[0]])
            nodes += [offset, result]
        graph.insert_before(node, nodes)
        before, after = node.outputs[0], result.outputs[0]
        # The last product is an output of the graph, which keeps its name.
        after.shape, after.type = before.shape, before.type
        label, before.name = before.name, None
        after.name = label
        ir.convenience.replace_all_uses_with(before, after, replace_graph_outputs=True)
        graph.remove(node, safe=True)


def _constant(graph: ir.Graph, name: str, array: NDArray[Any]) -> ir.Value:
    """Return the initializer of a name, which is added unless the graph has it."""
    import onnx_ir as ir

    if name not in graph.initializers:
        tensor = ir.tensor(array, name=name)
        value = ir.Value(name=name, shape=ir.Shape(array.shape), type=ir.TensorType(tensor.dtype), const_value=tensor)
        graph.register_initializer(value)
    return graph.initializers[name]
