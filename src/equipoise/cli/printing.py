"""What commands print for programs: JSON on standard output, a value a line, and nothing beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SHOWN = 3
"""Ids that a line names before it leaves out the rest."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object: the files written, with their rows.")]


def print_json(value: object) -> None:
    """Print a value as one line of JSON; NaN and infinities, which JSON has not, are refused."""
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


def written(files: Mapping[Path, int], **more: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """Say what a command wrote: the rows of each file under `written`, and what else there is to say of them."""
    return {"written": {path.as_posix(): rows for path, rows in files.items()}, **more}


def few(ids: list[str]) -> str:
    """Name the first ids of a list."""
    return f"{', '.join(ids[:SHOWN])}{' …' if ids[SHOWN:] else ''}"
