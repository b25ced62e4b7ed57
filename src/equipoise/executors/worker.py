"""What runs on a node: a backend that is opened there, and answers one share of the prompts after another.

Ray is sent this module as code, and all else that goes in and out is plain rows and bytes: a node finds our package
only once a worker has been told where it lies.
"""

from __future__ import annotations

import os
import pickle
import socket
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equipoise.backends.base import Backend
    from equipoise.records import Response

TOGETHER = 0.2
"""Seconds for which finished answers are held back, so that one message takes several: all that a kill can lose."""

Row = dict[str, Any]


class Worker:
    """One backend in a process of its own, on a node of a cluster."""

    def __init__(self, code: str, root: str) -> None:
        """Take the folder of our code and that of the project; where the node has neither, its own package serves."""
        sys.path.insert(0, code)
        os.environ["DVC_ROOT"] = root
        self._backend: Backend
        self._answers: Iterator[Response]

    def place(self) -> None:
        """Answer as soon as a node has made room for this worker."""

    def open(self, make: bytes) -> str | None:
        """Open the backend; give the line of an error, if that cannot be done here."""
        try:
            from equipoise.errors import EquipoiseError
        except ImportError as error:
            mend = "install it there, or share the folder of this project with it"
            return f"equipoise cannot be imported on {socket.gethostname()} ({error}): {mend}"
        try:
            self._backend = pickle.loads(make)().__enter__()  # noqa: S301  (sent by the stage itself)
        except EquipoiseError as error:
            return f"{error} (on {socket.gethostname()})"
        return None

    def work(self, share: list[Row] | None) -> tuple[list[Row], bool, str | None]:
        """Begin a share of the prompts, or go on with the one begun (None), for about `TOGETHER` seconds.

        Gives the responses finished in that time, whether the share is done, and the line of an error.
        """
        from equipoise.errors import EquipoiseError
        from equipoise.records import Prompt

        began, finished = monotonic(), list[Row]()
        try:
            if share is not None:
                self._answers = iter(self._backend.answer([Prompt.model_validate(row) for row in share]))
            for response in self._answers:
                finished.append(response.model_dump())
                if monotonic() - began > TOGETHER:
                    return finished, False, None
        except EquipoiseError as error:
            return finished, True, str(error)
        return finished, True, None

    def close(self) -> None:
        """Let the backend go."""
        self._backend.__exit__(None, None, None)
