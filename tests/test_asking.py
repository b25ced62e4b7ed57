"""Tests of the functions that answer prompts with an exported model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise import asking, records
from equipoise.cache import ResponseCache
from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from conftest import Exported


def silent(done: int, total: int) -> None:
    """Show no progress."""


def test_an_exported_model_is_an_agent(tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model exported before answers messages in few tokens, in order, and the second time from disk."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "models").symlink_to(tiny_model.store)
    records.write_json(tiny_model.store / "tiny.json", tiny_model.manifest.model_dump(mode="json"))
    messages = [("You write.", "One sentence, please."), ("You write.", "Another one, please.")]
    with ResponseCache.open() as kept:
        reply = asking.agent("tiny", tiny_model.root, kept, tokens=5, batch_size=2, progress=silent)
        first = reply(messages)
        (tmp_path / ".cache" / "models").unlink()
        second = reply(messages[::-1])

    assert len(first) == 2
    assert second == first[::-1]


def test_a_model_that_was_not_exported_is_no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mend is named: export it once, or use the rules."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    with ResponseCache.open() as kept, pytest.raises(EquipoiseError, match="agent 'nobody' is no exported model: run"):
        asking.agent("nobody", tmp_path, kept, tokens=5, batch_size=2, progress=silent)
