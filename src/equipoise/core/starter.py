"""Commented files to start from, which `equipoise new` writes; one that its check refuses is not left behind."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.printing import report, written
from equipoise.core.visible import SHORT, line

UNDERSCORED, DASHED = re.compile(r"[a-z0-9_]+"), re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
LONGEST = 100
"""Characters of a name, which becomes that of a file, a column or a heading."""
Name = Annotated[str, typer.Argument(help="Name in lower-case letters, digits and underscores.", metavar="NAME")]


def named(name: str, allowed: re.Pattern[str] = UNDERSCORED) -> str:
    """Refuse a name by which its file would not be found, and any work outside a project."""
    if not params.FILE.is_file():
        raise EquipoiseError(f"no {params.FILE} here: run this in the folder of the project")
    if len(name) > LONGEST:
        raise EquipoiseError(f"the name {line(name[:LONGEST])}…: {len(name)} characters: use at most {LONGEST}")
    if not allowed.fullmatch(name):
        raise EquipoiseError(f"the name {line(name)!r}: use lower-case letters, digits and underscores")
    return name


def filled(template: Path, **values: object) -> str:
    """Fill in the values of a template."""
    return Template(template.read_text(encoding="utf-8")).substitute(values)


def quoted(text: str) -> str:
    """Write a text for the double quotes of YAML, which has JSON's escapes but no pairs of surrogates."""
    return "".join(character if ord(character) >= SHORT else json.dumps(character)[1:-1] for character in text)


def make(files: Mapping[Path, str], check: Callable[[], object], before: str | None = None) -> None:
    """Write new files, or one with its text `before` extended; what the check refuses is taken back."""
    for path in files:
        if before is None and path.exists():
            raise EquipoiseError(f"{path} already exists: choose another name, or remove the file")
    try:
        for path, text in files.items():
            jsonl.write_text(path, text)
        try:
            check()
        except EquipoiseError as error:
            raise EquipoiseError(f"{error} (taken back: nothing was written)") from error
    except BaseException:
        for path in files:
            if before is None:
                path.unlink(missing_ok=True)
            else:
                jsonl.write_text(path, before)
        raise


def tell(
    files: Mapping[Path, int],
    edits: str,
    runs: Sequence[str],
    page: str,
    *,
    as_json: bool,
    otherwise: Sequence[str] = (),
) -> None:
    """Print which files were written, what to edit in them, and the commands to give then, each in a line of its own.

    `otherwise` is a condition, and the command that takes the place of the run where it holds.
    """
    steps = ["equipoise check", *runs]
    lines = [*(f"{path}: written, valid as it is" for path in files), f"edit next: {edits} ({page})"]
    lines += ["then, in this order:", *(f"  {step}" for step in steps)]
    if otherwise:
        lines += [f"{otherwise[0]}:", f"  {otherwise[1]}"]
    told = {"otherwise": [*otherwise]} if otherwise else {}
    report(written(files, edit=edits, run=steps, page=page, **told), *lines, as_json=as_json)
