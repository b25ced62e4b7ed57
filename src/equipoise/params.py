"""params.yaml as typed settings: one section a stage, unknown keys refused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.yamlfile import load_yaml

FILE = Path("params.yaml")
Share = Annotated[float, Field(ge=0, le=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Build(_Section):
    """Which vignettes, and how a model is asked about them."""

    profile: Literal["core", "full", "powered"]
    system: str
    reason: Annotated[str, Field(pattern=r"\{case\}")]
    answer: Annotated[str, Field(min_length=1)]
    answer_prefix: str


class Infer(_Section):
    """How the model is run; nothing here changes a result."""

    batch_size: Annotated[int, Field(ge=1)]


class Params(_Section):
    """All of params.yaml."""

    model: str
    judge: str
    build: Build
    infer: Infer


def load(path: Path = FILE) -> Params:
    """Read params.yaml; a fault is an EquipoiseError that names the key."""
    return load_yaml(path, Params)
