"""The summary of a run: what `dvc metrics show`, `dvc metrics diff` and `dvc exp show` print of each study."""

from collections.abc import Mapping, Sequence

from equipoise.figures.effects import Effect, Nested
from equipoise.figures.figure import EVERY, find, shown
from equipoise.figures.options import Decision
from equipoise.figures.primary import headline
from equipoise.figures.study import Study
from equipoise.figures.verdicts import verdict


def summary_metrics(effects: Mapping[Study, Sequence[Effect]], decision: Decision) -> Nested:
    """Give each study its primary figure by name, its estimate, `n`, the items behind that, and the verdict on it.

    All studies have the same keys, so that DVC's tables have a row for each study and few columns. Of an endpoint that
    every group of a family has, such as every city, the figure is the lowest, and named so. An undefined estimate is
    left out. A study that declares no endpoint has the largest `n` of its headline figures alone.

    Raises:
        EquipoiseError: an endpoint is no figure of its study.
    """
    return {study.name: _summary(study, rows, decision) for study, rows in effects.items()}


def _summary(study: Study, rows: Sequence[Effect], decision: Decision) -> Nested:
    endpoint = decision.endpoints.get(study.name)
    if endpoint is None:
        return {"n": max((row.n for _, row in find(rows, study.figures)), default=0)}
    found = verdict(study, rows, decision)
    word: Nested = {} if found is None else {"verdict": found.word}
    figure = headline(study, endpoint)
    covered = [row for row in rows if figure.covers(row)]
    defined = [(row.estimate, row.n) for row in covered if row.estimate is not None]
    name = "_".join([*(part for part in figure.path if part != EVERY), *(["lowest"] if figure.group == EVERY else [])])
    if not defined:
        return {"figure": name, "n": max((row.n for row in covered), default=0), **word}
    estimate, n = min(defined)
    return {"figure": name, "estimate": shown(figure, "estimate", estimate), "n": n, **word}
