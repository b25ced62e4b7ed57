"""The primary endpoint of a study: the figure, declared in params.yaml before the run, that a conclusion begins with.

A verdict also rests on what the endpoint declares beside it (`figures.verdicts`). All other figures are secondary: they
describe, and suggest what to look at next. A single primary test needs no adjustment for multiplicity. Its margin is
the largest difference from the null value that would be of no consequence; a study that cannot be relied upon to detect
a difference of that size is `underpowered`.
Source: ICH E9 (1998), Statistical Principles for Clinical Trials, sections 2.2.2 and 3.5.
"""

from collections.abc import Iterator
from dataclasses import replace

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE
from equipoise.figures.effects import Effect, Group
from equipoise.figures.figure import EVERY, Figure
from equipoise.figures.options import Endpoint
from equipoise.figures.result import Finding, StudyResult
from equipoise.figures.study import Study

DETECTABLE = "_minimum_detectable_effect"
OVERALL = "overall"


def primary_figure(study: Study, endpoint: Endpoint) -> Figure:
    """Find the figure that a study declares as its primary endpoint.

    Raises EquipoiseError for a name that is not one of the study's headline figures; for a figure with a null value,
    also for a margin that is missing or given without a reason; for one without a null value, for a margin, a direction
    or a condition of a verdict.
    """
    where = f"{FILE}: decision.endpoints.{study.name}"
    figure = _known(study, endpoint.figure, where)
    if figure.null is None:
        needless = ("margin", "direction", "why", "floors", "bounds", "also", "families")
        for name in (*needless, "within_groups", "least_stories", "without_likelihoods"):
            if name in endpoint.model_fields_set:
                message = f"{where}: {endpoint.figure} has no null value, and so no {name}: leave `{name}` out"
                raise EquipoiseError(message)
        return figure
    if endpoint.margin is None:
        message = (
            f"{where}: {endpoint.figure} needs a margin, the largest difference from {figure.null:g} that would be "
        )
        raise EquipoiseError(f"{message}of no consequence: add `margin: NUMBER`")
    if endpoint.why is None:
        raise EquipoiseError(f"{where}: say why differences up to {endpoint.margin:g} do not matter: add `why: TEXT`")
    for name in endpoint.also:
        component_figure(study, endpoint, name)
    if endpoint.without_likelihoods is not None:
        other = endpoint.without_likelihoods
        primary_figure(study, other)
        if scored := scored_components(study, other):
            message = f"{where}.without_likelihoods: {scored[0]} is computed from likelihoods: name another figure"
            raise EquipoiseError(message)
    return figure


def scored_components(study: Study, endpoint: Endpoint) -> list[str]:
    """Name the components of an endpoint that are computed from likelihoods."""
    return [name for name in endpoint.components if component_figure(study, endpoint, name).likelihoods]


def component_figure(study: Study, endpoint: Endpoint, name: str) -> Figure:
    """Find the figure of a component of the endpoint; EquipoiseError for one that cannot be held against a margin."""
    where = f"{FILE}: decision.endpoints.{study.name}.also"
    figure = _known(study, name, where)
    if name in endpoint.also and (figure.null is None or figure.group == EVERY):
        raise EquipoiseError(
            f"{where}: {name} is not a difference from a fixed value, so it cannot have a margin: remove it"
        )
    return figure


def _known(study: Study, name: str, where: str) -> Figure:
    known = {figure.name.removeprefix(f"{study.name}."): figure for figure in study.figures if figure.pick is None}
    if name not in known:
        raise EquipoiseError(f"{where}: no headline figure {name!r}: choose one of {', '.join(known)}")
    return known[name]


def endpoint_of_run(study: Study, declared: Endpoint, result: StudyResult) -> Endpoint:
    """Give the endpoint that decides about a run: without what counts only where it is measured, and is not."""
    endpoint = declared.for_run(result.without)
    also = {
        name: component
        for name, component in endpoint.also.items()
        if not component.if_measured or any(map(component_figure(study, endpoint, name).covers, result.effects))
    }
    bounds = {
        place: bound
        for place, bound in endpoint.bounds.items()
        if not bound.if_measured or result.effect(place) is not None
    }
    # What is declared stays distinct from what is not: a copy would count both as declared.
    is_whole = (also, bounds) == (endpoint.also, endpoint.bounds)
    return endpoint if is_whole else endpoint.model_copy(update={"also": also, "bounds": bounds})


def with_primary(result: StudyResult, study: Study, endpoint: Endpoint) -> StudyResult:
    """Mark the effects of the study's primary endpoint, and find the groups that are too small to detect its margin.

    A group is underpowered if the smallest effect that its test detects with the wanted power exceeds the margin, or if
    none is detectable; the power is that of a single test. Only groups for which the study estimates the endpoint's
    minimum detectable effect have this finding.
    """
    figure = primary_figure(study, endpoint)
    components = [figure, *(component_figure(study, endpoint, name) for name in endpoint.also)]
    effects = [
        row.model_copy(update={"primary": True}) if any(part.covers(row) for part in components) else row
        for row in result.effects
    ]
    return replace(result, effects=effects, findings=[*result.findings, *_underpowered(effects, figure, endpoint)])


def _underpowered(effects: list[Effect], figure: Figure, endpoint: Endpoint) -> Iterator[Finding]:
    for row in effects:
        ours = figure.family in (OVERALL, row.family) and row.measure == f"{figure.measure}{DETECTABLE}"
        if ours and endpoint.margin is not None:
            short = row.estimate is None or row.estimate > endpoint.margin
            yield Finding("underpowered", Group(row.family, row.group, row.study), row.n, short)
