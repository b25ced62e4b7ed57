"""Convert a trained judge to an ONNX file small enough for Git, and measure the loss of accuracy.

Weights are stored as int8 with one scale per output channel (per row of an embedding table) and a DequantizeLinear
node before their use. Activations and arithmetic stay float32, so a pair's result cannot depend on the other pairs of
its batch, as it would with dynamic quantisation, whose activation scale depends on the whole batch. Word pieces that
do not occur in English are removed from the vocabulary.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.jsonl import sha256, write_json
from equipoise.judge.located import export_onnx, torch_probabilities
from equipoise.judge.model import FILES, CrossEncoder
from equipoise.models.export import LabelFidelity, label_fidelity
from workshop.restore import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import onnx
    from numpy.typing import NDArray

WEIGHT_INPUT = {"Gather": 0, "MatMul": 1, "Gemm": 1}
"""Operators whose two-dimensional constant is worth storing in int8, and which of their inputs it is."""

SMALLEST = 4096
"""Number of elements below which a constant stays float32: the saving would be less than the node."""

SCRIPTS = ("LATIN", "GREEK", "MICRO SIGN", "FEMININE ORDINAL", "MASCULINE ORDINAL")
"""Beginnings of the Unicode names of letters that an English text may contain."""

LEVELS = 127
"""Steps on either side of zero: symmetric int8 leaves -128 unused."""

SHARES = tuple(1 - 0.02 * step for step in range(21))
"""Largest values that a channel may be cut at, as shares of its largest."""


class ExportSettings(BaseModel):
    """The section `export` of a judge's params.yaml: the least share of pairs that must keep their label."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fidelity: Annotated[float, Field(gt=0, le=1)]


class ShippedFile(BaseModel):
    """Size in bytes and sha256 of a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int
    sha256: str


class Shipped(BaseModel):
    """The manifest of the judge that ships: its files, and their agreement with the checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    checkpoint_sha256: str
    fidelity: LabelFidelity
    files: dict[str, ShippedFile]
    max_tokens: int
    opset: int
    precision: str


def ship(checkpoint: Path, pairs: Sequence[tuple[str, str]], folder: Path, settings: ExportSettings) -> None:
    """Write the judge that ships to `folder`: int8 weights, config, tokenizer, and a manifest.

    Args:
        checkpoint: The trained model.
        pairs: Premises and hypotheses on which the int8 file is compared with the checkpoint in float32 torch.
        folder: The target folder; it is not changed if the comparison fails.
        settings: The share of pairs on which both must give the same label.

    Raises:
        EquipoiseError: The agreement is below that share.
    """
    import onnx

    with tempfile.TemporaryDirectory() as name:
        target = Path(name)
        export_onnx(checkpoint, target)
        small = quantise_weights(onnx.load(target / "model.onnx"))
        trim_vocabulary(small, target / "tokenizer.json", target / "config.json")
        onnx.checker.check_model(small)
        onnx.save(small, target / "model.onnx")
        longest = int(json.loads((target / "config.json").read_text("utf-8"))["max_position_embeddings"])
        shipped = CrossEncoder(target, max_tokens=longest).probabilities(pairs)
        measured = label_fidelity(
            "the judge", torch_probabilities(checkpoint, pairs), shipped, at_least=settings.fidelity
        )
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(FILES):
            shutil.copyfile(target / file, folder / file)
    files = {file: folder / file for file in sorted(FILES)}
    manifest = Shipped(
        checkpoint_sha256=sha256(checkpoint / "model.safetensors"),
        fidelity=measured,
        files={file: ShippedFile(size=path.stat().st_size, sha256=sha256(path)) for file, path in files.items()},
        max_tokens=longest,
        opset=small.opset_import[0].version,
        precision="int8 weights per channel, float32 arithmetic",
    )
    write_json(folder / "manifest.json", manifest.model_dump())


