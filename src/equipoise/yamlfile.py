"""YAML files read into pydantic models, with one clear line for every fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from equipoise.errors import EquipoiseError
from equipoise.records import fault, read_text

if TYPE_CHECKING:
    from pathlib import Path

M = TypeVar("M", bound=BaseModel)


def load_yaml(path: Path, kind: type[M]) -> M:
    """Read a YAML file as a model; malformed YAML names its line, a bad field its path in the file."""
    try:
        value = yaml.safe_load(read_text(path))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        message = f"{path}, line {line}: malformed YAML ({error.problem}): mend that line"
        raise EquipoiseError(message) from error
    except (yaml.YAMLError, ValueError) as error:  # a control character; a date or number that does not exist
        message = f"{path}: malformed YAML ({str(error).splitlines()[0]}): mend the file"
        raise EquipoiseError(message) from error
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        message = f"{path}: {fault(error)}"
        raise EquipoiseError(message) from error
