"""Whether settings can work: every section of params.yaml, and every name that it chooses from the registry."""

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
"""Bytes that one resample of the widest figure takes (measured: a city's macro averages over six diseases)."""


class Checked(NamedTuple):
    """What is valid, where it is, and how many rows or files there are."""

    what: str
    where: str
    n: int


def require_sound(
    settings: Params, studies: Mapping[str, Study], root: Path, machine: Machine | None = None
) -> list[Study]:
    """Refuse, with an EquipoiseError, what cannot work: a setting, a name that is not there, a model not ready here.

    `studies` are all that are registered, by name. `machine` is this one, unless a test gives another. Returns the
    studies that are chosen.
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
    """Give the file of the items that are named, under the project's root."""
    return root / "data" / "items" / f"{name}.jsonl"


def require_known(settings: Params, studies: Mapping[str, Study]) -> list[Study]:
    """Give the studies that params.yaml names; an unknown one is an EquipoiseError that lists those there are."""
    if unknown := [name for name in settings.studies if name not in studies]:
        raise EquipoiseError(f"{FILE}: studies: no study {unknown[0]!r}: choose from {', '.join(studies)}")
    return [studies[name] for name in settings.studies]


def _require_sections(settings: Params, studies: Mapping[str, Study]) -> None:
    """Refuse a section that is malformed, missing, or of no study."""
    known = {name: kind for study in studies.values() for name, kind in study.sections.items()}
    if unknown := [name for name in settings.own if name not in known]:
        raise EquipoiseError(f"{FILE}: {unknown[0]}: no such setting: correct its spelling, or remove it")
    for name, kind in (SHARED | known).items():
        settings.section(name, kind)


def _require_endpoints(settings: Params, studies: Mapping[str, Study]) -> None:
    """Refuse a study without a primary endpoint, and an endpoint that is no figure of its study."""
    endpoints = settings.section("decision", Decision).endpoints
    if missing := [study for study in settings.studies if study not in endpoints]:
        raise EquipoiseError(f"{FILE}: no primary endpoint of {missing[0]}: declare it under decision.endpoints")
    for name, endpoint in endpoints.items():
        if name not in studies:
            raise EquipoiseError(f"{FILE}: decision.endpoints.{name}: no such study: choose from {', '.join(studies)}")
        primary.primary_figure(studies[name], endpoint)


def answers(entry: AnyEntry, study: Study) -> bool:
    """Say whether a model answers a study; what it does not answer is left out of its run."""
    named = entry.answers if isinstance(entry, ReplayEntry) else None
    return not study.saved_outputs if named is None else study.name in named


def _require_answered(settings: Params, entry: AnyEntry, studies: Mapping[str, Study]) -> None:
    """Refuse studies that the model does not answer: saved answers are to some studies, saved outputs to one."""
    if missing := [name for name in settings.studies if not answers(entry, studies[name])]:
        known = ",".join(name for name, study in studies.items() if answers(entry, study))
        message = (
            f"models/{settings.model}.yaml has no answers to {', '.join(missing)}: run the studies that it answers, "
            f"-S 'studies=[{known}]'"
        )
        raise EquipoiseError(message)


def _require_likelihoods(settings: Params, entry: AnyEntry, chosen: Sequence[Study]) -> None:
    """Refuse settings that ask a model for likelihoods which it does not return."""
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
