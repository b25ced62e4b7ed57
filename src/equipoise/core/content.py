"""Digests of what files say: comments, layout and docstrings change nothing, so that they rerun nothing.

A digest depends on the file alone, neither on the version of Python nor on the machine.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from hashlib import sha256
from pathlib import Path

from equipoise.core import jsonl
from equipoise.core.yamlfile import read_yaml


@cache
def digest(path: Path, *, without: str = "") -> str:
    """Return the sha256 of a file's content: the syntax tree of Python, the values of YAML, else the bytes.

    `without` names a key of a YAML mapping that does not count.

    Raises:
        EquipoiseError: The file cannot be read, or is malformed YAML; the message names the file and the line.
    """
    match path.suffix:
        case ".py":
            parts: list[str] = []
            _write(syntax_tree(path), parts)
            content = " ".join(parts)
        case ".yaml":
            values = read_yaml(path)
            if isinstance(values, dict):
                values.pop(without, None)
            content = json.dumps(values, default=str, ensure_ascii=False)
        case _:
            return jsonl.sha256(path)
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Parse a Python file, once."""
    return ast.parse(jsonl.read_text(path))


def _write(value: object, parts: list[str]) -> None:
    """Write a syntax tree without places and docstrings.

    Fields that are empty are left out, since each version of Python adds some. Text that is a statement by itself is a
    docstring, of whatever it stands under.
    """
    if isinstance(value, ast.AST):
        if isinstance(value, ast.Expr) and isinstance(value.value, ast.Constant) and isinstance(value.value.value, str):
            return
        parts.append(f"({type(value).__name__}")
        for name in value._fields:
            part = getattr(value, name, None)
            if part is not None and part != []:
                parts.append(name)
                _write(part, parts)
        parts.append(")")
    elif isinstance(value, list):
        parts.append("[")
        for part in value:
            _write(part, parts)
        parts.append("]")
    else:
        parts.append(repr(value))
