"""params.yaml as typed settings: one section per stage, unknown names rejected.

The type of each section is defined in the package that uses it, so that changing one stage's settings does not
invalidate the results of other stages.
"""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, field_validator

from equipoise.core.row import Frozen
from equipoise.core.yamlfile import load_yaml, strictly

FILE = Path("params.yaml")
M = TypeVar("M", bound=BaseModel)
Name = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
Count = Annotated[int, Field(ge=1, le=10_000_000)]
Limit = Annotated[int, Field(ge=0, le=10_000_000)]
"""How many of something, where 0 means all of them."""
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


class Params(Frozen):
    """params.yaml as a whole: the chosen model, judge and items, and each stage's section, not yet typed."""

    studies: Annotated[tuple[str, ...], Field(min_length=1)]
    model: Name
    judge: Name
    items: Name
    build: dict[str, Any]
    neutralize: dict[str, Any]
    perturb: dict[str, Any]
    sample: dict[str, Any]
    pair: dict[str, Any]
    agree: dict[str, Any]
    infer: dict[str, Any]
    fill: dict[str, Any]
    score: dict[str, Any]
    measure: dict[str, Any]
    decision: dict[str, Any]

    @field_validator("studies")
    @classmethod
    def _each_once(cls, studies: tuple[str, ...]) -> tuple[str, ...]:
        if twice := [name for number, name in enumerate(studies) if name in studies[:number]]:
            message = f"{twice[0]} is named twice: name each study once"
            raise ValueError(message)
        return studies

    def section(self, name: str, kind: type[M]) -> M:
        """Validate one section as the given type; an invalid value raises an EquipoiseError that names the key."""
        return strictly(f"{FILE}, section {name}", getattr(self, name), kind)


def load(path: Path = FILE) -> Params:
    """Read params.yaml; an invalid value raises an EquipoiseError that names the key."""
    return load_yaml(path, Params)
