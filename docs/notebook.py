"""Run the cells of a notebook in order, and write what they show: python docs/notebook.py docs/api.ipynb.

Only text is written: for a last expression, the text that Python shows.
"""

import ast
import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any


def ran(notebook: dict[str, Any]) -> dict[str, Any]:
    """Give a notebook with fresh outputs; an error in a cell is raised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        number += 1
        text = _shown("".join(cell["source"]), names)
        outputs = [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}] if text else []
        cells.append({**cell, "execution_count": number, "outputs": outputs})
    return {**notebook, "cells": cells}


def _shown(source: str, names: dict[str, Any]) -> str:
    """Run one cell, and give what it prints and its last expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    with redirect_stdout(StringIO()) as printed:
        exec(compile(ast.Module(body, type_ignores=[]), "cell", "exec"), names)  # noqa: S102  (our own notebook)
        value = None if last is None else eval(compile(last, "cell", "eval"), names)  # noqa: S307  (the same)
        if value is not None:
            print(repr(value))  # noqa: T201  (captured)
    return printed.getvalue()


def main(path: Path) -> None:
    """Run a notebook and write it."""
    notebook = ran(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
