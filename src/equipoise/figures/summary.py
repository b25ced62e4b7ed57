"""The metrics of a study: all headline figures and the verdict, and the summary that the tables of DVC print."""

from equipoise.figures.effects import Nested
from equipoise.figures.figure import EVERY, Figure, headline_effects, headline_metrics, shown
from equipoise.figures.look import first_told
from equipoise.figures.options import Decision, Measure
from equipoise.figures.primary import primary_figure
from equipoise.figures.result import StudyResult
from equipoise.figures.study import Study
from equipoise.figures.verdicts import verdict_metrics


def study_metrics(study: Study, result: StudyResult, decision: Decision, options: Measure) -> Nested:
    """Lay out the metrics file of a study: its headline figures, its verdict, and what readers are told first."""
    headlines = headline_metrics(study.figures, result.effects, result.totals, result.why_without)
    told = first_told(study, result, decision.applied(options))
    return {**headlines, **verdict_metrics(result.verdict), **told}


def summary_metrics(study: Study, result: StudyResult, decision: Decision) -> Nested:
    """Lay out the name of a study's primary figure, its estimate, its `n` and the verdict on it.

    All studies have the same keys, so that DVC's tables have a row for each study and few columns. For an endpoint over
    groups, such as cities, the figure is the lowest one, and named so. An undefined estimate is left out. A study
    without an endpoint has only the largest `n` of its headline figures.

    Raises:
        EquipoiseError: an endpoint is not a figure of its study.
    """
    endpoint = decision.endpoints.get(study.name)
    endpoint = None if endpoint is None else endpoint.for_run(result.without)
    if endpoint is None:
        return {"n": max((row.n for _, row in headline_effects(result.effects, study.figures)), default=0)}
    figure = primary_figure(study, endpoint)
    word: Nested = {} if result.verdict is None else {"verdict": result.verdict.word}
    return {"figure": _name(figure), **_lowest(figure, result), **word}


def _name(figure: Figure) -> str:
    parts = [part for part in figure.path if part != EVERY]
    return "_".join([*parts, "lowest"] if figure.group == EVERY else parts)


def _lowest(figure: Figure, result: StudyResult) -> Nested:
    """Find the lowest estimate of a figure's groups with its `n`; only the largest `n` if none is defined."""
    rows = [row for row in result.effects if figure.covers(row)]
    defined = [(row.estimate, row.n) for row in rows if row.estimate is not None]
    if not defined:
        return {"n": max((row.n for row in rows), default=0)}
    estimate, n = min(defined)
    return {"estimate": shown(figure, "estimate", estimate), "n": n}
