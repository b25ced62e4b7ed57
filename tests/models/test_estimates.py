from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.models import registry
from equipoise.models.estimates import disk_gb, export_gb, fetch_gb, run_gb
from equipoise.models.registry import Attention, Generation, LocalSource, OnnxEntry, TorchEntry, VllmEntry, WeightsEntry

ROOT = Path(__file__).parents[2]
FIELDS = {
    "title": "A model",
    "licence": "none",
    "parameters": "2B",
    "source": LocalSource(kind="local", path="x"),
    "max_length": 1000,
    "generation": Generation(reasoning_tokens=1, answer_tokens=1),
    "attention": Attention(layers=10, kv_heads=2, head_size=50),
}


def made(kind: type[WeightsEntry], **change: object) -> WeightsEntry:
    """Build an entry of 2 x 10^9 parameters whose tokens have 2 x 10 x 2 x 50 = 2,000 keys and values."""
    backend = {OnnxEntry: "onnx", TorchEntry: "torch", VllmEntry: "vllm"}[kind]
    return kind.model_validate(FIELDS | {"backend": backend} | change)


@pytest.mark.parametrize(
    ("kind", "change", "gigabytes"),
    [
        # 2 x 10^9 x 4 bytes, and 2,000 x 4 bytes x 1,000 tokens x 5 rows.
        (OnnxEntry, {}, 8.04),
        # One row, half of either in 16 bits; one byte, or 0.6, a parameter through bitsandbytes.
        (TorchEntry, {}, 4.004),
        (TorchEntry, {"dtype": "float32"}, 8.008),
        (TorchEntry, {"bits": 8}, 2.004),
        (TorchEntry, {"bits": 4}, 1.204),
        # As published, and room for one row.
        (VllmEntry, {}, 4.004),
        (VllmEntry, {"bytes_per_parameter": 0.66}, 1.324),
        # Without the sizes of attention, the weights alone.
        (OnnxEntry, {"attention": None}, 8.0),
    ],
)
def test_memory_is_weights_and_the_keys_and_values_under_way(
    kind: type[WeightsEntry], change: dict[str, object], gigabytes: float
) -> None:
    """Each backend holds parameters in bytes of its own; the tokens of five rows, or of one, come on top."""
    assert run_gb(made(kind, **change), rows=5) == pytest.approx(gigabytes)


def test_an_export_takes_copies_of_the_weights() -> None:
    """Of 8 GB in fp32: three times on disk, four times in memory and 1 GB of libraries; 4 GB in bf16 are fetched."""
    entry = made(OnnxEntry)

    assert (disk_gb(entry), export_gb(entry), fetch_gb(entry)) == pytest.approx((24.0, 33.0, 4.0))


def test_the_estimate_of_the_embedded_model_is_what_was_measured() -> None:
    """SmolLM2's export was seen to peak at 3.1 GB."""
    entry = registry.load_entry("smollm2", ROOT)

    assert isinstance(entry, OnnxEntry)
    assert export_gb(entry) == pytest.approx(3.1, abs=0.1)
