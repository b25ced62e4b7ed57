"""Running a command: its code imported, its errors one line each, and the files of its example found."""

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from equipoise.core.command import Command
from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.core.shipped import PIPELINE, shipped
from equipoise.core.stage import one_line

EXAMPLES = Path("data/examples")
HEALER = "doctor"
"""The command that heals dvc.lock itself, and reports it among its findings."""


def guarded(command: Command) -> Any:  # noqa: ANN401  (each command has its own parameters)
    """Import the function of a command, with its errors as one line each."""
    module, _, name = command.function.partition(":")
    function = getattr(import_module(module), name)
    run = one_line(_in_checkout(command, function) if command.checkout else _with_examples(function))
    return run if command.failure == 1 else _failing_with(command.failure, run)


def _failing_with(code: int, function: Callable[..., None]) -> Callable[..., None]:
    """Exit with a code of its own on an error, whether it is the user's or ours."""

    @wraps(function)
    def run(*args: object, **kwargs: object) -> None:
        try:
            function(*args, **kwargs)
        except (typer.Exit, BrokenPipeError):
            raise
        except SystemExit as stopped:
            typer.echo(stopped.code, err=True)
            sys.exit(code)
        except Exception:  # noqa: BLE001  (Python would exit with 1, which is a result)
            traceback.print_exc()
            sys.exit(code)

    return run


def _in_checkout(command: Command, function: Callable[..., None]) -> Callable[..., None]:
    """Heal dvc.lock before the command; where an error arises outside of a checkout, say first that it is for one."""

    @wraps(function)
    def run(*args: object, **kwargs: object) -> None:
        torn = "" if command.words == HEALER else _heal()
        try:
            with extras_named():
                function(*args, **kwargs)
        except EquipoiseError as error:
            here = Path.cwd()
            if any((folder / PIPELINE).is_file() for folder in (here, *here.parents)):
                if torn and "dvc.lock" in str(error):
                    raise EquipoiseError(torn) from error
                raise
            message = f"equipoise {command.words} needs a clone of the repository, and this folder is not in one"
            raise EquipoiseError(f"{message}: {error}") from error

    return run


def _heal() -> str:
    """Heal dvc.lock, remove dangling links, and say so on standard error; return why the lock cannot be healed."""
    from equipoise.core import dvc_lock
    from equipoise.pipeline.ready import remove_dangling

    try:
        for line in remove_dangling():
            typer.echo(line, err=True)
        if line := dvc_lock.heal():
            typer.echo(line, err=True)
    except EquipoiseError as error:
        return str(error)
    return ""


def _with_examples(function: Callable[..., None]) -> Callable[..., None]:
    """Let the example of every --help run anywhere: outside a checkout, its files are the package's."""

    def located(value: object) -> object:
        match value:
            case list():
                return [located(item) for item in value]
            case Path() if value.parent == EXAMPLES:
                return shipped(value)
            case str() if Path(value).parent == EXAMPLES:  # a file or an address
                return str(shipped(value))
            case _:
                return value

    @wraps(function)
    def run(**kwargs: object) -> None:
        function(**{name: located(value) for name, value in kwargs.items()})

    return run
