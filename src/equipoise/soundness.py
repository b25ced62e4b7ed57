"""Whether settings can work: every section of params.yaml, and every name that it chooses from the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise import registry
from equipoise.errors import EquipoiseError
from equipoise.infer import Infer
from equipoise.judge.registry import load_entry as load_judge_entry
from equipoise.metrics.silent import SilentBiasOptions
from equipoise.neutral.items import Neutralize
from equipoise.perturb import Perturb
from equipoise.prompts import Build
from equipoise.score import Score

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from equipoise.params import Params

SECTIONS: dict[str, type[BaseModel]] = {
    "build": Build,
    "neutralize": Neutralize,
    "perturb": Perturb,
    "infer": Infer,
    "score": Score,
    "measure": SilentBiasOptions,
}
"""The type of each stage's section of params.yaml."""


def require_sound(settings: Params, root: Path) -> None:
    """Refuse, with an EquipoiseError, a setting that cannot work, and a model, judge or items that are not there."""
    for name, kind in SECTIONS.items():
        settings.section(name, kind)
    registry.load_entry(settings.model, root)
    load_judge_entry(settings.judge, root)
    items = root / "data" / "items" / f"{settings.items}.jsonl"
    if not items.is_file():
        message = f"{items}: no such items: run `equipoise import amqa Showing-KCL/AMQA@COMMIT`, or set items: authored"
        raise EquipoiseError(message)
