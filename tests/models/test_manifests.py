from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.core import records
from equipoise.core.records import Manifest
from equipoise.models import export
from equipoise.models.registry import ApiEntry, Generation

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Exported


def test_the_manifest_of_exported_weights_has_no_part_of_a_server(tiny_model: Exported, tmp_path: Path) -> None:
    """Its file holds what an export made, and reads back as it was; the agreement is no part of its identity."""
    manifest = tiny_model.manifest
    records.write_json(tmp_path / "manifest.json", manifest.written())

    assert {"backend", "settings"}.isdisjoint(manifest.written())
    assert records.read_one(tmp_path / "manifest.json", Manifest) == manifest
    assert manifest.model_copy(update={"fidelity": None}).identity == manifest.identity
    assert manifest.model_copy(update={"files": {}}).identity != manifest.identity


def test_a_server_is_described_and_not_exported(tmp_path: Path) -> None:
    """Nothing is written to the store: neither weights nor files belong to it."""
    entry = ApiEntry(
        title="A server",
        licence="none",
        backend="openai",
        base_url="http://x/v1",
        model="m",
        key_env="SOME_KEY",
        generation=Generation(reasoning_tokens=1, answer_tokens=1),
    )
    manifest = export.prepare("some", entry, tmp_path, tmp_path / "store", ())

    assert manifest.written() == {
        "model": "some",
        "backend": "openai",
        "repo": "http://x/v1",
        "revision": "m",
        "licence": "none",
        "settings": entry.settings,
    }
    assert not (tmp_path / "store").exists()