def trim_vocabulary(model: onnx.ModelProto, tokenizer: Path, config: Path) -> None:
    """Remove the word pieces that do not occur in English from the model and both files, in place.

    These are placeholders (`[unused7]`) and pieces with a letter of a script other than Latin and Greek. A word that
    needs one is unknown afterwards; the probabilities of every other text are unchanged, to the last bit.
    """
    from onnx import numpy_helper

    content = json.loads(tokenizer.read_text("utf-8"))
    before = content["model"]["vocab"]
    pieces = [piece for piece in before if _is_english(piece)]
    after = {piece: place for place, piece in enumerate(pieces)}
    content["model"]["vocab"] = after
    for added in content["added_tokens"]:
        added["id"] = after[added["content"]]
    for special in content["post_processor"]["special_tokens"].values():
        special["ids"] = [after[token] for token in special["tokens"]]
    rows = [before[piece] for piece in pieces]
    for tensor in model.graph.initializer:
        # Its levels and their scales, once it is quantised.
        if tensor.name.startswith(WORDS) and tensor.dims[0] == len(before):
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor)[rows], tensor.name))
    tokenizer.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")
    described = {**json.loads(config.read_text("utf-8")), "vocab_size": len(pieces)}
    config.write_text(json.dumps(described, indent=2) + "\n", "utf-8")


def _is_english(piece: str) -> bool:
    """Whether a word piece may occur in English: no placeholder, and no letter of another script."""
    letters = (unicodedata.name(letter, "") for letter in piece if letter.isalpha())
    return not piece.startswith("[unused") and all(name.startswith(SCRIPTS) for name in letters)


def quantise_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with int8 matrices and a DequantizeLinear before each use; the input is not changed."""
    import onnx
    from onnx import helper, numpy_helper

    graph = model.graph
    axes = {
        node.input[place]: _channel_axis(node)
        for node in graph.node
        if (place := WEIGHT_INPUT.get(node.op_type)) is not None
    }
    constants: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.name not in axes or values.ndim != 2 or values.size < SMALLEST or values.dtype != "float32":  # noqa: PLR2004
            constants.append(tensor)
            continue
        levels, scale = to_int8(values, axes[tensor.name])
        packed, scales = f"{tensor.name}.int8", f"{tensor.name}.scale"
        constants += [numpy_helper.from_array(levels, packed), numpy_helper.from_array(scale, scales)]
        nodes.append(helper.make_node("DequantizeLinear", [packed, scales], [tensor.name], axis=axes[tensor.name]))
    small = onnx.ModelProto()
    small.CopyFrom(model)
    del small.graph.initializer[:]
    del small.graph.node[:]
    small.graph.initializer.extend(constants)
    small.graph.node.extend([*nodes, *graph.node])
    return small


def to_int8(values: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return symmetric int8 levels and the float32 scale of each channel along `axis`: values ≈ levels · scale.

    A channel gets the scale with the least squared error among a few, from that of the largest value down: one outlier
    that is cut costs less than coarser steps for all others.
    """
    import numpy as np

    peak = np.abs(values).max(axis=1 - axis, keepdims=True)
    # A channel of zeros, or of numbers too small for a scale, is stored as zeros.
    widest = (np.where(peak > LEVELS * np.finfo(np.float32).tiny, peak, 1.0) / LEVELS).astype(np.float32)
    scales = [(widest * share).astype(np.float32) for share in SHARES]
    errors = [np.square(_levels(values, scale) * scale - values).sum(axis=1 - axis, keepdims=True) for scale in scales]
    scale = np.take_along_axis(np.stack(scales), np.argmin(errors, axis=0)[None], axis=0)[0]
    return _levels(values, scale).astype(np.int8), scale.reshape(-1)


def _levels(values: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to the nearest levels."""
    import numpy as np

    levels: NDArray[np.float32] = np.clip(np.rint(values / scale), -LEVELS, LEVELS)
    return levels


def _channel_axis(node: onnx.NodeProto) -> int:
    """Return the axis of output channels: rows of a Gather's table and of a transposed Gemm, columns of a MatMul."""
    transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    return 0 if node.op_type == "Gather" or transposed else 1
