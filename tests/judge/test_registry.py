from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import read_one, sha256
from equipoise.judge.export import Shipped
from equipoise.judge.registry import FOLDER, EmbeddedSource, load_entry, verified_folder

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 45_000_000
"""Bytes that the shipped weights may have."""


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """A root that holds copies of the registry and of the shipped weights."""
    shutil.copytree(root / FOLDER, tmp_path / FOLDER)
    shutil.copytree(root / "judge/weights", tmp_path / "judge/weights")
    return tmp_path


def embedded(root: Path) -> EmbeddedSource:
    """The source of the judge that ships."""
    source = load_entry("minilm_nli", root).source
    assert isinstance(source, EmbeddedSource)
    return source


def test_shipped_files_are_those_of_registry_and_manifest(root: Path) -> None:
    """Registry, manifest and the files themselves name the same sha256, and the model is small enough for Git."""
    source = embedded(root)
    manifest = read_one(root / source.folder / "manifest.json", Shipped)

    assert source.files == {name: file.sha256 for name, file in manifest.files.items()}
    assert source.files == {name: sha256(root / source.folder / name) for name in source.files}
    assert (root / source.folder / "model.onnx").stat().st_size <= LIMIT


def test_altered_weights_are_refused(copy: Path) -> None:
    """One changed byte in the weights is refused in one line with file, both hashes and the mend."""
    model = copy / "judge/weights/model.onnx"
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)

    with pytest.raises(EquipoiseError, match=r"altered: .*model\.onnx has sha256 \w+, not \w+: run `git checkout"):
        verified_folder(embedded(copy), copy)


def test_missing_weights_are_refused(copy: Path) -> None:
    """A file that is not there is named, with the mend."""
    (copy / "judge/weights/tokenizer.json").unlink()

    with pytest.raises(EquipoiseError, match=r"missing: .*tokenizer\.json: run `git checkout"):
        verified_folder(embedded(copy), copy)


def test_unknown_key_is_refused(copy: Path) -> None:
    """A key that no entry has is refused with file and field."""
    path = copy / FOLDER / "minilm_nli.yaml"
    path.write_text(path.read_text("utf-8") + "temperature: 1\n", "utf-8")

    with pytest.raises(EquipoiseError, match=r"minilm_nli\.yaml: field temperature: Extra inputs"):
        load_entry("minilm_nli", copy)


def test_every_registered_judge_is_well_formed(root: Path) -> None:
    """Each file of the registry can be read."""
    names = sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))

    assert names == ["deberta_v3_large", "minilm_nli", "minilm_snli"]
    assert all(load_entry(name, root).max_tokens == 512 for name in names)


@pytest.mark.parametrize(
    ("silent", "fault"),
    [
        ("{right: 51, of: 50}", r"field error\.silent: .*right: 51 is more than of: 50"),
        ("{right: 0, of: 0}", r"field error\.silent\.of: "),
        ("{right: 41}", r"field error\.silent\.of: "),
    ],
)
def test_impossible_error_is_refused(copy: Path, silent: str, fault: str) -> None:
    """A measured error with more right than labelled, or without labels, is refused with file and field."""
    path = copy / FOLDER / "deberta_v3_large.yaml"
    block = f"error:\n  silent: {silent}\n  not_silent: {{right: 88, of: 110}}\n  labels: reasoning of one model\n"
    path.write_text(path.read_text("utf-8") + block, "utf-8")

    with pytest.raises(EquipoiseError, match=rf"deberta_v3_large\.yaml: {fault}"):
        load_entry("deberta_v3_large", copy)
