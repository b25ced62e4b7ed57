"""Checks of settings: every section of params.yaml, and every name that it takes from the registry."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from equipoise.backends.base import NO_RAY, Infer
from equipoise.backends.offers import offered
from equipoise.backends.served import Offer
from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE, Params
from equipoise.figures import primary
from equipoise.figures.figure import EVERY
from equipoise.figures.options import Decision, Measure
from equipoise.figures.study import Study, require_known
from equipoise.judge.rubric import require_reader
from equipoise.judge.score import Score
from equipoise.models import registry
from equipoise.models.readiness import Machine, require_memory, require_ready
from equipoise.models.registry import AnyEntry, ApiEntry, ReplayEntry

SHARED: dict[str, type[BaseModel]] = {"infer": Infer, "score": Score, "measure": Measure, "decision": Decision}
"""The sections of params.yaml that all studies share, with their types."""
RESAMPLE = 2_000
"""Bytes for one resample of the widest figure (measured: a city's macro averages over six diseases)."""


def require_sound(
    settings: Params,
    studies: Mapping[str, Study],
    root: Path,
    machine: Machine | None = None,
    ask: Callable[[str, ApiEntry], Offer] = offered,
) -> list[Study]:
    """Refuse wrong settings, unknown names and models that are not ready here with an EquipoiseError.

    `studies` are the registered ones by name. `machine` defaults to this one. `ask` finds what a server gives of
    likelihoods. Returns the chosen studies.
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
    require_memory("measure.n_bootstrap", settings.section("measure", Measure).n_bootstrap, RESAMPLE, machine)
    require_ready(
        settings.model,
        entry,
        root=cache.root(),
        store=cache.folder() / "models",
        rows=infer.batch_size,
        machine=machine,
    )
    if isinstance(entry, ApiEntry):
        entry = registry.found(entry, ask(settings.model, entry).written())
    _require_likelihoods(settings, entry, chosen)
    _require_computable(settings, entry, chosen)
    return chosen


def offer_of(settings: Params, root: Path) -> Offer | None:
    """Find which likelihoods the server of the model under test gives; None for a model without a server."""
    entry = registry.load_entry(settings.model, root)
    return offered(settings.model, entry) if isinstance(entry, ApiEntry) else None


def item_file(root: Path, name: str) -> Path:
    """Locate a file of items by name, below the project's root."""
    return root / "data" / "items" / f"{name}.jsonl"


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
        raise EquipoiseError(
            f"models/{settings.model}.yaml has no answers to {', '.join(missing)}: run the studies that it answers, "
            f"-S 'studies=[{known}]'"
        )


def _require_likelihoods(settings: Params, entry: AnyEntry, chosen: Sequence[Study]) -> None:
    """Refuse settings that need likelihoods which the model does not return."""
    kinds = SHARED | {name: kind for study in chosen for name, kind in study.sections.items()}
    needed = {
        f"{needs.section}.{needs.field}": needs.other
        for needs in (study.likelihoods for study in chosen)
        if needs
        and not (entry.exact if needs.exact else entry.likelihoods)
        and getattr(settings.section(needs.section, kinds[needs.section]), needs.field) == needs.value
    }
    if needed:
        fix = " ".join(f"-S {setting}={other}" for setting, other in needed.items())
        lacks = "returns likelihoods of first tokens alone, not" if entry.likelihoods else "returns no likelihoods,"
        message = (
            f"models/{settings.model}.yaml {lacks} as needed by {', '.join(needed)}: add {fix}, or leave the study out "
            "of `studies`"
        )
        raise EquipoiseError(message + _other_endpoints(settings, entry, chosen))


def _other_endpoints(settings: Params, entry: AnyEntry, chosen: Sequence[Study]) -> str:
    """Name the endpoints on which verdicts of a model without likelihoods rest; empty for one that has some."""
    endpoints = settings.section("decision", Decision).endpoints
    others = {study.name: endpoints[study.name].without_likelihoods for study in chosen}
    named = [f"{study}.{other.figure}" for study, other in others.items() if other and not entry.likelihoods]
    return f"; verdicts then rest on {', '.join(named)}" if named else ""


def _require_computable(settings: Params, entry: AnyEntry, chosen: Sequence[Study]) -> None:
    """Refuse an endpoint whose figures the run cannot have, since its model gives no likelihoods."""
    if entry.likelihoods:
        return
    for study in chosen:
        endpoint = settings.section("decision", Decision).endpoints[study.name]
        scored = primary.scored_components(study, endpoint)
        if scored and endpoint.without_likelihoods is None:
            others = (
                figure.name.removeprefix(f"{study.name}.")
                for figure in study.figures
                if figure.null is not None and figure.group != EVERY and not figure.likelihoods
            )
            raise EquipoiseError(
                f"{FILE}: decision.endpoints.{study.name}: {scored[0]} is computed from likelihoods, and "
                f"models/{settings.model}.yaml returns none: declare `without_likelihoods: {{figure: …, margin: …, "
                f"why: …}}` there, with one of {', '.join(others)}"
            )
