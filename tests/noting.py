"""A backend and a judge that take their time, and note on disk who was asked what, for many processes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from equipoise.judge.judging import Judging

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from equipoise.core.records import Prompt, Response
    from equipoise.judge.judging import Pair, Triple


class Noting:
    """Answers a prompt by its own words in capitals; the prompt `fatal` ends the process, and `refused` is an error."""

    def __init__(self, log: str, pause: float) -> None:
        """Take the file for the notes, and the seconds that each prompt takes."""
        self._log, self._pause = Path(log), pause

    def __enter__(self) -> Self:
        """Give the open backend."""
        return self

    def __exit__(self, *_: object) -> None:
        """Note the leaving."""
        self._note("closed")

    def _note(self, what: str) -> None:
        note(self._log, what)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer one prompt after another."""
        from equipoise.core.errors import EquipoiseError
        from equipoise.core.records import Response

        for prompt in prompts:
            self._note(prompt.key)
            time.sleep(self._pause)
            if prompt.turns == ("fatal",):
                os._exit(1)
            if prompt.turns == ("refused",):
                message = "the prompt is refused"
                raise EquipoiseError(message)
            yield Response(
                key=prompt.key,
                study=prompt.study,
                replies=(prompt.turns[0].upper(),),
                finished=(True,),
                log_likelihood={"a": -1 / 3},
                prompt_tokens=1,
                generated_tokens=1,
            )


class NotingJudging(Judging):
    """Judges pairs as ever; notes the keys of what it hands on, and rests before that."""

    def __init__(self, log: str, pause: float, *how: Any) -> None:
        """Take the file for the notes, the seconds of rest, and what `Judging` takes."""
        super().__init__(*how)
        self._log, self._pause = Path(log), pause

    def process(self, items: Mapping[str, Pair]) -> Iterator[dict[str, Triple]]:
        """Judge some pairs after others."""
        for judged in super().process(items):
            note(self._log, *judged)
            time.sleep(self._pause)
            yield judged


def note(log: Path, *what: str) -> None:
    """Add lines to the notes: the process, and what it did."""
    with log.open("a", encoding="utf-8") as file:
        file.writelines(f"{os.getpid()} {one}\n" for one in what)
