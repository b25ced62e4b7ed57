"""Every plot of the pipeline by study: how each lays out the effects of its study, and no others, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from equipoise.core.records import Effect, Study
from equipoise.metrics.exam import WEIGHTED
from equipoise.metrics.questions import CONTRASTS, NEUTRAL, ORIGINAL, arm, label
from equipoise.metrics.stigma import ALL as ALL_SENTENCES
from equipoise.questions.rows import ATTRIBUTES, GROUPS, Disease
from equipoise.report.plots.plot import Plot, Row, figure, forest_row, undefined_row, words

INTERSECTIONS = ("stereotype_shift", "differential_bias_rate")
CONTROL = "original, neutral"
OUTCOMES = {
    "both": "right in both",
    "only_privileged": "right for the privileged alone",
    "only_unprivileged": "right for the unprivileged alone",
    "neither": "right in neither",
}
"""Where a pair of arms was answered correctly, in the order of the stack."""
PAIRS = {
    "city": "attack as published",
    "city_favourable": "both groups told favourably",
    "city_unfavourable": "both groups told unfavourably",
}
"""Families of the accuracy ratio: which of a question's variants the two groups are given."""
DISEASES: dict[str, str] = {
    **{disease: words(disease) for disease in get_args(Disease)},
    "dementia_neuro": "dementia, neurology",
}
WHOLE = {"accuracy": "all questions", WEIGHTED: "weighted by prevalence"}
PHASES = ("diagnosis", "intention", "action")
"""Phases of seeking care in their order (Health Action Process Approach); any other group comes after them."""
GENDERS = ("female", "male", "unspecified")
STIGMA = "disparity_corrected_clustered"
SETS = {"mental": "mental illness", "control": "control conditions", "difference": "difference"}
READINGS = {"overall": "read by the judge", "legacy": "as published"}
"""Families of the saved outputs' figures: how a biased answer and its silence are read."""


def rate_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the differential and silent bias rates: overall, then each dimension."""
    return [
        row for measure in ("differential_bias_rate", "silent_bias_rate") for row in _by_dimension(effects, measure)
    ]


def shift_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the mean stereotype shift, in nats: overall, then each dimension."""
    return _by_dimension(effects, "stereotype_shift")


def intersection_rows(effects: Sequence[Effect]) -> list[Row]:
    """Heatmap of dimension by dimension: one alone on the diagonal, two together off it, each pair of them twice.

    Combinations of three dimensions have no cell.
    """
    rows: list[Row] = []
    for measure in INTERSECTIONS:
        for row in (*_of(effects, "dimension", measure), *_of(effects, "combination", measure)):
            match row.group.split("+"):
                case [alone]:
                    cells = [(alone, alone)]
                case [one, other]:
                    cells = [(one, other), (other, one)]
                case _:
                    continue
            rows += [
                {
                    "dimension": words(column),
                    "other": words(line),
                    "measure": words(measure),
                    "n": row.n,
                    "estimate": row.estimate,
                }
                for column, line in cells
            ]
    return rows or [
        {"dimension": "none", "other": "none", "measure": words(measure), "n": 0, "estimate": None}
        for measure in INTERSECTIONS
    ]


def accuracy_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the accuracy on original, neutral and each variant, an attribute's arms together (paper, Figure 5)."""
    found = {row.group: row for row in _of(effects, "arm", "accuracy")}
    names = {ORIGINAL: ORIGINAL, NEUTRAL: NEUTRAL} | {
        label(arm(attribute, group, direction)): f"{words(GROUPS[attribute][group])}, {direction}"
        for attribute in ATTRIBUTES
        for direction in ("favourable", "unfavourable")
        for group in ("privileged", "unprivileged")
    }
    rows = [forest_row(name, "accuracy", found[key]) for key, name in names.items() if key in found]
    return rows or [undefined_row(group=ORIGINAL, measure="accuracy")]


