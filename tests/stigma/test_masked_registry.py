from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.models.registry import HubSource
from equipoise.stigma.masked_registry import FOLDER, load_entry

ROOT = Path(__file__).parents[2]
ENTRY = """\
title: Mine
licence: MIT
source: {kind: local, path: somewhere}
runtime: onnx
max_tokens: 64
"""


def register(root: Path, name: str, text: str = ENTRY) -> None:
    """Add an entry to the registry of masked models."""
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    (root / FOLDER / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_the_three_models_of_the_paper_are_registered() -> None:
    """Each entry that ships is sound and names a commit; only MentalRoBERTa is gated, and Longformer runs in torch."""
    names = sorted(path.stem for path in (ROOT / FOLDER).glob("*.yaml"))
    entries = {name: load_entry(name, ROOT) for name in names}

    assert names == ["clinical_longformer", "mental_roberta", "roberta_large"]
    assert all(isinstance(entry.source, HubSource) for entry in entries.values())
    assert {name for name in names if entries[name].gated} == {"mental_roberta"}
    assert {name for name in names if entries[name].runtime == "torch"} == {"clinical_longformer"}


def test_a_new_file_is_a_new_model(tmp_path: Path) -> None:
    """Adding a masked model takes one file; what it leaves out has its default."""
    register(tmp_path, "mine")
    entry = load_entry("mine", tmp_path)

    assert (entry.weights, entry.gated) == ("model.safetensors", False)


def test_an_unknown_model_is_refused_with_the_nearest(tmp_path: Path) -> None:
    """A misspelt name is answered with the one that was meant."""
    register(tmp_path, "roberta_large")

    with pytest.raises(EquipoiseError, match=r"masked: no entry 'roberta_larg': did you mean 'roberta_large'\?"):
        load_entry("roberta_larg", tmp_path)


@pytest.mark.parametrize(
    ("sound", "faulty", "field"),
    [
        ("runtime: onnx", "runtime: jax", "runtime: Input should be 'onnx' or 'torch'"),
        ("max_tokens: 64", "max_tokens: 8", "max_tokens: Input should be greater than or equal to 16"),
        ("licence: MIT", "licence: ''", "licence: String should have at least 1 character"),
        ("runtime: onnx", "runtime: onnx\ntrust_remote_code: true", "trust_remote_code: Extra inputs"),
        ("runtime: onnx", "runtime: onnx\nweights: model.bin", "weights: Input should be 'model.safetensors'"),
        ("{kind: local, path: somewhere}", "{kind: hub, repo: a/b, revision: main}", r"source\.hub\.revision: String"),
    ],
)
def test_a_malformed_entry_names_the_field(tmp_path: Path, sound: str, faulty: str, field: str) -> None:
    """The message gives the file and the field; code from the hub is never trusted, and a branch is no revision."""
    register(tmp_path, "mine", ENTRY.replace(sound, faulty))

    with pytest.raises(EquipoiseError, match=rf"mine\.yaml: field {field}"):
        load_entry("mine", tmp_path)
