"""The worker that runs on a node: it opens a process there, and takes one share of the items after another.

Ray receives this module as code, and all other data in and out is bytes: a node finds our package only once a worker
has its path.
"""

import os
import pickle
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from time import monotonic
from typing import Any

from equipoise.backends.base import Process

TOGETHER = 0.2
"""Seconds for which finished results are collected, so that one message carries several; a kill loses only these."""


class Worker:
    """One copy in an operating-system process of its own, on a node of a cluster."""

    def __init__(self, code: str, root: str) -> None:
        """Take the folders of our code and of the project; a node that has neither uses its own installed package."""
        sys.path.insert(0, code)
        os.environ["DVC_ROOT"] = root
        self._opened = ExitStack()
        self._process: Process[Any, Any]
        self._results: Iterator[Mapping[str, Any]]

    def place(self) -> None:
        """Return as soon as a node has room for this worker."""

    def open(self, make: bytes) -> str | None:
        """Open the copy; return the line of an error if that fails here."""
        try:
            from equipoise.core.errors import EquipoiseError
        except ImportError as error:
            fix = "install it there, or share the folder of this project with it"
            return f"equipoise cannot be imported on {socket.gethostname()} ({error}): {fix}"
        try:
            self._process = self._opened.enter_context(pickle.loads(make)())  # noqa: S301  (sent by the stage itself)
        except EquipoiseError as error:
            return f"{error} (on {socket.gethostname()})"
        return None

    def work(self, share: bytes | None) -> tuple[bytes, bool, str | None]:
        """Begin a share of the items (by key), or continue the current one (None), for about `TOGETHER` seconds.

        Returns the results finished in that time (by key), whether the share is done, and the line of an error.
        """
        from equipoise.core.errors import EquipoiseError

        began, finished = monotonic(), dict[str, Any]()
        try:
            if share is not None:
                self._results = iter(self._process(pickle.loads(share)))  # noqa: S301  (sent by the stage)
            for results in self._results:
                finished |= results
                if monotonic() - began > TOGETHER:
                    return pickle.dumps(finished), False, None
        except EquipoiseError as error:
            return pickle.dumps(finished), True, str(error)
        return pickle.dumps(finished), True, None

    def close(self) -> None:
        """Close the copy."""
        self._opened.close()
