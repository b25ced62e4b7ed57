"""What files say, and which modules they import: digests that comments, layout and docstrings do not change.

A digest depends on the file alone, neither on the version of Python nor on the machine.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from hashlib import sha256
from pathlib import Path

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.yamlfile import read_content

State = tuple[int, int]
"""When a file was written, in nanoseconds, and its size in bytes."""


def digest(path: Path, *, without: str = "") -> str:
    """Return the sha256 of a file's content: the syntax tree of Python, the values of YAML, else the bytes.

    `without` names a key of a YAML mapping that does not count.

    Raises:
        EquipoiseError: The file cannot be read, or is malformed; the message names the file and the line.
    """
    return _digest(path, _state(path), without)


@cache
def _digest(path: Path, state: State, without: str) -> str:
    match path.suffix:
        case ".py":
            parts: list[str] = []
            _write(_parsed(path, state), parts)
            content = " ".join(parts)
        case ".yaml":
            content = json.dumps(read_content(path, without=without), default=str, ensure_ascii=False)
        case _:
            return jsonl.sha256(path)
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def imported(path: Path) -> frozenset[str]:
    """Name every module that a Python file imports when it runs, in functions too; `from a import b` gives a and a.b.

    Raises EquipoiseError, as `digest` does.
    """
    return _imported(path, _state(path))


@cache
def _imported(path: Path, state: State) -> frozenset[str]:
    return frozenset(imports(_parsed(path, state)))


@cache
def _parsed(path: Path, _: State) -> ast.Module:
    try:
        return ast.parse(jsonl.read_text(path))
    except SyntaxError as error:
        raise EquipoiseError(f"{path}, line {error.lineno}: {error.msg}: correct it") from error


def _state(path: Path) -> State:
    """Tell one version of a file from the next, so that each is read once."""
    try:
        status = path.stat()
    except OSError as error:
        raise EquipoiseError(f"{path}: cannot be read ({error.strerror}): restore it") from error
    return status.st_mtime_ns, status.st_size


def imports(node: ast.AST) -> set[str]:
    """Name every module that code imports, as `imported` does."""
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        if _is_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            names |= {alias.name for alias in child.names}
        elif isinstance(child, ast.ImportFrom) and child.module:
            names |= {child.module, *(f"{child.module}.{alias.name}" for alias in child.names)}
        names |= imports(child)
    return names


def _is_type_checking(node: ast.AST) -> bool:
    """Tell whether a node is `if TYPE_CHECKING:`, which does not run."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _write(value: object, parts: list[str]) -> None:
    """Write a syntax tree without places and docstrings, the same in every version of Python.

    Fields that are empty are left out, since each version adds some, and so is empty text, which some versions find in
    f-strings. Text that is a statement by itself is a docstring, of whatever it stands under.
    """
    match value:
        case ast.Expr(value=ast.Constant(value=str())) | None | []:
            return
        case ast.JoinedStr(values=values):
            parts.append("f-string")
            _write([part for part in values if not (isinstance(part, ast.Constant) and part.value == "")], parts)
        case ast.AST():
            parts.append(f"({type(value).__name__}")
            for name in value._fields:
                parts.append(name)
                _write(getattr(value, name, None), parts)
                if parts[-1] is name:
                    parts.pop()
            parts.append(")")
        case list():
            parts.append("[")
            for part in value:
                _write(part, parts)
            parts.append("]")
        case _:
            parts.append(repr(value))
