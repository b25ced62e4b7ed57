"""Reading YAML files, with a one-line message for every error."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import SURROGATE, fault, read_text

M = TypeVar("M", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """A safe loader that rejects duplicate keys, of which plain YAML keeps the last, and half of a surrogate pair."""

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


def read_yaml(path: Path) -> object:
    """Read a YAML file as plain values; malformed YAML or a duplicate key raises an EquipoiseError with the line."""
    try:
        return yaml.load(read_text(path), Loader=_Loader)  # noqa: S506  (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        message = f"{path}, line {line}: malformed YAML ({error.problem}): fix that line or the one before it"
        raise EquipoiseError(message) from error
    except RecursionError:
        message = f"{path}: nested too deeply: give flatter values"
        raise EquipoiseError(message) from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError) as error:
        # A control character; a date or number that does not exist; a tag that PyYAML does not check (`!!bool maybe`).
        problem = next(iter(str(error).splitlines()), type(error).__name__)
        message = f"{path}: malformed YAML ({problem}): fix the file"
        raise EquipoiseError(message) from error


def load_yaml(path: Path, kind: type[M]) -> M:
    """Read a YAML file as a model; errors name the line of malformed YAML, or the path of an invalid field."""
    value = read_yaml(path)
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        message = f"{path}: {fault(error)}"
        raise EquipoiseError(message) from error