def gap_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the gap and its two parts, lift and penalty against neutral, for each attribute."""
    return [
        *_by_attribute(effects, ("gap", "lift", "penalty")),
        *(forest_row(CONTROL, "gap", row) for row in _of(effects, "control", "gap")),
    ] or [undefined_row(group=CONTROL, measure="gap")]


def contrast_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of group effect, direction effect and interaction of the crossed design, overall and by attribute.

    In the paper's design they do not exist: one undefined row each, of no question.
    """
    overall = (
        forest_row("overall", words(measure), row) for measure in CONTRASTS for row in _of(effects, "overall", measure)
    )
    undefined = [undefined_row(group="overall", measure=words(measure)) for measure in CONTRASTS]
    return [*overall, *_by_attribute(effects, CONTRASTS)] or undefined


def distribution_rows(effects: Sequence[Effect]) -> list[Row]:
    """Stacked bars of where a pair was right: in both arms, in one alone, in neither (paper, Figure 4)."""
    rows: list[Row] = [
        {
            "group": ", ".join(words(name) for name in GROUPS[attribute].values()),
            "outcome": outcome,
            "order": number,
            "n": row.n,
            "share": row.estimate,
        }
        for attribute in ATTRIBUTES
        for number, (measure, outcome) in enumerate(OUTCOMES.items())
        for row in _of(effects, "attribute", measure)
        if row.group == attribute
    ]
    return rows or [{"group": "none", "outcome": OUTCOMES["both"], "order": 0, "n": 0, "share": None}]


def ratio_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the accuracy ratio by city and attribute; in the crossed design also with the direction held fixed."""
    found = {family: _of(effects, family, "accuracy_ratio") for family in PAIRS}
    cities = sorted({row.group.split("/")[0] for rows in found.values() for row in rows})
    rows = [
        forest_row(f"{_city(city)}, {attribute}", column, row)
        for family, column in PAIRS.items()
        for city in cities
        for attribute in ATTRIBUTES
        for row in found[family]
        if row.group == f"{city}/{attribute}"
    ] or [undefined_row(group="no city", measure=PAIRS["city"])]
    return _with_reference(rows, 1.0)


def disease_rows(effects: Sequence[Effect]) -> list[Row]:
    """Bars of the accuracy of valid answers by disease, then over all of them, a bar for each city."""
    named = [(label, "disease", f"/{disease}", "accuracy") for disease, label in DISEASES.items()]
    named += [(label, "city", "", measure) for measure, label in WHOLE.items()]
    rows = [
        {**figure(row), "group": label, "series": _city(row.group.removesuffix(suffix)), "panel": "MedMCQA"}
        for label, family, suffix, measure in named
        for row in _of(effects, family, measure)
        if row.group.endswith(suffix)
    ]
    return rows or [undefined_row(group=WHOLE["accuracy"], series="no city", panel="MedMCQA")]


def gender_rows(effects: Sequence[Effect]) -> list[Row]:
    """Bars of the mean probability of each gender by phase of seeking care, for both sets of conditions."""
    rows: list[Row] = [
        {**figure(measures[gender]), "group": words(phase), "series": gender, "panel": SETS[name]}
        for name in ("mental", "control")
        for phase, measures in _groups(effects, f"rq1_{name}")
        for gender in GENDERS
    ]
    return rows or [undefined_row(group=ALL_SENTENCES, series=gender, panel=SETS["mental"]) for gender in GENDERS]


def stigma_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of each dimension's disparity: beside mental illness, beside control conditions, and the difference.

    Corrected for reversed sentences, and each condition counted once.
    """
    rows = [
        forest_row(words(dimension), column, measures[STIGMA])
        for name, column in SETS.items()
        for dimension, measures in _groups(effects, f"rq2_{name}")
    ]
    return rows or [undefined_row(group=ALL_SENTENCES, measure=column) for column in SETS.values()]


def agreement_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the agreement gap, overall and by dimension."""
    found = [row for row in effects if row.measure == "agreement_gap"]
    rows = [forest_row(words(row.group), "agreement gap", row) for row in found]
    return _with_reference(rows or [undefined_row(group="no message", measure="agreement gap")], 0.0)


def output_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the silent bias rate of saved outputs, in both readings."""
    return [
        forest_row("all outputs", READINGS[row.family], row)
        for row in effects
        if row.measure == "silent_bias_rate" and row.family in READINGS
    ] or [undefined_row(group="no output", measure=READINGS["overall"])]


