"""Whether settings can work: every section of params.yaml, and every name that it chooses from the registry."""

from pathlib import Path

from pydantic import BaseModel

from equipoise.backends.base import NO_RAY, Infer
from equipoise.core import cache
from equipoise.core.catalogue import CATALOGUE
from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE, Params
from equipoise.figures import primary
from equipoise.figures.options import Decision, Measure
from equipoise.judge.rubric import require_reader
from equipoise.judge.score import Score
from equipoise.materials import cities
from equipoise.models import registry
from equipoise.models.readiness import GB, Machine, require_ready
from equipoise.models.registry import AnyEntry, load_classifier_entry, load_masked_entry
from equipoise.studies.exam.subsets import Sample
from equipoise.studies.openr1.rows import Comparison, Pairing
from equipoise.studies.questions.neutralise import Neutralize
from equipoise.studies.questions.variants.agents import Perturb
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.rows import Filling
from equipoise.studies.vignettes.panel import cases_file
from equipoise.studies.vignettes.profiles import Build

STIGMA = "data/sentences"
SECTIONS: dict[str, type[BaseModel]] = {
    "build": Build,
    "neutralize": Neutralize,
    "perturb": Perturb,
    "sample": Sample,
    "pair": Pairing,
    "agree": Comparison,
    "infer": Infer,
    "fill": Filling,
    "score": Score,
    "measure": Measure,
    "decision": Decision,
}
"""The type of each stage's section of params.yaml."""
BYTES_OF_ONE = {"measure.n_bootstrap": 2_000, "fill.batch_size": 10_000_000}
"""Memory that one resample of the widest figure takes (measured: a city's macro averages over six diseases), and one
sequence of a sentence's length in a large masked model (24 layers of 1,024 numbers, and the layers between them)."""


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
    require_reader(settings.judge, root)
    load_classifier_entry(settings.section("agree", Comparison).judge, root)
    if (filling := settings.section("fill", Filling)).scorer == "masked":
        load_masked_entry(filling.masked, root)
    _require_evaluator(settings, root)
    cities.load_cities(root / cities.FILE)
    load_library(root / STIGMA)
    for study, name in _items(settings).items():
        items = root / "data" / "items" / f"{name}.jsonl"
        if study in settings.studies and not items.is_file():
            message = f"{items}: no such items: import them (`equipoise import --help`), or name items: authored"
            raise EquipoiseError(message)
    _require_cases(settings, root)
    _require_endpoints(settings)
    _require_sequence(settings)
    _require_answered(settings, entry)
    _require_likelihoods(settings, entry)
    _require_memory(settings, machine)
    require_ready(
        settings.model,
        entry,
        root=cache.root(),
        store=cache.folder() / "models",
        rows=infer.batch_size,
        machine=machine,
    )


def _require_evaluator(settings: Params, root: Path) -> None:
    """Refuse an evaluator of attacks that is no model of the registry, or the one that it is to choose texts for."""
    evaluator = settings.section("perturb", Perturb).evaluator
    if evaluator is not None:
        registry.load_entry(evaluator, root)
    if evaluator == settings.model:
        message = f"{FILE}: perturb.evaluator {evaluator} is the model under test: set it to null, which cross-fits it"
        raise EquipoiseError(message)


def _require_cases(settings: Params, root: Path) -> None:
    """Refuse imported cases that are not there, and a study that asks for their diagnosis, which nobody knows."""
    how = settings.section("build", Build)
    if not how.imported:
        return
    if not (file := cases_file(root / "data", how)).is_file():
        message = f"{FILE}: build.cases {how.cases}: no {file}: run `equipoise import bench`, or set cases to authored"
        raise EquipoiseError(message)
    if "vignettes" in settings.studies:
        message = f"{FILE}: build.cases {how.cases}: these cases have no diagnoses: leave vignettes out of `studies`"
        raise EquipoiseError(f"{message}, -S 'studies=[decisions]'")


def _require_memory(settings: Params, machine: Machine) -> None:
    """Refuse a number of resamples, or of sequences processed at once, that this machine's memory does not hold."""
    memory = machine.memory()
    for name, size in BYTES_OF_ONE.items():
        section, field = name.split(".")
        if section == "fill" and "stigma" not in settings.studies:
            continue
        count = getattr(settings.section(section, SECTIONS[section]), field)
        if memory is not None and memory < (needed := count * size / GB):
            raise EquipoiseError(
                f"{FILE}: {name} {count:,} needs about {needed:.0f} GB of memory, {memory:.1f} GB is here: lower it to "
                f"at most {int(memory * GB / size):,}"
            )


def _items(settings: Params) -> dict[str, str]:
    """Give the stem of the file in data/items that a study reads."""
    return {
        "questions": settings.items,
        "exam": settings.section("sample", Sample).items,
        "openr1": settings.section("pair", Pairing).items,
    }


def _require_endpoints(settings: Params) -> None:
    """Refuse a study without a primary endpoint, and an endpoint that is no figure of its study."""
    endpoints = settings.section("decision", Decision).endpoints
    if missing := [study for study in settings.studies if study not in endpoints]:
        raise EquipoiseError(f"{FILE}: no primary endpoint of {missing[0]}: declare it under decision.endpoints")
    for study, endpoint in endpoints.items():
        primary.headline(study, endpoint)


def _require_sequence(settings: Params) -> None:
    """Refuse to stop a study early whose endpoint nobody knows before all replies are there."""
    if settings.section("decision", Decision).sequential and "openr1" in settings.studies:
        message = (
            f"{FILE}: decision.sequential: the judge reads the endpoint of openr1 from the replies, after all of them"
        )
        raise EquipoiseError(f"{message}: leave openr1 out of `studies`, or set sequential to false")


def _require_answered(settings: Params, entry: AnyEntry) -> None:
    """Refuse studies that the model does not answer: saved answers are to some studies, saved outputs to cases."""
    if missing := [study for study in settings.studies if not registry.answers(entry, study)]:
        known = ",".join(study for study in CATALOGUE if registry.answers(entry, study))
        message = (
            f"models/{settings.model}.yaml has no answers to {', '.join(missing)}: run the studies that it answers, "
            f"-S 'studies=[{known}]'"
        )
        raise EquipoiseError(message)


def _require_likelihoods(settings: Params, entry: AnyEntry) -> None:
    """Refuse settings that ask a model for likelihoods which it does not return."""
    if entry.likelihoods:
        return
    asked = [needs for study in settings.studies if (needs := CATALOGUE[study].likelihoods)]
    needed = {
        f"{one.section}.{one.field}": one.other
        for one in asked
        if getattr(settings.section(one.section, SECTIONS[one.section]), one.field) == one.value
    }
    if needed:
        fix = " ".join(f"-S {setting}={other}" for setting, other in needed.items())
        message = (
            f"models/{settings.model}.yaml returns no likelihoods, as needed by {', '.join(needed)}: add {fix}, or "
            "leave the study out of `studies`"
        )
        raise EquipoiseError(message)
