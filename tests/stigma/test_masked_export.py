from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tiny_masked
from equipoise.core.errors import EquipoiseError
from equipoise.stigma import masked_export
from equipoise.stigma.library import load_library
from equipoise.stigma.masked_export import bound, prepare
from equipoise.stigma.masked_registry import load_entry
from equipoise.stigma.masked_weights import load_torch, locate

if TYPE_CHECKING:
    from equipoise.stigma.masked_export import Ready

ROOT = Path(__file__).parents[2]
LIBRARY = load_library(ROOT / "data/sentences")
PROBES = [template.told_of("depression") for template in LIBRARY.templates]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with tiny masked models: RoBERTa in ONNX and in torch, and Longformer."""
    root = tmp_path_factory.mktemp("masked")
    plain = tiny_masked.build(root / "plain", seed=1)
    tiny_masked.register(root, "tiny", plain)
    tiny_masked.register(root, "torch", plain, runtime="torch")
    wide = tiny_masked.build(root / "wide", seed=1, longformer=True)
    tiny_masked.register(root, "longformer", wide, runtime="torch")
    tiny_masked.register(root, "longformer_onnx", wide)
    return root


@pytest.fixture(scope="module")
def ready(root: Path) -> Ready:
    """The tiny model, exported."""
    return prepare("tiny", root, root / "store", PROBES)


def test_onnx_and_torch_give_the_same_probabilities(ready: Ready, root: Path) -> None:
    """Over the whole vocabulary and all templates both runtimes agree within 1e-4."""
    in_torch = prepare("torch", root, root / "store", PROBES)
    sentences = [template.told_of(one.name) for template in LIBRARY.templates for one in LIBRARY.conditions[:3]]
    found, expected = ready.open().probabilities(sentences), in_torch.open().probabilities(sentences)

    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_the_manifest_says_what_was_made_of_what(ready: Ready) -> None:
    """The manifest holds hashes of both sides and a bound of the difference from torch."""
    made = ready.manifest

    assert set(made.files) == {"model.onnx", "model.onnx.data"}
    assert "model.safetensors" in made.weights
    assert made.probes == 44
    assert 0 < made.max_difference <= 1e-5


@pytest.mark.parametrize(("difference", "expected"), [(3e-5, 1e-4), (1e-5, 1e-5), (2e-9, 1e-6), (0.0, 1e-6)])
def test_a_difference_is_bounded_by_a_power_of_ten(difference: float, expected: float) -> None:
    """The next power of ten, and never less than the six places that a file holds."""
    assert bound(difference) == pytest.approx(expected)


def test_an_export_is_made_once(ready: Ready, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run finds what the first made."""

    def again(*_: Any) -> None:
        pytest.fail("exported twice")

    monkeypatch.setattr(masked_export, "_write_graph", again)

    assert prepare("tiny", root, root / "store", PROBES).manifest == ready.manifest


def test_a_damaged_export_is_made_anew(ready: Ready, root: Path, tmp_path: Path) -> None:
    """An export of which a byte has changed is not used."""
    made = prepare("tiny", root, tmp_path, PROBES)
    graph = made.folder / "model.onnx.data"
    graph.write_bytes(b"x" + graph.read_bytes()[1:])
    anew = prepare("tiny", root, tmp_path, PROBES)

    sentences = PROBES[:3]
    np.testing.assert_array_equal(anew.open().probabilities(sentences), ready.open().probabilities(sentences))


def test_an_unfaithful_export_is_refused_and_not_kept(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a probability lies further from torch's than the threshold, one line says so and nothing stays."""
    other = tiny_masked.build(tmp_path / "other", seed=2)
    exported = masked_export._write_graph

    def wrong(_: Any, mask: int, folder: Path) -> None:
        tiny_masked.register(tmp_path, "other", other)
        entry = load_entry("other", tmp_path)
        exported(load_torch(entry, locate(entry, tmp_path)), mask, folder)

    monkeypatch.setattr(masked_export, "_write_graph", wrong)
    fault = (
        r"^tiny refused: in onnx its probabilities lie up to 0\.\d+ from .*, not within 0\.0001: set another runtime"
    )
    with pytest.raises(EquipoiseError, match=fault + r" in models/masked/tiny\.yaml, or choose another model$"):
        prepare("tiny", root, tmp_path / "store", PROBES)
    assert list((tmp_path / "store").iterdir()) == []


@pytest.mark.parametrize("name", ["longformer", "longformer_onnx"])
def test_longformer_gives_its_own_probabilities_without_its_windows(root: Path, name: str) -> None:
    """Run with ordinary attention, in torch and in ONNX, a Longformer predicts what it predicts as it is."""
    made = prepare(name, root, root / "store", PROBES)

    assert made.manifest.max_difference <= 1e-5


def test_another_checkpoint_is_another_model(ready: Ready, root: Path, tmp_path: Path) -> None:
    """Predictions are kept apart by what decides them: other weights, not another name or place."""
    tiny_masked.register(root, "same", tiny_masked.build(tmp_path / "same", seed=1))
    tiny_masked.register(root, "other", tiny_masked.build(tmp_path / "other", seed=2))
    same, other = (prepare(name, root, root / "store", PROBES[:3]).manifest for name in ("same", "other"))

    assert same.identity == ready.manifest.identity
    assert other.identity != ready.manifest.identity


def test_a_model_that_cannot_be_exported_is_refused_with_the_mend(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the exporter stumbles over is one line; here it is Longformer's own attention."""
    monkeypatch.setattr(masked_export, "without_windows", lambda model, _: model)

    with pytest.raises(EquipoiseError, match=r"a longformer model cannot be exported .*set `runtime: torch` in its"):
        prepare("longformer_onnx", root, tmp_path, PROBES)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_written_is_named(root: Path, tmp_path: Path) -> None:
    """A file in the place of the store is one line with the mend."""
    (tmp_path / "store").touch()

    with pytest.raises(EquipoiseError, match="store: the export cannot be written"):
        prepare("tiny", root, tmp_path / "store", PROBES)
