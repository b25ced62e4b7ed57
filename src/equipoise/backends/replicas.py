"""Copies of a backend that share out the prompts, each in a process of its own with GPUs of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Self

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from types import TracebackType

    from equipoise.backends.base import Backend
    from equipoise.core.records import Prompt, Response

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended."""


class Replicas:
    """As many copies of a backend as there are groups of devices, opened anew each time that prompts come."""

    def __init__(self, make: Callable[[], Backend], devices: Sequence[str]) -> None:
        """Hold what makes a copy, and for each copy what CUDA_VISIBLE_DEVICES shall be."""
        self._make = make
        self._devices = devices

    def __enter__(self) -> Self:
        """Give the open backend."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held open between prompts."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt. See `Backend.answer`.

        Raises:
            EquipoiseError: A copy raised one, or its process ended on the way.
        """
        asked = list(prompts)
        context = multiprocessing.get_context("spawn")
        running: dict[Connection, BaseProcess] = {}
        try:
            for number, devices in enumerate(self._devices):
                if share := asked[number :: len(self._devices)]:
                    reader, writer = context.Pipe(duplex=False)
                    process = context.Process(target=_answer, args=(self._make, devices, share, writer))
                    process.start()
                    writer.close()
                    running[reader] = process
            while running:
                ready = wait(list(running))
                for reader in [one for one in running if one in ready]:
                    yield from _received(reader, running)
        finally:
            for left in running.values():
                left.terminate()
            for left in running.values():
                left.join()


def _received(reader: Connection, running: dict[Connection, BaseProcess]) -> Iterator[Response]:
    """Take what a copy sent: a response, the line of its error, or nothing more."""
    try:
        sent: Response | str = reader.recv()
    except EOFError:
        process = running.pop(reader)
        process.join()
        if process.exitcode:
            message = f"a replica of the model ended with code {process.exitcode}: run again; finished answers are kept"
            raise EquipoiseError(message) from None
        return
    if isinstance(sent, str):
        raise EquipoiseError(sent)
    yield sent


def _answer(make: Callable[[], Backend], devices: str, share: Sequence[Prompt], writer: Connection) -> None:
    """Answer a share of the prompts, in a process of its own."""
    os.environ["CUDA_VISIBLE_DEVICES"] = devices
    # The model is let go on the way out, and with it the processes that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with make() as backend:
            for response in backend.answer(share):
                writer.send(response)
    except EquipoiseError as error:
        writer.send(str(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        writer.close()
