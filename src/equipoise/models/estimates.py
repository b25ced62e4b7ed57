"""What a model takes: to fetch, on disk and in memory, in GB (10^9 bytes), from the sizes in its registry entry.

Memory is parameters times the bytes that the backend holds each in, and the keys and values of the tokens under way:
two for each layer, head and head dimension. Activations and libraries come on top; the figures are for planning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.models.registry import OnnxEntry, TorchEntry

if TYPE_CHECKING:
    from equipoise.models.registry import WeightsEntry

GB = 1e9
FP32, HALF = 4, 2
"""Bytes of a number in ONNX Runtime's graph, and in torch or vLLM."""
QUANTISED = {8: 1.0, 4: 0.6}
"""Bytes a parameter by bits, the scales of bitsandbytes included."""
DTYPES = {"float32": FP32, "bfloat16": HALF, "float16": HALF}
DISK_COPIES = 3
"""Free disk that an export needs, in sizes of the parameters: the plain export, the fused graph, room to write it."""
MEMORY_COPIES = 4
LIBRARIES = 1.0
"""Memory that an export needs: copies of the parameters (torch's, the exporter's, the graph, its text), and libraries.

Measured: SmolLM2-135M, 0.54 GB in fp32, peaked at 3.1 GB.
"""


def fetch_gb(entry: WeightsEntry) -> float:
    """The size of the weights as they are published."""
    return entry.n_parameters * entry.bytes_per_parameter / GB


def run_gb(entry: WeightsEntry, rows: int) -> float:
    """Memory that a model takes with its longest prompt under way; without attention sizes, less.

    The ONNX backend has room for `rows` prompts at once; torch takes one after the other, and vLLM shares out what
    memory is left.
    """
    match entry:
        case OnnxEntry():
            weight, number = float(FP32), FP32
        case TorchEntry():
            number, rows = DTYPES[entry.dtype], 1
            weight = QUANTISED[entry.bits] if entry.bits else float(number)
        case _:
            weight, number, rows = entry.bytes_per_parameter, HALF, 1
    sizes = entry.attention
    token = 2 * sizes.layers * sizes.kv_heads * sizes.head_size * number if sizes else 0
    return (entry.n_parameters * weight + token * entry.max_length * rows) / GB


def export_gb(entry: WeightsEntry) -> float:
    """Memory that the export to ONNX takes."""
    return MEMORY_COPIES * FP32 * entry.n_parameters / GB + LIBRARIES


def disk_gb(entry: WeightsEntry) -> float:
    """Disk that the export to ONNX takes while it runs."""
    return DISK_COPIES * FP32 * entry.n_parameters / GB
