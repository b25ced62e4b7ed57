"""Measure a study: every figure with its interval and test, the verdict, and the guards."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from equipoise.core.units import Unit
from equipoise.figures.aggregates import item_effects, remaining
from equipoise.figures.effects import SKEWED, Effect
from equipoise.figures.options import Decision
from equipoise.figures.primary import declared, headline
from equipoise.figures.study import Study
from equipoise.figures.verdicts import DECIDING, Looked, at_all_looks, verdict, verdict_effects
from equipoise.pipeline.rows import RunFiles, options_of
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import stopping_of, study_of
from equipoise.stats.repeated import level


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hold off the search for cycles, of which rows have none: among a million of them it takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def measure(run: Run, step: Callable[[Run], Iterator[Effect]]) -> list[Effect]:
    """Compute the effects of a study, sorted by key; `step` gives them, but for those that items alone give.

    EquipoiseError where a file or a row is malformed, or where responses are not those of the prompts.
    """
    with _uncollected():
        decision, study = run.settings.section("decision", Decision), study_of(run.study)
        step = _with_items(step, study)
        found = list(declared(step(run), study, decision.endpoints))
        # Whether an interval keeps its level is judged at that of the figures.
        coverage = next((row.coverage for row in found if row.primary), None)
        looked = _looked_at(run, units) if (units := run.units) else None
        found += (row.model_copy(update={"coverage": coverage}) for row in _deciding(run, step, decision, looked))
        if looked is not None:
            repeated = {row.key: row for row in _at_level(run, step, level(*looked, options_of(run).alpha))}
            found = at_all_looks(run.study, found, decision, looked, repeated)
        found += verdict_effects(run.study, verdict(study, found, decision))
        return sorted(found, key=lambda row: row.key)


def _with_items(step: Callable[[Run], Iterator[Effect]], study: Study) -> Callable[[Run], Iterator[Effect]]:
    """Add the figures that a study declares and does not estimate by itself, from the values of their items."""

    def estimated(run: Run) -> Iterator[Effect]:
        effects = list(step(run))
        yield from effects
        figures = remaining(study.figures, effects)
        if figures and study.comparison is not None:
            yield from item_effects(figures, study.comparison.read(RunFiles(run)), options_of(run).alpha)

    return estimated


def _deciding(
    run: Run, step: Callable[[Run], Iterator[Effect]], decision: Decision, looked: Looked | None
) -> Iterator[Effect]:
    """Estimate the endpoint at the confidence level of decisions, where it is not that of the figures.

    Also the interval of it that is corrected for skewness.
    """
    endpoint, alpha = decision.endpoints.get(run.study), decision.applied(options_of(run)).alpha
    if endpoint is None or endpoint.margin is None or alpha == options_of(run).alpha:
        return
    figure, (family, group, measure) = headline(study_of(run.study), endpoint), DECIDING.split("/")
    for row in _at_level(run, step, alpha if looked is None else level(*looked, alpha)):
        for suffix in ("", SKEWED):
            if replace(figure, measure=f"{figure.measure}{suffix}").covers(row):
                names = {"family": family, "group": group, "measure": f"{measure}{suffix}"}
                yield row.model_copy(update={"key": f"{run.study}/{DECIDING}{suffix}", **names})


def _at_level(run: Run, step: Callable[[Run], Iterator[Effect]], alpha: float | None) -> Iterator[Effect]:
    """Estimate every figure with intervals of the level 1 - alpha; without any where it is None."""
    if alpha is None:
        yield from (row.model_copy(update={"ci_low": None, "ci_high": None}) for row in step(run))
    else:
        changed = {"measure": run.settings.measure | {"alpha": alpha}}
        yield from step(replace(run, settings=run.settings.model_copy(update=changed)))


def _looked_at(run: Run, units: Sequence[Unit]) -> Looked:
    """Count the clusters that contribute to the primary endpoint: those that were asked, and all."""
    stopping = stopping_of(run.study)
    counted = {unit.key for unit in units} if stopping is None else stopping.counted(run)
    clusters = {unit.cluster for unit in units if unit.key in counted}
    return Looked(len({unit.cluster for unit in units if unit.asked} & clusters), len(clusters))
