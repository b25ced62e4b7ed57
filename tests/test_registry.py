from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import registry
from equipoise.errors import EquipoiseError

ROOT = Path(__file__).parents[1]
ENTRY = """\
title: A model
parameters: 1B
licence: Apache-2.0
backend: onnx
source: {kind: hub, repo: someone/model, revision: 0123456789012345678901234567890123456789}
max_length: 1024
generation: {reasoning_tokens: 128, answer_tokens: 24}
fidelity: 0.99
"""


def register(root: Path, name: str, text: str = ENTRY) -> None:
    """Add an entry to the registry of a project."""
    (root / "models").mkdir(exist_ok=True)
    (root / "models" / f"{name}.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "models").glob("*.yaml")))
def test_every_model_of_the_registry_loads(name: str) -> None:
    """An entry that ships is sound."""
    assert registry.load_entry(name, ROOT).title


def test_a_new_file_is_a_new_model(tmp_path: Path) -> None:
    """Adding a model takes one file; what it leaves out has its default."""
    register(tmp_path, "mine")
    entry = registry.load_entry("mine", tmp_path)

    assert registry.HubSource(kind="hub", repo="someone/model", revision="0123456789" * 4) == entry.source
    assert registry.Generation(repetition_penalty=1.0, reasoning_tokens=128, answer_tokens=24) == entry.generation


def test_an_unknown_model_is_refused_with_the_known_and_the_nearest(tmp_path: Path) -> None:
    """A misspelt name is answered with the one that was meant."""
    register(tmp_path, "smollm2")
    register(tmp_path, "qwen")

    with pytest.raises(
        EquipoiseError, match=r"models: no entry 'smolm2': did you mean 'smollm2'\? known: qwen, smollm2$"
    ):
        registry.load_entry("smolm2", tmp_path)
    with pytest.raises(EquipoiseError, match=r"models: no entry 'xyz': known: qwen, smollm2$"):
        registry.load_entry("xyz", tmp_path)


@pytest.mark.parametrize("name", ["../models/smollm2", "judges/smollm2", "smollm2.yaml", ""])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    """Only the stem of a file in the registry's own folder is a name."""
    register(tmp_path, "smollm2")

    with pytest.raises(EquipoiseError, match="no entry"):
        registry.load_entry(name, tmp_path)


def test_an_empty_registry_says_so(tmp_path: Path) -> None:
    """Where no model is registered none is known."""
    with pytest.raises(EquipoiseError, match="no entry 'any': known: none"):
        registry.load_entry("any", tmp_path)


@pytest.mark.parametrize(
    ("sound", "faulty", "field"),
    [
        ("max_length: 1024", "max_length: 8", "max_length: Input should be greater than or equal to 64"),
        ("fidelity: 0.99", "fidelity: 1.5", "fidelity: Input should be less than or equal to 1"),
        ("answer_tokens: 24", "answer_tokens: 0", r"generation\.answer_tokens: Input should be greater"),
        ("backend: onnx", "backend: gpt", "backend: Input should be 'onnx'"),
        ("title: A model", "titel: A model", "title: Field required"),
        ("kind: hub", "kind: cloud", "source: Input tag 'cloud'"),
        (", revision: 0123456789012345678901234567890123456789", "", r"source\.hub\.revision: Field required"),
        ("revision: 0123456789", "revision: main", r"source\.hub\.revision: String should match pattern"),
        ("fidelity: 0.99", "fidelity: 0.99\ntemperature: 0", "temperature: Extra inputs are not permitted"),
    ],
)
def test_a_malformed_entry_names_the_field(tmp_path: Path, sound: str, faulty: str, field: str) -> None:
    """The message gives the file and the field; a branch is no revision."""
    register(tmp_path, "mine", ENTRY.replace(sound, faulty))

    with pytest.raises(EquipoiseError, match=rf"mine\.yaml: field {field}"):
        registry.load_entry("mine", tmp_path)
