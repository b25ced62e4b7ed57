from __future__ import annotations

import logging
import sys
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

import ggufs
import tiny
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.models import decoder
from equipoise.models.blocks import PARSERS
from equipoise.models.decoder import Blocks, build, obstacle, take_lengths, write
from equipoise.models.engine import Branch, OnnxEngine
from equipoise.models.export import export
from equipoise.models.registry import LocalSource, OnnxEntry

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Exported
    from equipoise.core.manifest import Manifest


def test_every_layer_has_one_attention(tiny_model: Exported) -> None:
    """The graph has one GroupQueryAttention a layer, no softmax and no mask, and takes the rows' lengths."""
    folder = tiny_model.store / tiny_model.manifest.folder
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    operators = Counter(node.op_type for node in model.graph.node)

    # The tiny model has two layers; each gives its keys and values.
    past = [f"past_key_values.{layer}.{part}" for layer in (0, 1) for part in ("key", "value")]
    present = [f"present.{layer}.{part}" for layer in (0, 1) for part in ("key", "value")]
    assert (operators["GroupQueryAttention"], operators["Softmax"]) == (2, 0)
    added = {"seqlens_k", "total_sequence_length", "position_ids", "attention_bias", "logit_index"}
    assert {"input_ids", *past, *added} == {value.name for value in model.graph.input}
    assert {"logits", *present} == {value.name for value in model.graph.output}


def test_after_the_last_attention_picked_positions_alone_go_on(tiny_model: Exported) -> None:
    """Positions are picked from the last layer's attention output and from what it is added to, not from the logits."""
    folder = tiny_model.store / tiny_model.manifest.folder
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    picking = [node for node in model.graph.node if node.op_type == "GatherND"]
    attention = [node for node in model.graph.node if node.op_type == "GroupQueryAttention"][-1]

    assert {node.input[1] for node in picking} == {"logit_index"}
    sources = {node.input[0] for node in picking}
    assert len(sources) == 2
    assert attention.output[0] in sources
    others = [node for node in model.graph.node if node.op_type != "GatherND"]
    assert not any(attention.output[0] in node.input for node in others)


def test_what_works_on_all_tokens_together_is_left_whole(
    tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an operator after the last attention is not known to work token by token, the logits alone are picked."""
    monkeypatch.setattr(decoder, "TOKENWISE", decoder.TOKENWISE - {"Sigmoid"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = export("tiny", tiny_model.entry, tiny_model.store.parent, tmp_path, ["Which vitamin prevents scurvy?"])
    graph = onnx.load(tmp_path / str(made.folder) / "model.onnx", load_external_data=False).graph
    (picking,) = [node for node in graph.node if node.op_type == "GatherND"]
    (projection,) = [node for node in graph.node if picking.output[0] in node.input]

    assert list(projection.output) == ["logits"]
    assert made.fidelity is not None
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


def test_a_graph_without_attention_is_refused() -> None:
    """A graph in which the builder wrote no fused attention is refused in one line."""
    import onnx_ir as ir

    with pytest.raises(EquipoiseError, match=r"^the exported graph has no GroupQueryAttention: [^\n]+$"):
        take_lengths(ir.Graph([], [], nodes=[]))


def test_an_architecture_that_the_builder_does_not_know_is_named(tmp_path: Path) -> None:
    """The builder's own error becomes one line with the architecture and the way out."""
    from transformers import AutoConfig, AutoModelForCausalLM

    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 400}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("gpt2", **sizes))
    tiny.tokenizer().save_pretrained(tmp_path)
    model.config.save_pretrained(tmp_path)
    with pytest.raises(
        EquipoiseError, match=r"^a gpt2 model cannot be exported to ONNX \([^\n]+\): set backend: torch"
    ):
        build(model, tmp_path, fuse=True)


SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1, "intermediate_size": 64, "vocab_size": 32}


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("llama", {}, None),
        # Tables of the rotation that are the same for a text of any length are written into the graph.
        ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, None),
        ("llama", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "rotates by the length of the text"),
        ("qwen3", {"head_dim": 16}, None),
        ("qwen3", {"head_dim": 24}, "has heads of 24, not a multiple of 16"),
    ],
)
def test_what_the_fused_attention_cannot_hold_is_known_beforehand(
    kind: str, change: dict[str, Any], reason: str | None
) -> None:
    """Rotations by the length of the text, and heads of other sizes, are named before anything is built."""
    from transformers import AutoConfig, AutoModelForCausalLM

    told = obstacle(AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZES, **change)))
    assert told is None if reason is None else reason in (told or "")


def windowed(folder: Path, kind: str, **change: Any) -> Any:
    """Make a random model whose last layer attends to 16 tokens, with its tokenizer in a folder."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    more = {"num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 400, "head_dim": 16}
    sizes = SIZES | more | {"initializer_range": 0.4}
    tiny.tokenizer().save_pretrained(folder)
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **sizes, sliding_window=16, **change)).eval()


def test_a_window_is_that_of_the_model_beyond_its_length(tmp_path: Path) -> None:
    """In a text of four windows, the graph's logits are torch's; without windows they would be others."""
    import torch

    model = windowed(tmp_path, "qwen2", use_sliding_window=True, max_window_layers=1)
    write(model, tmp_path)
    tokens = np.random.default_rng(0).integers(0, 400, 64).tolist()
    with torch.inference_mode():
        expected, whole = (
            each(torch.tensor([tokens])).logits[0, -1].numpy() for each in (model, windowed(tmp_path, "qwen2"))
        )

    engine = OnnxEngine(tmp_path, rows=1, capacity=128)
    np.testing.assert_allclose(engine.prefill(tokens)[0], expected, atol=1e-3)
    # A window is counted in the buffer, in which branches side by side would stand in each other's.
    branches = [Branch(64, (first, 7, 8, 9)) for first in range(4)]
    engine.prefill(tokens[:32])
    _, together = engine.fork(tokens[32:], branches, start=32)
    for branch in branches:
        engine.prefill(tokens)
        alone = engine.prefill(branch.tokens, start=64, picks=range(4))
        np.testing.assert_allclose(together[branch][1:], alone, atol=1e-4)
    assert np.abs(whole - expected).max() > 0.1


def test_the_builder_prints_nothing_and_leaves_nothing_behind(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its modules, its folder on the path of modules, and its settings of logging are gone once the graph is built."""
    model = windowed(tmp_path, "qwen2")
    before = [*sys.path], logging.getLogger().level, [*logging.getLogger().handlers]
    capfd.readouterr()
    write(model, tmp_path)

    assert capfd.readouterr() == ("", "")
    assert before == ([*sys.path], logging.getLogger().level, [*logging.getLogger().handlers])
    assert {"builder", "builder_config", "builders.base"}.isdisjoint(sys.modules)


def test_a_window_that_the_builder_leaves_out_is_refused(tmp_path: Path) -> None:
    """Mistral's layers all have one, which short probes cannot show."""
    with pytest.raises(
        EquipoiseError, match=r"has windows of \[-1, -1\] tokens by layer, where the model has \[16, 16\]"
    ):
        write(windowed(tmp_path, "mistral"), tmp_path)


