"""Reading YAML files, the project's, its user's and a stranger's, with a one-line message for every error."""

import json
import re
from collections.abc import Hashable, Iterator
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from yaml.constructor import SafeConstructor

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import SURROGATE, fault, read_text

M = TypeVar("M", bound=BaseModel)
MOST = 1_000_000
"""Most values of a file: some lines of aliases of aliases can stand for any number."""
DEEPEST = 10_000
"""Deepest nesting for which the loader in C is trusted: somewhat above it, its stack overflows and ends the process."""


class _Strict(SafeConstructor):
    """A constructor that rejects duplicate keys, of which plain YAML keeps the last, and half of a surrogate pair."""

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> str:
        text = str(super().construct_scalar(node))
        if SURROGATE.search(text):
            problem = "half of a surrogate pair"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return text

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002  (inherited signature)
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                break  # the base class rejects it
            if key in seen:
                problem = f"duplicate key {key!r} in one mapping"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


class _Loader(_Strict, yaml.SafeLoader):
    """The loader in Python, whose messages name what is wrong."""


class _FastLoader(_Strict, yaml.CSafeLoader):
    """The loader in C, eight times as fast."""


for _kind in (_Loader, _FastLoader):
    # PyYAML follows YAML 1.1, in which 1e-3 is text; to YAML 1.2, and so to DVC, it is a number.
    _kind.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
    )


def read_yaml(path: Path) -> object:
    """Read a YAML file as plain values; malformed YAML or a duplicate key raises an EquipoiseError with the line."""
    return parsed(path, read_text(path))


def parsed(path: Path, text: str) -> object:
    """Read the text of a YAML file as `read_yaml` does."""
    if not _is_deep(text):
        # A fault is described by the slow loader, which may also find none.
        with suppress(yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
            return yaml.load(text, Loader=_FastLoader)  # noqa: S506  (a SafeLoader)
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        message = f"{path}, line {line}: malformed YAML ({error.problem}): fix that line or the one before it"
        raise EquipoiseError(message) from error
    except RecursionError as error:
        raise EquipoiseError(f"{path}: nested too deeply: write flatter values") from error
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError) as error:
        # A control character; a date or number that does not exist; a tag that PyYAML does not check (`!!bool maybe`).
        problem = next(iter(str(error).splitlines()), type(error).__name__)
        raise EquipoiseError(f"{path}: malformed YAML ({problem}): fix the file") from error


def _is_deep(text: str) -> bool:
    """Whether values are nested more than DEEPEST times, which the parser's events tell without a stack of calls."""
    # Each level has a bracket of its own, or a column of a line; a question mark and a dash may share one.
    if text.count("[") + text.count("{") + 2 * max(map(len, text.splitlines()), default=0) <= DEEPEST:
        return False
    depth = 0
    with suppress(yaml.YAMLError):
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                return True
    return False


def read_content(path: Path, *, without: str = "") -> object:
    """Read a YAML file as plain values of a bounded number, without a key of its mapping."""
    value = read_yaml(path)
    if isinstance(value, dict):
        value.pop(without, None)
    _require_bounded(str(path), value)
    return value


def load_yaml(path: Path, kind: type[M]) -> M:
    """Read a YAML file as a model; errors name the line of malformed YAML, or the path of an invalid field."""
    return strictly(str(path), read_yaml(path), kind)


def strictly(where: str, value: object, kind: type[M]) -> M:
    """Validate the plain values of a YAML file as a model; an EquipoiseError begins with `where`.

    Types are strict: text is not a number, true is not 1, and 1.0 is not a whole number. They are those of JSON, so
    that a list is a tuple and text a path.
    """
    _require_bounded(where, value)
    try:
        for part in _parts(value):
            _require_text_keys(part)
        validator: TypeAdapter[M] = _adapter(kind)
        return validator.validate_json(json.dumps(value, default=_as_text), strict=True)
    except TypeError as error:  # a set or a binary value
        raise EquipoiseError(f"{where}: {error}: write it as text, in quotes") from error
    except ValidationError as error:
        raise EquipoiseError(f"{where}: {fault(error)}") from error


@cache
def _adapter(kind: type[M]) -> TypeAdapter[M]:
    """Make the validator of a type once, which takes milliseconds."""
    return TypeAdapter(kind)


def _as_text(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{value} is not text, a number, true or false")


def _parts(value: object) -> Iterator[object]:
    """Yield a value and all values within it, an alias as often as it is used."""
    yield value
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _parts(part)


def _require_bounded(where: str, value: object) -> None:
    """Refuse more than MOST values, and values within themselves."""
    try:
        if any(count == MOST for count, _ in enumerate(_parts(value))):
            raise EquipoiseError(f"{where}: more than {MOST:,} values: write out what aliases repeat, or split it")
    except RecursionError as error:
        fix = "write flatter values"
        raise EquipoiseError(f"{where}: nested too deeply, or an alias within its own value: {fix}") from error


def _require_text_keys(value: object) -> None:
    """Refuse keys that JSON has no form for, with a TypeError."""
    if isinstance(value, dict) and (names := [name for name in value if not isinstance(name, str)]):
        raise TypeError(f"the key {names[0]!r} is not text")
