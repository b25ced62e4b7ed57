"""The probe questions on which an exported graph is compared with its reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.yamlfile import load_yaml

if TYPE_CHECKING:
    from pathlib import Path


class _Probes(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    probes: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]


def load(path: Path) -> tuple[str, ...]:
    """Read the probe questions; at least one is needed."""
    return load_yaml(path, _Probes).probes
