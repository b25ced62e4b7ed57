"""The judges that can be chosen: one YAML file each in models/judges/, whose stem is the value of `-S judge=`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import sha256
from equipoise.core.yamlfile import load_yaml
from equipoise.models.registry import HubSource, LocalSource, Sha256, entry_path

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

FOLDER = "models/judges"


class EmbeddedSource(BaseModel):
    """ONNX weights that lie in the repository, each file held to its sha256."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["embedded"]
    folder: str
    files: Annotated[dict[str, Sha256], Field(min_length=1)]


class Agreement(BaseModel):
    """How many of `of` labelled texts a judge reads as they are labelled."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    right: Annotated[int, Field(ge=0)]
    of: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _no_more_right_than_labelled(self) -> Self:
        if self.right > self.of:
            message = f"right: {self.right} is more than of: {self.of}"
            raise ValueError(message)
        return self


class JudgeError(BaseModel):
    """A judge's measured error in calling reasoning silent: texts labelled silent, texts labelled not, which labels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    silent: Agreement
    not_silent: Agreement
    labels: Annotated[str, Field(min_length=1)]


class JudgeEntry(BaseModel):
    """One judge: where its weights come from, how many tokens it reads and, where measured, how often it errs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    licence: str
    source: Annotated[EmbeddedSource | HubSource | LocalSource, Field(discriminator="kind")]
    max_tokens: Annotated[int, Field(ge=16)]
    error: JudgeError | None = None


def load_entry(name: str, root: Path) -> JudgeEntry:
    """Read the registry entry of a judge; an unknown name is refused with the known ones and the nearest."""
    return load_yaml(entry_path(name, root / FOLDER), JudgeEntry)


def verified_folder(source: EmbeddedSource, root: Path) -> Path:
    """The folder of an embedded judge, once every file in it is the one that the registry names.

    Raises:
        EquipoiseError: a file is missing or altered; the message names it and the mend.
    """
    for name, expected in source.files.items():
        path = root / source.folder / name
        mend = f"run `git checkout -- {source.folder}/{name}`"
        if not path.is_file():
            message = f"judge weights missing: {path}: {mend}"
            raise EquipoiseError(message)
        if (found := sha256(path)) != expected:
            message = f"judge weights altered: {path} has sha256 {found}, not {expected}: {mend}"
            raise EquipoiseError(message)
    return root / source.folder
