"""A backend without a model, for the tests of copies: it says in which process, with which devices, it answers."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Self

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Prompt, Response

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def prompt(key: str) -> Prompt:
    """Build a prompt."""
    return Prompt(key=key, system="", prefix="", turns=("Why?",), candidates=())


class Copy:
    """Answers with its devices and its process; some prompts break it."""

    def __enter__(self) -> Self:
        """Give the open backend."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer, raise, die or wait, as the prompt's key says."""
        for asked in prompts:
            match asked.key:
                case "raise":
                    message = "a fault"
                    raise EquipoiseError(message)
                case "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "wait":
                    time.sleep(600)
            yield Response(
                key=asked.key,
                replies=(os.environ["CUDA_VISIBLE_DEVICES"], str(os.getpid())),
                finished=(True, True),
                log_likelihood={},
                prompt_tokens=1,
                generated_tokens=1,
            )
