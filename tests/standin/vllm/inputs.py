"""What a request is given."""

from __future__ import annotations

from typing import Any


def tokens_input(prompt_token_ids: list[int], *, prompt: str | None = None, cache_salt: str | None = None) -> Any:
    """Build the input of a prompt in tokens."""
    given = {"type": "token", "prompt_token_ids": prompt_token_ids}
    return given | {name: value for name, value in (("prompt", prompt), ("cache_salt", cache_salt)) if value}
