"""The masked models that can be chosen: one YAML file each in models/masked/; its stem is the value of fill.masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.records import Text
from equipoise.core.yamlfile import load_yaml
from equipoise.models.registry import HubSource, LocalSource, entry_path

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "models/masked"
Runtime = Literal["onnx", "torch"]


class MaskedEntry(BaseModel):
    """One masked model: where its weights come from, what runs it, and how many tokens a sentence may have.

    `weights` names the one weight file that is taken; a pickled one is read as tensors alone. `gated` says that the hub
    asks for a token and for consent.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Text
    licence: Text
    source: Annotated[HubSource | LocalSource, Field(discriminator="kind")]
    weights: Literal["model.safetensors", "pytorch_model.bin"] = "model.safetensors"
    gated: bool = False
    runtime: Runtime
    max_tokens: Annotated[int, Field(ge=16)]


def load_entry(name: str, root: Path) -> MaskedEntry:
    """Read the registry entry of a masked model; an unknown name is refused with the known ones and the nearest."""
    return load_yaml(entry_path(name, root / FOLDER), MaskedEntry)
