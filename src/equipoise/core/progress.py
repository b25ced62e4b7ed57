"""A progress bar for long-running work, shown only where standard error is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from threading import Lock, Timer

from equipoise.core.visible import visible

Move = Callable[[int, int], None]


PATIENCE = 2.0
"""Seconds of work after which the bar appears."""


@contextmanager
def progress(what: str) -> Iterator[Move]:
    """Show a progress bar while the block runs; yields the function that updates it (done, total).

    The bar is written to standard error if that is a terminal, and appears after two seconds. Until its first update
    it shows only the elapsed time. A nested call updates the outer bar: a stage or command has one bar.
    """
    if outer := _BAR.get():
        yield outer.move
        return
    bar = _Bar(what) if sys.stderr.isatty() else _NoBar()
    token = _BAR.set(bar)
    try:
        with bar.waiting():
            yield bar.move
    finally:
        _BAR.reset(token)


@contextmanager
def aside() -> Iterator[None]:
    """Hide the bar, if there is one, while other output is shown: a table, or the hub's own download bars."""
    bar = _BAR.get()
    with bar.hidden() if bar else nullcontext():
        yield


def say(line: str) -> None:
    """Write a line to standard error, clear of a progress bar."""
    with aside():
        print(visible(line), file=sys.stderr)  # noqa: T201


class _NoBar:
    """A bar that is never shown."""

    def move(self, done: int, total: int) -> None:
        """Do nothing."""

    def waiting(self) -> AbstractContextManager[None]:
        """Show nothing."""
        return nullcontext()

    def hidden(self) -> AbstractContextManager[None]:
        """Show nothing."""
        return nullcontext()


class _Bar(_NoBar):
    """A bar that appears once it is due, unless it is hidden."""

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
            # Soft wrap: otherwise rich breaks printed lines longer than the terminal is wide, including JSON.
            console=Console(stderr=True, soft_wrap=True),
            # Output to the same terminal is printed above the bar; redirected output is left alone.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._bar.add_task(what, total=None, count="")
        self._due = self._hidden = False
        self._turning = Lock()

    def move(self, done: int, total: int) -> None:
        """Update the bar, whether or not it is shown yet."""
        self._bar.update(self._task, completed=done, total=total, count=f"{done}/{total}")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Show the bar from `PATIENCE` seconds on, until the work ends."""
        patience = Timer(PATIENCE, self._turn, kwargs={"due": True})
        patience.daemon = True
        patience.start()
        try:
            yield
        finally:
            patience.cancel()
            # The timer may be starting the bar at this moment.
            patience.join()
            self._turn(due=False)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the bar within the block."""
        self._turn(hidden=True)
        try:
            yield
        finally:
            self._turn(hidden=False)

    def _turn(self, *, due: bool | None = None, hidden: bool | None = None) -> None:
        """Start or stop the bar according to whether it is due and not hidden."""
        with self._turning:
            self._due = self._due if due is None else due
            self._hidden = self._hidden if hidden is None else hidden
            wanted = self._due and not self._hidden
            if wanted and not self._bar.live.is_started:
                self._bar.start()
            elif not wanted and self._bar.live.is_started:
                self._bar.stop()


_BAR: ContextVar[_NoBar | None] = ContextVar("_BAR", default=None)
"""The bar of the current work."""
