"""How a stage script is run: arguments from its function's signature, and one clear line for a fault."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


P = ParamSpec("P")


def one_line(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command so that an EquipoiseError or Ctrl-C becomes one line on standard error and exit code 1."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except EquipoiseError as error:
            sys.exit(f"error: {error}")
        except KeyboardInterrupt:
            sys.exit("interrupted: finished work is kept; run the same command again to go on")

    return guarded


def run(main: Callable[..., None]) -> None:
    """Run a stage's main function with the arguments of its command line."""
    import typer

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(one_line(main))
    app()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar with the time left on standard error, and give the function that moves it (done, total)."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
