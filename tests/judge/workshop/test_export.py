from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_one
from equipoise.judge.located import export_onnx, torch_probabilities
from equipoise.judge.model import CrossEncoder
from equipoise.models.export import label_fidelity
from workshop.export import LEVELS, ExportSettings, Shipped, quantise_weights, ship, to_int8, trim_vocabulary
from workshop.restore import WORDS, restore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from workshop.snli import Pair

MATRICES = hnp.arrays(
    np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-1000, 1000, width=32)
)


@given(values=MATRICES, axis=st.integers(0, 1))
def test_int8_is_within_half_a_step(values: np.ndarray, axis: int) -> None:
    """Each weight that is not cut comes back within half a level of its channel, and zeros come back as zeros."""
    levels, scale = to_int8(values, axis)
    steps = scale.reshape((-1, 1) if axis == 0 else (1, -1))
    back = levels.astype(np.float64) * steps

    assert levels.dtype == np.int8
    assert scale.shape == (values.shape[axis],)
    # Half a step, and the rounding of scale and quotient to float32 on top of it.
    near = np.abs(back - values) <= 0.5 * steps + 1e-6 * LEVELS * steps
    assert np.all(near | (np.abs(levels) == LEVELS))
    # A channel of so few values is never cut: at 0.98 of its largest, that one alone would be wrong by two steps.
    assert np.all(near)


def test_an_outlier_is_cut_where_that_costs_less() -> None:
    """Of 2,000 normal weights and one of 8, the squared error is less than with the scale that spares the outlier."""
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(size=2000), 8).astype(np.float32)[None]
    levels, scale = to_int8(values, 0)
    spared = np.rint(values / (8 / LEVELS)) * (8 / LEVELS)

    assert scale[0] < 8 / LEVELS
    assert np.square(levels * scale[0] - values).sum() < np.square(spared - values).sum()


def test_quantised_model_is_near_its_checkpoint(
    checkpoint: Callable[..., Path], pairs: list[Pair], tmp_path: Path
) -> None:
    """The shipped files give nearly the probabilities of the checkpoint, and the manifest says how nearly."""
    folder = checkpoint()
    asked = [(pair.premise, pair.hypothesis) for pair in pairs]
    ship(folder, asked, tmp_path, ExportSettings(fidelity=0.5))
    manifest = read_one(tmp_path / "manifest.json", Shipped)
    probabilities = CrossEncoder(tmp_path, max_tokens=manifest.max_tokens).probabilities(asked)
    difference = float(np.abs(probabilities - torch_probabilities(folder, asked)).max())

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "config.json",
        "manifest.json",
        "model.onnx",
        "tokenizer.json",
    ]
    assert manifest.fidelity.n == len(asked)
    assert manifest.fidelity.largest_difference == pytest.approx(difference, abs=1e-6)
    assert manifest.max_tokens == 64


def test_pieces_of_other_scripts_are_left_out_and_restored(
    checkpoint: Callable[..., Path], pairs: list[Pair], tmp_path: Path
) -> None:
    """Without placeholders and other alphabets English has the same result; a checkpoint gets them from its base."""
    import torch
    from transformers import AutoModelForSequenceClassification

    base = checkpoint(further=("[unused0]", "ж", "##中", "é", "µ", "≥"))
    model = AutoModelForSequenceClassification.from_pretrained(base)
    # Vectors that are equal, as those of zeros are before training, would be exported as one.
    torch.manual_seed(0)
    for weight in model.parameters():
        weight.data += 0.01 * torch.randn_like(weight)
    model.save_pretrained(base)
    asked = [(pair.premise, pair.hypothesis) for pair in pairs]
    export_onnx(base, tmp_path)
    whole = quantise_weights(onnx.load(tmp_path / "model.onnx"))
    onnx.save(whole, tmp_path / "model.onnx")
    before = CrossEncoder(tmp_path, max_tokens=64).probabilities(asked)
    trim_vocabulary(whole, tmp_path / "tokenizer.json", tmp_path / "config.json")
    onnx.save(whole, tmp_path / "model.onnx")
    vocabulary = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    restore(tmp_path / "model.onnx", base, tmp_path / "restored")
    tables = [
        AutoModelForSequenceClassification.from_pretrained(folder).state_dict()[WORDS].numpy()
        for folder in (base, tmp_path / "restored")
    ]

    assert list(vocabulary)[-3:] == ["é", "µ", "≥"]
    assert list(vocabulary.values()) == [*range(len(tables[0]) - 3)]
    assert np.array_equal(CrossEncoder(tmp_path, max_tokens=64).probabilities(asked), before)
    # The three that were left out are the base's own; the others come back to within half a level.
    left_out = [-6, -5, -4]
    assert np.array_equal(tables[0][left_out], tables[1][left_out])
    np.testing.assert_allclose(tables[1], tables[0], atol=np.abs(tables[0]).max() / LEVELS)


def test_unfaithful_weights_are_not_shipped(
    checkpoint: Callable[..., Path], pairs: list[Pair], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the agreement that is asked for nothing is written."""
    # Every weight matrix gets the levels of noise: the labels cannot all agree.
    noise = np.random.default_rng(0)

    def spoilt(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
        levels = noise.integers(-LEVELS, LEVELS, values.shape, dtype=np.int8)
        return levels, np.full(values.shape[axis], 0.01, dtype=np.float32)

    folder = checkpoint()
    monkeypatch.setattr("workshop.export.SMALLEST", 1)
    monkeypatch.setattr("workshop.export.to_int8", spoilt)

    with pytest.raises(EquipoiseError, match=r"and 1\.0 is required: export it in float32"):
        ship(
            folder, [(pair.premise, pair.hypothesis) for pair in pairs], tmp_path / "out", ExportSettings(fidelity=1.0)
        )
    assert not (tmp_path / "out").exists()


def test_folded_weights_run_as_float32(
    checkpoint: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX Runtime folds every DequantizeLinear at load, so that int8 weights cost no speed and change no kernel."""
    monkeypatch.setattr("workshop.export.SMALLEST", 1)
    export_onnx(checkpoint(), tmp_path)
    small = quantise_weights(onnx.load(tmp_path / "model.onnx"))
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "folded.onnx")
    onnxruntime.InferenceSession(small.SerializeToString(), options, providers=["CPUExecutionProvider"])
    before = {node.op_type for node in small.graph.node}
    after = {node.op_type for node in onnx.load(tmp_path / "folded.onnx").graph.node}

    assert "DequantizeLinear" in before
    assert not after & {"DequantizeLinear", "MatMulNBits", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"}


def test_fidelity_counts_equal_labels() -> None:
    """Agreement is the share of rows with the same best label, beside the largest change of a probability."""
    reference = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.5, 0.4, 0.1], [0.0, 0.1, 0.9]])
    candidate = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.4, 0.5, 0.1], [0.0, 0.1, 0.9]])
    fidelity = label_fidelity("x", reference, candidate, at_least=0.75)

    # The third row changes its label: 3 of 4. The largest change is 0.1.
    assert (fidelity.agreement, fidelity.n) == (0.75, 4)
    assert fidelity.largest_difference == pytest.approx(0.1)
