"""Tests of adapters: what is merged, what is refused, and that an export or a run is identified by its adapter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tiny
from equipoise.backends.torch import TorchBackend
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import sha256
from equipoise.core.prompts import Prompt
from equipoise.models import export, registry
from equipoise.models.adapter import merge
from equipoise.models.registry import Adapter, OnnxEntry, TorchEntry
from equipoise.models.weights import locate

if TYPE_CHECKING:
    from torch import Tensor

Tensors = dict[str, "Tensor"]
LAYER = "model.layers.1.self_attn.q_proj"
SIZE = 96
"""Inputs and outputs of that layer in the tiny model."""
ALPHA, RANK = 6, 3


def tensors(rank: int = RANK, inputs: int = SIZE, layer: str = LAYER) -> Tensors:
    """Draw an adapter of one layer."""
    import torch

    draw = torch.Generator().manual_seed(0)
    down, up = torch.randn(rank, inputs, generator=draw), torch.randn(SIZE, rank, generator=draw)
    return {f"{layer}.lora_A.weight": down, f"{layer}.lora_B.weight": up}


def written(folder: Path, given: Tensors, metadata: dict[str, str] | None = None) -> Path:
    """Write an adapter."""
    from safetensors.torch import save_file

    path = folder / "adapter.safetensors"
    save_file(given, path, metadata={"lora_alpha": str(ALPHA)} if metadata is None else metadata)
    return path


def model(checkpoint: Path) -> Any:
    """Load the tiny model."""
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()


@pytest.fixture
def project(tmp_path: Path, tiny_checkpoint: Path) -> Path:
    """A project with the tiny model in torch, without and with an adapter."""
    path = written(tmp_path, tensors())
    for name, more in (("plain", ""), ("adapted", f"adapter: {{file: {path.name}, sha256: {sha256(path)}}}\n")):
        tiny.register(tmp_path, name, tiny_checkpoint, seed=1, backend="torch")
        with (tmp_path / f"models/{name}.yaml").open("a", encoding="utf-8") as file:
            file.write(more)
    return tmp_path


def adapted(project: Path) -> TorchEntry:
    """Read the entry with the adapter."""
    entry = registry.load_entry("adapted", project)
    assert isinstance(entry, TorchEntry)
    return entry


def test_a_merged_weight_is_the_base_plus_the_scaled_product(tmp_path: Path, tiny_checkpoint: Path) -> None:
    """W + (α / r) · B · A with α / r = 6 / 3 = 2, in the layer that the adapter names; every other weight stays."""
    import torch

    base, merged = model(tiny_checkpoint), model(tiny_checkpoint)
    merge(merged, written(tmp_path, tensors()))

    down, up = tensors().values()
    for (name, before), after in zip(base.named_parameters(), merged.parameters(), strict=True):
        expected = before + 2 * up @ down if name == f"{LAYER}.weight" else before
        torch.testing.assert_close(after, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (
            lambda: tensors(layer="model.layers.9.self_attn.q_proj"),
            r"model\.layers\.9\.self_attn\.q_proj is not a linear layer",
        ),
        (lambda: tensors(layer="model.norm"), r"model\.norm is not a linear layer of the model"),
        (lambda: tensors(inputs=40), r"q_proj: A \(3, 40\) and B \(96, 3\) do not fit its weight \(96, 96\)"),
        (
            lambda: dict(list(tensors().items())[:1]),
            r"q_proj lacks lora_A\.weight or lora_B\.weight: write it again",
        ),
        (
            lambda: tensors() | {"surplus": next(iter(tensors().values()))},
            "surplus is not a linear layer of the model: name an adapter",
        ),
    ],
)
def test_an_adapter_of_another_model_is_refused(
    tmp_path: Path, tiny_checkpoint: Path, given: Callable[[], Tensors], fault: str
) -> None:
    """A layer that the model lacks, another size, half of an adapter: one line names the file and the layer."""
    path = written(tmp_path, given())
    with pytest.raises(EquipoiseError, match=rf"^{path}: .*{fault}"):
        merge(model(tiny_checkpoint), path)


@pytest.mark.parametrize("damage", ["no metadata", "no safetensors"])
def test_a_file_that_is_no_adapter_is_refused(tmp_path: Path, tiny_checkpoint: Path, damage: str) -> None:
    """Without α the product has no scale; a damaged file is reported in one line too."""
    path = written(tmp_path, tensors(), metadata={})
    if damage == "no safetensors":
        path.write_bytes(b"damaged")
    with pytest.raises(EquipoiseError, match=rf"^{path}: not a low-rank adapter with lora_alpha in its metadata \("):
        merge(model(tiny_checkpoint), path)


def test_other_bytes_than_the_entry_names_are_refused(project: Path) -> None:
    """The adapter is verified like the weights, and the line says what to do."""
    entry = adapted(project)
    assert entry.adapter is not None
    wrong = entry.model_copy(update={"adapter": Adapter(file=entry.adapter.file, sha256="0" * 64)})
    fix = "restore the file, or correct adapter.file and adapter.sha256 in the registry entry"
    with pytest.raises(EquipoiseError, match=rf"^adapter altered: \S+: checksum mismatch: .*: {fix}$"):
        locate(wrong, project)


def test_an_adapter_is_part_of_what_identifies_a_model(project: Path) -> None:
    """The manifest lists it with the weights, so that the cache keeps its answers apart from those of the base."""
    plain = export.describe("plain", registry.load_entry("plain", project), project)  # type: ignore[arg-type]
    manifest = export.describe("adapted", adapted(project), project)

    assert manifest.weights == plain.weights | {"adapter.safetensors": sha256(project / "adapter.safetensors")}


def test_every_backend_that_takes_an_adapter_merges_it(project: Path, tiny_checkpoint: Path) -> None:
    """Torch answers, and the original that an export is made from and held to weighs, as the model merged by hand."""
    import torch

    by_hand = model(tiny_checkpoint)
    merge(by_hand, project / "adapter.safetensors")
    by_hand.save_pretrained(project / "by_hand")
    tiny.tokenizer().save_pretrained(project / "by_hand")
    tiny.register(project, "by_hand", project / "by_hand", seed=1, backend="torch")
    prompt = Prompt(key="k", study="vignettes", system="", prefix="It is", turns=("Why?", "What?"), candidates=("a b",))
    answers = {}
    for name in ("plain", "adapted", "by_hand"):
        entry = registry.load_entry(name, project)
        assert isinstance(entry, TorchEntry)
        with TorchBackend(locate(entry, project), entry, batch_size=4) as backend:
            (answers[name],) = backend.answer([prompt])

    assert answers["adapted"] == answers["by_hand"] != answers["plain"]
    entry = adapted(project)
    original, _ = export._load(locate(entry, project), entry)
    torch.testing.assert_close(original.state_dict(), by_hand.state_dict())


def test_quantised_weights_take_no_adapter(project: Path) -> None:
    """What is merged into 4 or 8 bits is not what was trained; the entry is refused before any work."""
    with pytest.raises(ValueError, match="an adapter is not merged into quantised weights: leave bits or adapter out"):
        TorchEntry.model_validate(adapted(project).model_dump() | {"bits": 4})
    assert "adapter" in OnnxEntry.model_fields