def weights(blocks: Blocks) -> np.ndarray:
    """Return the weights (outputs, inputs) by the definition of `Blocks`, one code at a time."""
    codes = np.stack([blocks.codes & 15, blocks.codes >> 4], axis=-1).reshape(*blocks.codes.shape[:2], 32)
    offsets = np.zeros_like(blocks.scales) if blocks.offsets is None else blocks.offsets
    wide = blocks.scales[..., None].astype(np.float64) * (codes.astype(np.float64) - 8) + offsets[..., None]
    return wide.reshape(len(codes), -1)


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_blocks_are_those_of_the_format(name: str) -> None:
    """Scale, code and offset of every block give the weights that the package gguf computes from the same bytes."""
    import gguf

    kind = gguf.GGMLQuantizationType[name]
    rng = np.random.default_rng(0)
    size, width = gguf.GGML_QUANT_SIZES[kind]
    raw = rng.integers(0, 256, (6, 512 // size * width), dtype=np.uint8)
    # Scales are half-precision numbers; those that random bytes give may be infinite.
    halves = rng.normal(size=(6, 512 // size, 2)).astype(np.float16).view(np.uint8)
    raw.reshape(6, -1, width)[..., : 2 if name == "Q4_0" else 4] = halves[..., : 2 if name == "Q4_0" else 4]

    expected = gguf.dequantize(raw, kind)
    np.testing.assert_allclose(weights(PARSERS[name](raw)), expected, rtol=1e-5, atol=1e-4)


@pytest.fixture(scope="module")
def in_blocks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    """Export a model whose matrices are published in Q4_1, as they are."""
    root = tmp_path_factory.mktemp("blocks")
    return root, export_file(root, "Q4_1")


def export_file(root: Path, form: str) -> Manifest:
    """Write a GGUF file with matrices of a form, and export it with its blocks."""
    source = LocalSource(
        kind="local", path="tiny.gguf", sha256=jsonl.sha256(ggufs.write(root / "tiny.gguf", form=form))
    )
    fields = {"title": "Tiny", "licence": "none", "parameters": "0.1M", "max_length": 128, "backend": "onnx"}
    more = {"precision": "blocks", "generation": {"reasoning_tokens": 8, "answer_tokens": 8}}
    entry = OnnxEntry.model_validate({**fields, **more, "source": source.model_dump()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return export("tiny", entry, root, root / "store", ["Which vitamin prevents scurvy?", "What lowers glucose?"])


def test_weights_in_blocks_are_those_of_torch(in_blocks: tuple[Path, Manifest]) -> None:
    """Every product of a layer is computed from blocks, and letters, tokens and logits are torch's with all weights."""
    root, manifest = in_blocks
    graph = onnx.load(root / "store" / str(manifest.folder) / "model.onnx", load_external_data=False).graph
    layers = sum(node.op_type == "GroupQueryAttention" for node in graph.node)

    # Queries, keys, values, the attention's output, and three of the feed-forward part.
    assert sum(node.op_type == "MatMulNBits" for node in graph.node) >= 7 * layers
    assert manifest.precision == "blocks"
    assert manifest.fidelity is not None
    assert (manifest.fidelity.letters, manifest.fidelity.tokens) == (1.0, 1.0)
    assert manifest.fidelity.max_abs_logit <= 1e-3


def test_a_row_in_blocks_is_the_same_alone_and_among_others(in_blocks: tuple[Path, Manifest]) -> None:
    """ONNX Runtime computes a single token with other last bits; no row of the engine is ever computed so."""
    root, manifest = in_blocks
    folder = root / "store" / str(manifest.folder)
    texts = [[5, 6, 7, 8], [9, 10, 11], [12, 13, 14, 15, 16]]
    alone = []
    for text in texts:
        engine = OnnxEngine(folder, rows=1, capacity=32)
        alone.append(np.vstack([engine.prefill(text), engine.prefill([17], start=len(text))]))
    together = OnnxEngine(folder, rows=3, capacity=32)
    first = [together.prefill(text, row=row)[0] for row, text in enumerate(texts)]
    following = together.run(np.array([[17]] * 3), [len(text) for text in texts], picks=[0])

    for row in range(3):
        np.testing.assert_array_equal(alone[row], np.vstack([first[row], following[row]]))


def test_a_file_without_blocks_of_four_bits_is_refused(tmp_path: Path) -> None:
    """One line names the folder and the setting."""
    with pytest.raises(EquipoiseError, match=r"none of its weights is in blocks of 4 bits: set precision to float32$"):
        export_file(tmp_path, "Q8_0")
