"""Measure a study: every figure with its interval and test, the verdict, and the guards."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from equipoise.core.units import Unit
from equipoise.figures import layout
from equipoise.figures.aggregates import by_cluster, item_effects, remaining
from equipoise.figures.effects import POOLED, SIMULTANEOUS, Effect
from equipoise.figures.options import Decision, Endpoint
from equipoise.figures.primary import component_figure, endpoint_of_run, with_primary
from equipoise.figures.reading import reading_effects
from equipoise.figures.result import Looked, StudyResult, Without
from equipoise.figures.study import Study
from equipoise.figures.verdicts import at_all_looks, places, verdict
from equipoise.models.registry import ReplayEntry
from equipoise.pipeline.frozen import departures
from equipoise.pipeline.rows import RunFiles, options_of
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import stopping_of, study_of
from equipoise.stats.multiplicity import joint_alpha
from equipoise.stats.repeated import level

FEWEST_RESAMPLES = 100
"""Resamples of the bootstrap where only intervals that do not use it are read."""
Step = Callable[[Run], StudyResult]
"""Estimates the figures of a study: the function `measure` of its folder."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """Suspend the search for cycles: rows have none, and among a million rows it takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def measure(run: Run, step: Step, *, asked: Without = "server") -> StudyResult:
    """Measure a study: `step` estimates its figures, to which the primary endpoint and the verdict are added.

    `asked` is what gives no likelihoods where the model gives none, and its answers were not saved before.

    Raises EquipoiseError if a file or a row is malformed, or if responses do not match the prompts.
    """
    with _uncollected():
        study, decision = study_of(run.study), run.settings.section("decision", Decision)
        step = _completed(step, study)
        result = replace(step(run), without=_without(run, asked), departures=departures(run))
        declared = decision.endpoints.get(run.study)
        if declared is None:
            return result
        endpoint = endpoint_of_run(study, declared, result)
        result = with_primary(result, study, endpoint)
        result = replace(result, looked=_looked(run, units) if (units := run.units) else None)
        if endpoint.margin is not None:
            result = _at_levels_of_verdict(run, step, result, endpoint)
        return replace(result, verdict=verdict(study, result, decision))


def _without(run: Run, asked: Without) -> Without | None:
    """Say what gives no likelihoods; None if the model gives some."""
    if (entry := run.entry).likelihoods:
        return None
    return "answers" if isinstance(entry, ReplayEntry) else asked


def _completed(step: Step, study: Study) -> Step:
    """Add what a study does not estimate itself: declared figures, from their items' values, and reading errors."""

    def estimated(run: Run) -> StudyResult:
        result, alpha = step(run), options_of(run).alpha
        effects = [*result.effects]
        if (figures := remaining(study.figures, result.effects)) and study.comparison is not None:
            effects += item_effects(figures, study.comparison.read(RunFiles(run)), alpha)
        return replace(result, effects=[*effects, *reading_effects(study, run.settings, alpha)])

    return estimated


def _at_levels_of_verdict(run: Run, step: Step, result: StudyResult, endpoint: Endpoint) -> StudyResult:
    """Estimate what the verdict reads at its levels, where these are not that of the figures.

    They are the level of decisions, and that adjusted for the number of components; after an early stop both hold at
    all looks together.
    """
    study, decision, alpha = study_of(run.study), run.settings.section("decision", Decision), options_of(run).alpha
    own, read = decision.applied(options_of(run)).alpha, places(study, endpoint)

    def estimated(size: float) -> dict[str, Effect]:
        at = size if result.looked is None else level(*result.looked, size)
        rows = _at_level(run, step, at)
        return {row.place: row for row in rows if row.place in read or row.measure.endswith((SIMULTANEOUS, POOLED))}

    if result.looked is not None:
        result = at_all_looks(result, read, estimated(alpha))
    if own != alpha:
        result = replace(result, deciding=layout.at_level(run.study, layout.INTERVAL, estimated(own).values()))
    if len(endpoint.components) > 1:
        size = _joint_level(run, study, endpoint, own)
        adjusted = [row for place, row in estimated(size).items() if not place.endswith((SIMULTANEOUS, POOLED))]
        result = replace(result, adjusted=layout.at_level(run.study, layout.ADJUSTED, adjusted))
    return result


def _joint_level(run: Run, study: Study, endpoint: Endpoint, alpha: float) -> float:
    """Find the level at which the intervals of all components hold together, from their values by cluster."""
    if study.comparison is None:
        return alpha / len(endpoint.components)
    rows = study.comparison.read(RunFiles(run))
    figures = [component_figure(study, endpoint, name) for name in endpoint.components]
    return joint_alpha(by_cluster([figure.values(rows.items) for figure in figures], rows.clusters), alpha)


def _at_level(run: Run, step: Step, alpha: float | None) -> list[Effect]:
    """Estimate every figure with intervals of the level 1 - alpha; without intervals if alpha is None."""
    if alpha is None:
        return [row.model_copy(update={"ci_low": None, "ci_high": None}) for row in step(run).effects]
    changed = {"measure": run.settings.measure | {"alpha": alpha, "n_bootstrap": FEWEST_RESAMPLES}}
    return list(step(replace(run, settings=run.settings.model_copy(update=changed))).effects)


def _looked(run: Run, units: Sequence[Unit]) -> Looked:
    """Count the clusters of the primary endpoint: those asked, and all."""
    stopping = stopping_of(run.study)
    counted = {unit.key for unit in units} if stopping is None else stopping.counted(run)
    clusters = {unit.cluster for unit in units if unit.key in counted}
    return Looked(len({unit.cluster for unit in units if unit.asked} & clusters), len(clusters))
