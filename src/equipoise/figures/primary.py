"""The primary endpoint of a study: the one figure, declared in params.yaml before the run, that a conclusion rests on.

All other figures are secondary: they describe, and suggest what to look at next. A single primary test needs no
adjustment for multiplicity. Its margin is the largest difference from the null value that would be of no consequence;
the study is `underpowered` where it cannot be relied upon to detect a difference of that size.
Source: ICH E9 (1998), Statistical Principles for Clinical Trials, sections 2.2.2 and 3.5.
"""

from collections.abc import Iterable, Iterator, Mapping

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE
from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.figure import Figure
from equipoise.figures.options import Endpoint
from equipoise.figures.study import Study

DETECTABLE = "_minimum_detectable_effect"
OVERALL = "overall"


def headline(study: Study, endpoint: Endpoint) -> Figure:
    """Find the headline figure that a study declares as its primary endpoint.

    Raises EquipoiseError for a name that is not one of the study's headline figures, for a margin that is missing, or
    given without its reason, where the figure has a null value, and for a margin, direction or condition of a verdict
    where it has none.
    """
    where = f"{FILE}: decision.endpoints.{study.name}"
    known = {one.name.removeprefix(f"{study.name}."): one for one in study.figures if one.pick is None}
    if endpoint.figure not in known:
        message = f"{where}: no headline figure {endpoint.figure!r}: choose one of {', '.join(known)}"
        raise EquipoiseError(message)
    found = known[endpoint.figure]
    if found.null is None:
        for name in ("margin", "direction", "why", "floors", "noise"):
            if name in endpoint.model_fields_set:
                message = f"{where}: {endpoint.figure} has no null value, and so no {name}: leave `{name}` out"
                raise EquipoiseError(message)
        return found
    if endpoint.margin is None:
        message = (
            f"{where}: {endpoint.figure} needs a margin, the largest difference from {found.null:g} that would be "
        )
        raise EquipoiseError(f"{message}of no consequence: add `margin: NUMBER`")
    if endpoint.why is None:
        raise EquipoiseError(f"{where}: say why differences up to {endpoint.margin:g} do not matter: add `why: TEXT`")
    return found


def declared(effects: Iterable[Effect], study: Study, endpoints: Mapping[str, Endpoint]) -> Iterator[Effect]:
    """Mark the effects of the study's primary endpoint, and add whether each group has the power to detect its margin.

    `underpowered` is 1 where the smallest effect that the group's test detects with the wanted power exceeds the
    margin, or where none is detectable; the power is that of a single test. The groups are those for which the study
    gives the endpoint's minimum detectable effect; a study without one, or without a declared endpoint, has no such
    figure.
    """
    endpoint = endpoints.get(study.name)
    if endpoint is None:
        yield from effects
        return
    primary = headline(study, endpoint)
    for row in effects:
        yield row.model_copy(update={"primary": True}) if primary.covers(row) else row
        ours = primary.family in (OVERALL, row.family) and row.measure == f"{primary.measure}{DETECTABLE}"
        if ours and endpoint.margin is not None:
            short = row.estimate is None or row.estimate > endpoint.margin
            yield effect(Group(row.family, row.group, study.name), "underpowered", row.n, Estimate(float(short)))
