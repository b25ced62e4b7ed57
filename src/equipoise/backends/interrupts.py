"""Ctrl-C taken as a wish: heard at once, obeyed where nothing is lost by it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def heard(wake: Callable[[], object]) -> Iterator[threading.Event]:
    """Hold back Ctrl-C and give the event that it sets; `wake` is called then, to end a wait.

    A second Ctrl-C is a KeyboardInterrupt on the spot. Outside the main thread, which alone gets signals, nothing is
    held back.
    """
    wished = threading.Event()

    def hear(*_: object) -> None:
        if wished.is_set():
            raise KeyboardInterrupt
        wished.set()
        wake()

    if threading.current_thread() is not threading.main_thread():
        yield wished
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield wished
    finally:
        signal.signal(signal.SIGINT, before)
