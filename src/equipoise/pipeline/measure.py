"""Measure a study: every figure with its interval and test, the verdict, and the guards."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from equipoise.core.units import Unit
from equipoise.figures import layout
from equipoise.figures.aggregates import item_effects, remaining
from equipoise.figures.effects import Effect
from equipoise.figures.figure import Figure
from equipoise.figures.options import Decision
from equipoise.figures.primary import primary_figure, with_primary
from equipoise.figures.reading import reading_effects
from equipoise.figures.result import Deciding, Looked, StudyResult
from equipoise.figures.study import Study
from equipoise.figures.verdicts import at_all_looks, verdict
from equipoise.pipeline.rows import RunFiles, options_of
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import stopping_of, study_of
from equipoise.stats.repeated import level

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


def measure(run: Run, step: Step) -> StudyResult:
    """Measure a study: `step` estimates its figures, to which the primary endpoint and the verdict are added.

    Raises EquipoiseError if a file or a row is malformed, or if responses do not match the prompts.
    """
    with _uncollected():
        study, decision = study_of(run.study), run.settings.section("decision", Decision)
        step = _with_reading(_with_items(step, study), study)
        result, endpoint = step(run), decision.endpoints.get(run.study)
        if endpoint is None:
            return result
        result = with_primary(result, study, endpoint)
        result = replace(result, looked=_looked(run, units) if (units := run.units) else None)
        if endpoint.margin is not None:
            figure = primary_figure(study, endpoint)
            result = replace(result, deciding=_deciding(run, step, decision, figure, result))
        if result.looked is not None:
            repeated = {row.key: row for row in _at_level(run, step, level(*result.looked, options_of(run).alpha))}
            result = at_all_looks(result, endpoint, repeated)
        return replace(result, verdict=verdict(study, result, decision))


def _with_items(step: Step, study: Study) -> Step:
    """Add the figures that a study declares but does not estimate itself, from the values of their items."""

    def estimated(run: Run) -> StudyResult:
        result = step(run)
        figures = remaining(study.figures, result.effects)
        if not figures or study.comparison is None:
            return result
        added = item_effects(figures, study.comparison.read(RunFiles(run)), options_of(run).alpha)
        return replace(result, effects=[*result.effects, *added])

    return estimated


def _with_reading(step: Step, study: Study) -> Step:
    """Add the measured error of the reader of written answers, where the figures rest on one."""

    def estimated(run: Run) -> StudyResult:
        result = step(run)
        added = reading_effects(study, run.settings, options_of(run).alpha)
        return replace(result, effects=[*result.effects, *added])

    return estimated


def _deciding(run: Run, step: Step, decision: Decision, figure: Figure, result: StudyResult) -> Deciding | None:
    """Estimate the endpoint at the confidence level of decisions; None if that is the level of the figures."""
    alpha = decision.applied(options_of(run)).alpha
    if alpha == options_of(run).alpha:
        return None
    rows = _at_level(run, step, alpha if result.looked is None else level(*result.looked, alpha))
    endpoint = replace(result, effects=rows).endpoint(figure)
    if endpoint is None:
        return None
    # Coverage is judged at the level of the figures.
    coverage = next((row.coverage for row in result.effects if row.primary), None)
    return layout.deciding(run.study, endpoint, coverage)


def _at_level(run: Run, step: Step, alpha: float | None) -> list[Effect]:
    """Estimate every figure with intervals of the level 1 - alpha; without intervals if alpha is None."""
    if alpha is None:
        return [row.model_copy(update={"ci_low": None, "ci_high": None}) for row in step(run).effects]
    changed = {"measure": run.settings.measure | {"alpha": alpha}}
    return list(step(replace(run, settings=run.settings.model_copy(update=changed))).effects)


def _looked(run: Run, units: Sequence[Unit]) -> Looked:
    """Count the clusters of the primary endpoint: those asked, and all."""
    stopping = stopping_of(run.study)
    counted = {unit.key for unit in units} if stopping is None else stopping.counted(run)
    clusters = {unit.cluster for unit in units if unit.key in counted}
    return Looked(len({unit.cluster for unit in units if unit.asked} & clusters), len(clusters))
