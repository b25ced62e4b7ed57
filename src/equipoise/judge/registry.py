"""The judges that can be chosen: one YAML file each in models/judges/, whose stem is the name."""

from __future__ import annotations

import difflib
import hashlib
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "models/judges"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class EmbeddedJudge(BaseModel):
    """A judge whose ONNX weights lie in the repository; `files` are held to their sha256."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Literal["embedded"]
    folder: str
    files: Annotated[dict[str, Sha256], Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=16)]
    licence: str


class HubJudge(BaseModel):
    """A judge fetched from the Hugging Face Hub at a commit and exported to ONNX on first use.

    `repo` may also be a folder that holds the same files, absolute or relative to the repository root.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Literal["hub"]
    repo: str
    revision: str
    max_tokens: Annotated[int, Field(ge=16)]
    licence: str


JudgeEntry = Annotated[EmbeddedJudge | HubJudge, Field(discriminator="source")]


def known_judges(root: Path) -> list[str]:
    """Names of the judges registered under `root`, sorted."""
    return sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))


def read_entry(name: str, root: Path) -> EmbeddedJudge | HubJudge:
    """The registry entry of the judge `name`.

    Raises:
        EquipoiseError: no such judge (lists the known ones and the nearest), or the entry is malformed (names the
        field).
    """
    import yaml

    known = known_judges(root)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        message = f"unknown judge {name!r}: {root / FOLDER} has {', '.join(known) or 'none'}{hint}"
        raise EquipoiseError(message)
    path = root / FOLDER / f"{name}.yaml"
    try:
        entry: EmbeddedJudge | HubJudge = TypeAdapter(JudgeEntry).validate_python(
            yaml.safe_load(path.read_text("utf-8"))
        )
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        message = f"{path}: not readable as YAML ({' '.join(str(error).split())})"
        raise EquipoiseError(message) from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "entry"
        message = f"{path}, {field}: {first['msg']}"
        raise EquipoiseError(message) from error
    return entry


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verified_folder(entry: EmbeddedJudge, root: Path) -> Path:
    """The folder of an embedded judge, once every file in it is the one that the registry names.

    Raises:
        EquipoiseError: a file is missing or altered; the message names it and the mend.
    """
    for name, expected in entry.files.items():
        path = root / entry.folder / name
        restore = f"restore it with: git checkout -- {entry.folder}/{name}"
        if not path.is_file():
            message = f"{path}: the judge's file is missing; {restore}"
            raise EquipoiseError(message)
        found = sha256(path)
        if found != expected:
            message = f"{path}: altered, sha256 is {found} where the registry names {expected}; {restore}"
            raise EquipoiseError(message)
    return root / entry.folder
