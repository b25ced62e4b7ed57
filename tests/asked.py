"""Prompts put to a server of the tests, without waiting between attempts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from equipoise.backends.infer import answer_all
from equipoise.backends.openai import ApiBackend
from equipoise.core.cache import ResponseCache
from equipoise.core.records import Prompt
from equipoise.models import manifests
from equipoise.models.registry import ApiEntry, Generation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from equipoise.core.records import Response

KEY = "sk-9f8e7d-never-to-be-seen"


def entry(url: str, **change: Any) -> ApiEntry:
    """Build a registry entry."""
    fields: dict[str, Any] = {
        "title": "A server",
        "licence": "none",
        "backend": "openai",
        "base_url": url,
        "model": "some-model",
        "key_env": "TEST_KEY",
        "concurrency": 4,
        "timeout": 20.0,
        "attempts": 4,
        "generation": Generation(reasoning_tokens=50, answer_tokens=20),
    }
    return ApiEntry.model_validate(fields | change)


def prompt(key: str, *turns: str, **change: Any) -> Prompt:
    """Build a prompt without a system text."""
    fields: dict[str, Any] = {"system": "", "prefix": "", "candidates": ()}
    return Prompt(key=key, turns=turns or (key,), **(fields | change))


class Waits:
    """A pause that notes how long it was asked to be, and takes no time."""

    def __init__(self) -> None:
        """Hold no wait yet."""
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        """Note a wait and go on."""
        self.seconds.append(seconds)
        await asyncio.sleep(0)


def ask(model: ApiEntry, prompts: Sequence[Prompt], pause: Waits | None = None) -> dict[str, Response]:
    """Answer prompts, without waiting between attempts."""
    with ApiBackend("some", model, pause or Waits()) as backend:
        return {response.key: response for response in backend.answer(prompts)}


def run(model: ApiEntry, prompts: Sequence[Prompt], path: Path) -> list[Response]:
    """Answer prompts through a cache on disk, as the infer stage does."""
    manifest = manifests.describe("some", model, path.parent)
    with ResponseCache(path) as cache:
        return list(
            answer_all(
                prompts,
                manifest=manifest,
                generation=model.generation,
                cache=cache,
                open_backend=lambda: ApiBackend("some", model, Waits()),
                progress=lambda *_: None,
            )
        )
