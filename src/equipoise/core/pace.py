"""The pace of a run: how long a study's answers took on this machine, to say how long the next run takes.

It is kept in `.cache/`, since it is not a result: it differs between machines, and an answer from the cache takes no
time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from equipoise.core import cache, jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.row import Frozen

P = TypeVar("P")
R = TypeVar("R")


class Pace(Frozen):
    """The prompts that a model was asked in a study, and the seconds that its answers took; `model` is its identity."""

    model: str
    prompts: int
    seconds: float

    @property
    def per_prompt(self) -> float:
        """Seconds a prompt."""
        return self.seconds / self.prompts


def read(study: str, manifest: Manifest) -> Pace | None:
    """Read the pace of a model in a study; None where it is not known."""
    with suppress(EquipoiseError):
        pace = jsonl.read_one(_file(study), Pace)
        return pace if pace.model == manifest.identity and pace.prompts else None
    return None


class Clock:
    """Times what asks prompts: `moved` is to be called with the numbers of answered and of all prompts.

    The first number that it gets in a call is that of answers in the cache, which are not counted.
    """

    def __init__(self, study: str, manifest: Manifest, told: Callable[[int, int], object]) -> None:
        """Take the study and the model that are timed; `told` gets all progress too."""
        self._study, self._manifest, self._told = study, manifest, told
        self._known: int | None = None
        self._answered = 0

    def moved(self, done: int, total: int) -> None:
        """Note the number of answered prompts, and pass it on."""
        if self._known is None:
            self._known = done
        self._answered = done
        self._told(done, total)

    def timed(self, ask: Callable[[Sequence[P]], Iterator[R]]) -> Callable[[Sequence[P]], Iterator[R]]:
        """Give a function that asks the same, and adds the time to the study's pace."""

        def asked(prompts: Sequence[P]) -> Iterator[R]:
            self._known, self._answered, began = None, 0, perf_counter()
            answers = ask(prompts)
            if new := self._answered - (self._known or 0):
                self._add(new, perf_counter() - began)
            return answers

        return asked

    def _add(self, prompts: int, seconds: float) -> None:
        before = read(self._study, self._manifest)
        if before is not None:
            prompts, seconds = prompts + before.prompts, seconds + before.seconds
        pace = Pace(model=self._manifest.identity, prompts=prompts, seconds=seconds)
        # A pace that cannot be kept stops no run.
        with suppress(OSError, EquipoiseError):
            _file(self._study).parent.mkdir(parents=True, exist_ok=True)
            jsonl.write_json(_file(self._study), pace.model_dump())


def _file(study: str) -> Path:
    return cache.folder() / "pace" / f"{study}.json"
