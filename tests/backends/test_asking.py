"""Tests of the functions that answer prompts with an exported model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tiny
from equipoise.backends import asking
from equipoise.core import records
from equipoise.core.cache import ResponseCache
from equipoise.core.errors import EquipoiseError
from servers import FaultyServer

if TYPE_CHECKING:
    from conftest import Exported

SERVER = """\
title: A server
licence: none
backend: openai
base_url: {url}
model: some
key_env: null
generation: {{reasoning_tokens: 128, answer_tokens: 24}}
"""


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
    """The mend is named: export it once, or use the rules; a name that is not there is told as such."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    tiny.register(tmp_path, "some", tmp_path, seed=1)
    make = {"tokens": 5, "batch_size": 2, "progress": silent}
    with ResponseCache.open() as kept:
        with pytest.raises(EquipoiseError, match="agent 'some' is no exported model: run"):
            asking.agent("some", tmp_path, kept, **make)
        with pytest.raises(EquipoiseError, match="no entry 'nobody': known: some"):
            asking.agent("nobody", tmp_path, kept, **make)


def test_a_server_is_an_agent_without_an_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers messages in order, each once, in as few tokens as the agent may use."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "*")
    (tmp_path / "models").mkdir()
    with FaultyServer() as api, ResponseCache.open() as kept:
        (tmp_path / "models" / "some.yaml").write_text(SERVER.format(url=api.url), encoding="utf-8")
        reply = asking.agent("some", tmp_path, kept, tokens=5, batch_size=2, progress=silent)
        found = [reply([("You write.", "one"), ("You write.", "two")]), reply([("You write.", "two")])]

    assert found == [["ONE", "TWO"], ["TWO"]]
    assert sorted(api.turns()) == ["one", "two"]
    assert {body["max_tokens"] for body, _ in api.requests} == {5}
