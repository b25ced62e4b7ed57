"""Quantised weights: the speed of each format on multiple choice, and whether it would pass the fidelity gate."""

from __future__ import annotations

import logging
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from speed_choice import OURS, PIECE, choose, open_folder
from speed_rounds import by_turns, in_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from speed_models import Asked
    from speed_rounds import Rounds, Way

    from equipoise.core.prompts import Prompt

BLOCK = 32
"""Weights that share a scale: the blocks of the published file."""
INT8 = 4
"""ONNX Runtime's accuracy level that also rounds activations, to int8 with a scale per block; 0 does not."""


def _blocks(bits: int, level: int) -> Callable[[Path, Path], None]:
    """Quantise the matrices by blocks (MatMulNBits), with a smallest and a largest value each."""

    def write(source: Path, target: Path) -> None:
        import onnx
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        quantizer = MatMulNBitsQuantizer(
            onnx.load(source), bits=bits, block_size=BLOCK, is_symmetric=False, accuracy_level=level
        )
        quantizer.process()
        quantizer.model.save_model_to_file(str(target), use_external_data_format=True)

    return write


def _dynamic(source: Path, target: Path) -> None:
    """Quantise matrices by column and activations by tensor, the latter as they come (dynamic int8)."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        source,
        target,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        use_external_data_format=True,
        # The result type of the fused attention operator is not inferred.
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


KINDS: dict[str, Callable[[Path, Path], None]] = {
    "int8, activations by tensor": _dynamic,
    "8 bits by blocks, activations int8": _blocks(8, INT8),
    "8 bits by blocks, activations float32": _blocks(8, 0),
    "4 bits by blocks, activations int8": _blocks(4, INT8),
    "4 bits by blocks, activations float32": _blocks(4, 0),
}


def compare_quantised(model: Asked, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Time each format alternating with float32, and count equal letters."""
    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as place:
        ways: dict[str, Way] = {OURS: choose(open_folder(model.folder, model))}
        failed: dict[str, str] = {}
        for number, (kind, write) in enumerate(KINDS.items()):
            folder = Path(place) / str(number)
            shutil.copytree(model.folder, folder, ignore=shutil.ignore_patterns("*.onnx*"))
            way = choose(open_folder(folder, model))
            try:
                write(model.folder / "model.onnx", folder / "model.onnx")
                way(prompts[:1])
            except Exception as error:  # noqa: BLE001  (any error of a format is reported)
                failed[kind] = " ".join(str(error).split())[:200]
            else:
                ways[kind] = way
        rounds = by_turns(ways, in_pieces(prompts, PIECE), prompts[:1])
    return {
        "prompts": len(rounds.results[OURS]),
        "threshold": model.entry.fidelity,
        "kinds": {kind: _figures(rounds, kind, model.entry.fidelity) for kind in ways if kind != OURS},
        "failed": failed,
    }


def _figures(rounds: Rounds, kind: str, threshold: float) -> dict[str, Any]:
    """Compare one format with float32."""
    plain, rounded = (np.array(rounds.results[way]) for way in (OURS, kind))
    same = float((plain.argmax(axis=1) == rounded.argmax(axis=1)).mean())
    return {
        "ratio": rounds.ratio(kind, OURS),
        "same_letters": round(same, 4),
        "largest_difference_of_p": float(f"{np.abs(np.exp(plain) - np.exp(rounded)).max():.1e}"),
        "passes": same >= threshold,
    }
