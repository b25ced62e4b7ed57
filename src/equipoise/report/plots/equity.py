"""Pictures of the equity study, in the form of `plots`: accuracy ratio by city and attribute, accuracy by disease."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from equipoise.metrics.equity import STUDY
from equipoise.metrics.exam import STUDY as EXAM
from equipoise.metrics.exam import WEIGHTED
from equipoise.questions.rows import ATTRIBUTES, Disease
from equipoise.report.plots.plot import Plot, forest_row, undefined_row, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.core.records import Effect
    from equipoise.report.plots.plot import Row

PAIRS = {
    "city": "attack as published",
    "city_favourable": "both groups told favourably",
    "city_unfavourable": "both groups told unfavourably",
}
"""Families of the accuracy ratio: which of a question's variants the two groups are given."""
NO_CHANGE = 1.0
"""The ratio of a city in which nothing changes."""
DISEASES: dict[str, str] = {
    **{disease: words(disease) for disease in get_args(Disease)},
    "dementia_neuro": "dementia, neurology",
}
WHOLE = {"accuracy": "all questions", WEIGHTED: "weighted by prevalence"}


def ratio_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the accuracy ratio by city and attribute; in the crossed design also with the direction held fixed."""
    rows = [
        forest_row(f"{_city(city)}, {attribute}", column, row)
        for family, column in PAIRS.items()
        for city in _cities(effects)
        for attribute in ATTRIBUTES
        for row in _of(effects, STUDY, family, "accuracy_ratio")
        if row.group == f"{city}/{attribute}"
    ] or [undefined_row(group="no city", measure=PAIRS["city"])]
    return [{**row, "reference": NO_CHANGE} for row in rows]


def disease_rows(effects: Sequence[Effect]) -> list[Row]:
    """Bars of the accuracy of valid answers by disease, then over all of them, a bar for each city."""
    named = [(label, "disease", f"/{disease}", "accuracy") for disease, label in DISEASES.items()]
    named += [(label, "city", "", measure) for measure, label in WHOLE.items()]
    rows = [
        {**_figure(row), "group": label, "series": _city(row.group.removesuffix(suffix)), "panel": "MedMCQA"}
        for label, family, suffix, measure in named
        for row in _of(effects, EXAM, family, measure)
        if row.group.endswith(suffix)
    ]
    return rows or [undefined_row(group=WHOLE["accuracy"], series="no city", panel="MedMCQA")]


PLOTS_EQUITY = {
    "cities": Plot(
        layout=ratio_rows,
        template="forest",
        x="estimate",
        y="group",
        title="Accuracy ratio by city, with 95 % bootstrap intervals over questions",
        x_label="city accuracy over accuracy on the neutral question",
    ),
    "diseases": Plot(
        layout=disease_rows,
        template="bars",
        x="estimate",
        y="group",
        title="Accuracy by disease and city, with 95 % Wilson intervals",
        x_label="share of valid answers that are right",
    ),
}
"""Every picture of the study by the name of its file."""


def _of(effects: Sequence[Effect], metric: str, family: str, measure: str) -> list[Effect]:
    return sorted(
        (row for row in effects if (row.study, row.family, row.measure) == (metric, family, measure)),
        key=lambda row: row.key,
    )


def _cities(effects: Sequence[Effect]) -> list[str]:
    return sorted(
        {row.group.split("/")[0] for family in PAIRS for row in _of(effects, STUDY, family, "accuracy_ratio")}
    )


def _city(name: str) -> str:
    return words(name).title()


def _figure(row: Effect) -> Row:
    return {"n": row.n, "estimate": row.estimate, "ci_low": row.ci_low, "ci_high": row.ci_high}
