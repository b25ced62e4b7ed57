"""Checks of settings: every section of params.yaml, and every name that it takes from the registry."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from equipoise.backends.base import NO_RAY, Infer
from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE, Params
from equipoise.figures import primary
from equipoise.figures.options import Decision, Measure
from equipoise.figures.study import Study
from equipoise.judge.rubric import require_reader
from equipoise.judge.score import Score
from equipoise.models import registry
from equipoise.models.readiness import Machine, require_memory, require_ready
from equipoise.models.registry import AnyEntry, ReplayEntry

SHARED: dict[str, type[BaseModel]] = {"infer": Infer, "score": Score, "measure": Measure, "decision": Decision}
"""The sections of params.yaml that all studies share, with their types."""
RESAMPLE = 2_000
"""Bytes for one resample of the widest figure (measured: a city's macro averages over six diseases)."""


class Checked(NamedTuple):
    """What is valid, its place, and its number of rows or files."""

    what: str
    where: str
    n: int


def require_sound(
    settings: Params, studies: Mapping[str, Study], root: Path, machine: Machine | None = None
) -> list[Study]:
    """Refuse wrong settings, unknown names and models that are not ready here with an EquipoiseError.

    `studies` are the registered ones by name. `machine` defaults to this one. Returns the chosen studies.
    """
    machine = machine or Machine()
    chosen = require_known(settings, studies)
    _require_sections(settings, studies)
    infer = settings.section("infer", Infer)
    if infer.cluster and not machine.has_module("ray"):
        raise EquipoiseError(NO_RAY)
    entry = registry.load_entry(settings.model, root)
    require_reader(settings.judge, root)
    for study in studies.values():
        study.requires(settings, root, machine)
    for study in chosen:
        if (name := study.items(settings)) is not None and not (items := item_file(root, name)).is_file():
            message = f"{items}: no such items: import them (`equipoise import --help`), or name items: authored"
            raise EquipoiseError(message)
    _require_endpoints(settings, studies)
    _require_answered(settings, entry, studies)
    _require_likelihoods(settings, entry, chosen)
    require_memory("measure.n_bootstrap", settings.section("measure", Measure).n_bootstrap, RESAMPLE, machine)
    require_ready(
        settings.model,
        entry,
        root=cache.root(),
        store=cache.folder() / "models",
        rows=infer.batch_size,
        machine=machine,
    )
    return chosen


def item_file(root: Path, name: str) -> Path:
    """Locate a file of items by name, below the project's root."""
    return root / "data" / "items" / f"{name}.jsonl"


def require_known(settings: Params, studies: Mapping[str, Study]) -> list[Study]:
    """Find the studies that params.yaml names; an unknown one is an EquipoiseError that lists the known ones."""
    if unknown := [name for name in settings.studies if name not in studies]:
        raise EquipoiseError(f"{FILE}: studies: no study {unknown[0]!r}: choose from {', '.join(studies)}")
    return [studies[name] for name in settings.studies]


def _require_sections(settings: Params, studies: Mapping[str, Study]) -> None:
    """Refuse a section that is malformed, missing or unknown."""
    known = {name: kind for study in studies.values() for name, kind in study.sections.items()}
    if unknown := [name for name in settings.own if name not in known]:
        raise EquipoiseError(f"{FILE}: {unknown[0]}: no such setting: correct its spelling, or remove it")
    for name, kind in (SHARED | known).items():
        settings.section(name, kind)


def _require_endpoints(settings: Params, studies: Mapping[str, Study]) -> None:
    """Refuse a study without a primary endpoint, and an endpoint that is not a figure of its study."""
    endpoints = settings.section("decision", Decision).endpoints
    if missing := [study for study in settings.studies if study not in endpoints]:
        raise EquipoiseError(f"{FILE}: no primary endpoint of {missing[0]}: declare it under decision.endpoints")
    for name, endpoint in endpoints.items():
        if name not in studies:
            raise EquipoiseError(f"{FILE}: decision.endpoints.{name}: no such study: choose from {', '.join(studies)}")
        primary.primary_figure(studies[name], endpoint)


def answers(entry: AnyEntry, study: Study) -> bool:
    """Whether a model answers a study; its run leaves out other studies."""
    named = entry.answers if isinstance(entry, ReplayEntry) else None
    return not study.saved_outputs if named is None else study.name in named


def _require_answered(settings: Params, entry: AnyEntry, studies: Mapping[str, Study]) -> None:
    """Refuse studies that the model does not answer: saved answers cover some studies, saved outputs one."""
    if missing := [name for name in settings.studies if not answers(entry, studies[name])]:
        known = ",".join(name for name, study in studies.items() if answers(entry, study))
        message = (
            f"models/{settings.model}.yaml has no answers to {', '.join(missing)}: run the studies that it answers, "
            f"-S 'studies=[{known}]'"
        )
        raise EquipoiseError(message)


def _require_likelihoods(settings: Params, entry: AnyEntry, chosen: Sequence[Study]) -> None:
    """Refuse settings that need likelihoods which the model does not return."""
    if entry.likelihoods:
        return
    kinds = SHARED | {name: kind for study in chosen for name, kind in study.sections.items()}
    needed = {
        f"{needs.section}.{needs.field}": needs.other
        for needs in (study.likelihoods for study in chosen)
        if needs and getattr(settings.section(needs.section, kinds[needs.section]), needs.field) == needs.value
    }
    if needed:
        fix = " ".join(f"-S {setting}={other}" for setting, other in needed.items())
        message = (
            f"models/{settings.model}.yaml returns no likelihoods, as needed by {', '.join(needed)}: add {fix}, or "
            "leave the study out of `studies`"
        )
        raise EquipoiseError(message)
