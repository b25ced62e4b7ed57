"""The command line: `equipoise --help`. A command's code is imported only when that command is run."""

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

import equipoise
from equipoise import studies
from equipoise.cli.commands import FIRST, GROUPS, SHARED
from equipoise.cli.running import guarded
from equipoise.core.command import Command


def _of_studies() -> Iterator[Command]:
    """Collect the commands of the studies, from the module `commands` of each folder."""
    for folder in pkgutil.iter_modules(studies.__path__, f"{studies.__name__}."):
        if folder.ispkg and find_spec(name := f"{folder.name}.commands"):
            yield from import_module(name).COMMANDS


COMMANDS: dict[str, Command] = {
    command.words: command
    for command in sorted((*SHARED, *_of_studies()), key=lambda command: command.group and command.words)
}
"""Every command by its words. One that begins another's words, as models does, runs by itself too."""


class LazyGroup(TyperGroup):
    """A group that lists its commands by their help in `COMMANDS`, and imports only the one that is run or shown."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  (typer keeps the types to itself)
        """Find the command that the arguments name, and load it."""
        name, command, rest = super().resolve_command(ctx, args)
        words = f"{ctx.info_name} {name}" if ctx.parent else name
        return name, load(words) if words in COMMANDS else command, rest


def load(words: str) -> Any:  # noqa: ANN401  (typer keeps the type to itself)
    """Import a command of `COMMANDS`, with its subcommands."""
    app = typer.Typer(add_completion=False)
    command, below = COMMANDS[words], [other for other in COMMANDS.values() if other.group == words]
    if below:
        app.callback(invoke_without_command=True, **_told(command, function := guarded(command)))(function)
    for listed in below or [command]:
        app.command(listed.name, **_told(listed, function := guarded(listed)))(function)
    return typer.main.get_command(app)


def _told(command: Command, function: Any) -> dict[str, Any]:  # noqa: ANN401  (each has its own parameters)
    """Give the help of a command, in which brackets are not markup: equipoise[inspect]."""
    return {"help": escape(inspect.getdoc(function) or ""), "epilog": escape(command.epilog)}


def _main() -> typer.Typer:
    """Put the groups together, with the help of each command in its place."""
    options: dict[str, Any] = {"cls": LazyGroup, "no_args_is_help": True}
    main = typer.Typer(help=equipoise.__doc__, epilog=COMMANDS[FIRST].epilog, pretty_exceptions_enable=False, **options)
    groups = {"": main}
    for name, summary in GROUPS.items():
        first = next(command for command in COMMANDS.values() if command.group == name)
        groups[name] = typer.Typer(help=summary, epilog=first.epilog, **options)
        main.add_typer(groups[name], name=name)
    for command in COMMANDS.values():
        if command.group in groups:
            groups[command.group].command(command.name, help=escape(command.help))(_not_loaded)
    return main


def _not_loaded() -> None:
    """Stand for a command in the list."""


app = _main()