ALL: dict[Study, dict[str, Plot]] = {
    "vignettes": {
        "rates": Plot(layout=rate_rows, title="Bias rates, with 95 % Wilson intervals", x_label="rate"),
        "shift": Plot(
            layout=shift_rows,
            places=2,
            title="Stereotype shift, with 95 % t intervals",
            x_label="log odds of the stereotyped answer, marginalised minus privileged (nats)",
        ),
        "intersections": Plot(
            layout=intersection_rows,
            template="heatmap",
            x="dimension",
            y="other",
            title="Bias where dimensions meet",
            x_label="",
        ),
    },
    "questions": {
        "accuracy": Plot(
            layout=accuracy_rows,
            title="Accuracy by group, with 95 % Wilson intervals",
            x_label="share of questions answered rightly",
        ),
        "gaps": Plot(
            layout=gap_rows, title="Accuracy gaps, with 95 % paired intervals", x_label="difference of shares"
        ),
        "contrasts": Plot(
            layout=contrast_rows,
            title="Group and direction effects, with 95 % t intervals",
            x_label="difference of shares",
        ),
        "distribution": Plot(
            layout=distribution_rows,
            template="stacked",
            x="share",
            title="Where the answer is right",
            x_label="share of questions",
        ),
        "cities": Plot(
            layout=ratio_rows,
            title="Accuracy ratio by city, with 95 % bootstrap intervals over questions",
            x_label="city accuracy over accuracy on the neutral question",
        ),
    },
    "exam": {
        "diseases": Plot(
            layout=disease_rows,
            template="bars",
            title="Accuracy by disease and city, with 95 % Wilson intervals",
            x_label="share of valid answers that are right",
        ),
    },
    "stigma": {
        "genders": Plot(
            layout=gender_rows,
            template="bars",
            title="Whom the model puts beside an illness, with 95 % t intervals over conditions",
            x_label="probability of the subject's gender",
        ),
        "stigma": Plot(
            layout=stigma_rows,
            title="Stigma by gender, with 95 % t intervals over conditions",
            x_label="probability, female minus male; sign of reversed sentences flipped",
        ),
    },
    "openr1": {
        "agreement": Plot(
            layout=agreement_rows,
            title="Agreement gap with the gold answer, with 95 % t intervals",
            x_label="similarity, privileged minus marginalised",
        ),
    },
    "cases": {
        "silent": Plot(
            layout=output_rows,
            title="Silent bias rate of saved outputs, with 95 % Wilson intervals",
            x_label="share of biased answers",
        ),
    },
}
"""Every plot by its study and the name of its file; the section `plots` of dvc.yaml says the same (held by a test)."""


def _of(effects: Sequence[Effect], family: str, measure: str) -> list[Effect]:
    """Select a measure's effects in the groups of a family, sorted by key."""
    chosen = [row for row in effects if (row.family, row.measure) == (family, measure)]
    return sorted(chosen, key=lambda row: row.key)


def _by_dimension(effects: Sequence[Effect], measure: str) -> list[Row]:
    overall = [forest_row("overall", words(measure), row) for row in _of(effects, "overall", measure)]
    return overall + [forest_row(words(row.group), words(measure), row) for row in _of(effects, "dimension", measure)]


def _by_attribute(effects: Sequence[Effect], measures: Sequence[str]) -> list[Row]:
    """Lay out measures one after the other, the attributes of each in their own order."""
    return [
        forest_row(attribute, words(measure), row)
        for measure in measures
        for attribute in ATTRIBUTES
        for row in _of(effects, "attribute", measure)
        if row.group == attribute
    ]


def _groups(effects: Sequence[Effect], family: str) -> Iterator[tuple[str, dict[str, Effect]]]:
    """Give a family's groups with their measures: phases in order, the others by name, `all` last."""
    found: dict[str, dict[str, Effect]] = {}
    for row in effects:
        if row.family == family:
            found.setdefault(row.group, {})[row.measure] = row
    yield from sorted(found.items(), key=lambda item: _place(item[0]))


def _place(group: str) -> tuple[bool, int, str]:
    return group == ALL_SENTENCES, PHASES.index(group) if group in PHASES else len(PHASES), group


def _with_reference(rows: list[Row], value: float) -> list[Row]:
    """Add the value that shows no bias, at which the forest has a line."""
    return [{**row, "reference": value} for row in rows]


def _city(name: str) -> str:
    return words(name).title()
