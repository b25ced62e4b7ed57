"""A progress bar for work that takes its time, seen where standard error is a terminal and nowhere else."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from threading import Lock, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Move = Callable[[int, int], None]

PATIENCE = 2.0
"""Seconds of work after which the bar comes."""


@contextmanager
def progress(what: str) -> Iterator[Move]:
    """Show a progress bar while work goes on, and give the function that moves it (done, total).

    It is on standard error where that is a terminal, and comes once the work has taken two seconds. Until it is moved
    it tells only that work goes on, and for how long. Work within work moves the outer bar: a stage or command has one.
    """
    if outer := _BAR.get():
        yield outer.move
        return
    bar = _Bar(what) if _seen() else _NoBar()
    token = _BAR.set(bar)
    try:
        with bar.waiting():
            yield bar.move
    finally:
        _BAR.reset(token)


@contextmanager
def aside() -> Iterator[None]:
    """Take the bar away, if there is one, while other things are shown: a table, or the bars of the hub's downloads."""
    bar = _BAR.get()
    with bar.hidden() if bar else nullcontext():
        yield


def _seen() -> bool:
    """Whether somebody sees standard error."""
    return sys.stderr.isatty()


class _NoBar:
    """A bar that nobody would see."""

    def move(self, done: int, total: int) -> None:
        """Leave it."""

    def waiting(self) -> AbstractContextManager[None]:
        """Show nothing."""
        return nullcontext()

    def hidden(self) -> AbstractContextManager[None]:
        """Show nothing."""
        return nullcontext()


class _Bar(_NoBar):
    """A bar that comes when it is due, unless it is hidden."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            # Soft: rich would break a printed line that is longer than the terminal is wide, a line of JSON too.
            console=Console(stderr=True, soft_wrap=True),
            # What is printed to the same terminal stands above the bar; what goes elsewhere is left alone.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._bar.add_task(what, total=None, count="")
        self._due = self._hidden = False
        self._turning = Lock()

    def move(self, done: int, total: int) -> None:
        """Move the bar, whether it is there or not yet."""
        self._bar.update(self._task, completed=done, total=total, count=f"{done}/{total}")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Show the bar once patience is over, until the work ends."""
        patience = Timer(PATIENCE, self._turn, kwargs={"due": True})
        patience.daemon = True
        patience.start()
        try:
            yield
        finally:
            patience.cancel()
            # It may be bringing the bar just now.
            patience.join()
            self._turn(due=False)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the bar away for a while."""
        self._turn(hidden=True)
        try:
            yield
        finally:
            self._turn(hidden=False)

    def _turn(self, *, due: bool | None = None, hidden: bool | None = None) -> None:
        """Bring the bar or take it away, as it is now due and hidden."""
        with self._turning:
            self._due = self._due if due is None else due
            self._hidden = self._hidden if hidden is None else hidden
            wanted = self._due and not self._hidden
            if wanted and not self._bar.live.is_started:
                self._bar.start()
            elif not wanted and self._bar.live.is_started:
                self._bar.stop()


_BAR: ContextVar[_NoBar | None] = ContextVar("_BAR", default=None)
"""The bar of the work that is under way."""
