"""A section of a judge's params.yaml as typed settings.

It is kept apart from `equipoise.core.params`, so that a change of the main pipeline's settings does not train the judge
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from pathlib import Path

M = TypeVar("M", bound=BaseModel)


def section(path: Path, name: str, kind: type[M]) -> M:
    """Read one section of a YAML file of parameters.

    Raises:
        EquipoiseError: The file is malformed or a value is wrong; the message names the key.
    """
    import yaml

    try:
        return kind.model_validate(yaml.safe_load(path.read_text("utf-8"))[name])
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        message = f"{path}, section {name}: cannot be read ({' '.join(str(error).split())}); restore the file from Git"
        raise EquipoiseError(message) from error
    except ValidationError as error:
        first = error.errors()[0]
        message = f"{path}, {'.'.join(map(str, (name, *first['loc'])))}: {first['msg']}"
        raise EquipoiseError(message) from error
