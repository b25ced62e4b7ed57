"""Whether settings can work: every section of params.yaml, and every name that it chooses from the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.backends.infer import Infer
from equipoise.backends.ray.cluster import NO_RAY
from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.exam.subsets import Sample
from equipoise.judge.score import Score
from equipoise.metrics.options import Measure
from equipoise.models import registry
from equipoise.models.readiness import Machine, require_ready
from equipoise.models.registry import load_judge_entry, load_masked_entry
from equipoise.openr1.settings import Comparison, Pairing
from equipoise.questions import cities
from equipoise.questions.neutral.neutralise import Neutralize
from equipoise.questions.variants.agents import Perturb
from equipoise.stigma.library import load_library
from equipoise.stigma.settings import Filling
from equipoise.vignettes.prompts import Build

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from equipoise.core.params import Params
    from equipoise.core.records import Study
    from equipoise.models.registry import AnyEntry

STIGMA = "data/stigma"
SECTIONS: dict[str, type[BaseModel]] = {
    "build": Build,
    "neutralize": Neutralize,
    "perturb": Perturb,
    "sample": Sample,
    "pair": Pairing,
    "infer": Infer,
    "fill": Filling,
    "score": Score,
    "compare": Comparison,
    "measure": Measure,
}
"""The type of each stage's section of params.yaml."""
BY_LIKELIHOOD: dict[tuple[str, str], tuple[Study, str, str]] = {
    ("perturb", "answering"): ("adversarial", "likelihood", "generate"),
    ("sample", "answering"): ("medmcqa", "likelihood", "generate"),
    ("score", "answering"): ("vignettes", "likelihood", "generate"),
    ("fill", "scorer"): ("stigma", "causal", "none"),
}
"""Settings that may ask how likely a model finds an answer: their study, the value that does, one that does not."""


def require_sound(settings: Params, root: Path, machine: Machine | None = None) -> None:
    """Refuse, with an EquipoiseError, what cannot work: a setting, a name that is not there, a model not ready here.

    `machine` is this one, unless a test gives another.
    """
    machine = machine or Machine()
    for name, kind in SECTIONS.items():
        settings.section(name, kind)
    infer = settings.section("infer", Infer)
    if infer.cluster and not machine.has_module("ray"):
        raise EquipoiseError(NO_RAY)
    entry = registry.load_entry(settings.model, root)
    for judge in (settings.judge, settings.section("compare", Comparison).judge):
        load_judge_entry(judge, root)
    if (filling := settings.section("fill", Filling)).scorer == "masked":
        load_masked_entry(filling.masked, root)
    cities.load_cities(root / cities.FILE)
    load_library(root / STIGMA)
    for name in (settings.items, settings.section("sample", Sample).items, settings.section("pair", Pairing).items):
        items = root / "data" / "items" / f"{name}.jsonl"
        if not items.is_file():
            message = f"{items}: no such items: import them (`equipoise import --help`), or name items: authored"
            raise EquipoiseError(message)
    _require_likelihoods(settings, entry)
    require_ready(
        settings.model,
        entry,
        root=cache.root(),
        store=cache.folder() / "models",
        rows=infer.batch_size,
        machine=machine,
    )


def _require_likelihoods(settings: Params, entry: AnyEntry) -> None:
    """Refuse settings that ask a model for likelihoods which it does not give."""
    if entry.likelihoods:
        return
    needed = {
        f"{name}.{field}": other
        for (name, field), (study, by_likelihood, other) in BY_LIKELIHOOD.items()
        if registry.answers(entry, study) and getattr(settings.section(name, SECTIONS[name]), field) == by_likelihood
    }
    if needed:
        mend = " ".join(f"-S {setting}={other}" for setting, other in needed.items())
        message = f"models/{settings.model}.yaml gives no likelihoods, as needed by {', '.join(needed)}: add {mend}"
        raise EquipoiseError(message)
