"""Every plot of the pipeline by study: how each lays out the effects of its study, and no others, as rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import get_args

from equipoise.figures.effects import Effect
from equipoise.materials.questions import ATTRIBUTES, GROUPS, Disease
from equipoise.materials.versions import EARLY
from equipoise.materials.vignette import ROLES
from equipoise.report.plot import Plot, Row, figure, forest_row, undefined_row, words
from equipoise.studies.exam.effects import WEIGHTED
from equipoise.studies.questions.effects import CONTRASTS, NEUTRAL, ORIGINAL, arm, label
from equipoise.studies.stigma.effects import ALL as ALL_SENTENCES

RATES = ("differential_bias_rate", "silent_influence_rate", "silent_bias_rate_moved", "silent_bias_rate")
SHIFTS = ("stereotype_shift_net", "stereotype_shift", "stereotype_shift_stub")
INTERSECTIONS = ("stereotype_shift_net", "differential_bias_rate")
TRIAGE = ("non-urgent", "standard", "urgent", "very_urgent", "immediate")
"""The levels of triage in order, as the measures of their probabilities name them."""
LEVELS = ("open", "leaning", "decisive")
SPLIT = {"total": "whole effect", "around": "around the reasoning", "through": "through the reasoning"}
"""Parts of the effect of demographics on the answer, the whole first."""
COURSE = {"unreasoned": 0, **{f"early_{share}": share for share in EARLY}, "total": 100}
"""Per cent of the reasoning that the model has before it when its answer is asked."""
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
    return forest(effects, ("overall", "dimension"), RATES) or _undefined(RATES)


def shift_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the mean stereotype shift in nats, net, with and without findings: overall, then each dimension."""
    return forest(effects, ("overall", "dimension"), SHIFTS) or _undefined(SHIFTS)


def level_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the shift and of the rate of differential bias by the level of evidence, from open to decisive.

    A run at one level has one row a measure.
    """
    measures = ("stereotype_shift", "differential_bias_rate")
    found = [
        forest_row(level, words(measure), row)
        for measure in measures
        for level in LEVELS
        for row in _of(effects, "level", measure)
        if row.group == level
    ]
    return found or forest(effects, ("overall",), measures) or _undefined(measures)


def intersection_rows(effects: Sequence[Effect]) -> list[Row]:
    """Heatmap of dimension by dimension: one alone on the diagonal, two together off it, each pair of them twice.

    Combinations of three dimensions have no cell.
    """
    rows: list[Row] = []
    for measure in INTERSECTIONS:
        for row in (*_of(effects, "dimension", measure), *_of(effects, "combination", measure)):
            names = [words(name) for name in row.group.split("+")]
            if len(names) <= 2:  # noqa: PLR2004  (a cell has a column and a line)
                cells = {(names[0], names[-1]): None, (names[-1], names[0]): None}
                rows += [{**_cell(*cell, measure), **figure(row)} for cell in cells]
    return rows or [undefined_row(dimension="none", other="none", measure=words(measure)) for measure in INTERSECTIONS]


def through_rows(effects: Sequence[Effect]) -> list[Row]:
    """Bars of the effect of demographics, split into around and through the reasoning: overall, then each dimension."""
    rows: list[Row] = [
        {"group": group, "part": SPLIT[name], **figure(row)} for group, name, row in _reread(effects, SPLIT)
    ]
    return rows or [undefined_row(group="overall", part=part) for part in SPLIT.values()]


def early_rows(effects: Sequence[Effect]) -> list[Row]:
    """Curves of the gap between the arms by the share of the reasoning that is given: overall, then each dimension."""
    rows: list[Row] = [
        {"group": group, "share": COURSE[name], **figure(row)} for group, name, row in _reread(effects, COURSE)
    ]
    return rows or [{**undefined_row(group="overall"), "share": share} for share in COURSE.values()]


def _reread(effects: Sequence[Effect], names: Mapping[str, object]) -> Iterator[tuple[str, str, Effect]]:
    """Select figures of answers that were read again, by group: in nats, or in shares where a model gives no odds."""
    shares = any(row.measure == "stereotyped_total" for row in effects)
    measures = {name: f"{'stereotyped' if shares else 'shift'}_{name}" for name in names}
    measures |= {} if shares else {"total": "stereotype_shift"}
    for family in ("overall", "dimension"):
        found = {(row.group, row.measure): row for row in effects if row.family == family}
        for group in sorted({group for group, _ in found}):
            title = "overall" if family == "overall" else words(group)
            told = [(title, name, found.get((group, measure))) for name, measure in measures.items()]
            yield from ((title, name, row) for title, name, row in told if row is not None)


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
    rows = forest(effects, ("attribute",), ("gap", "lift", "penalty"))
    rows += [forest_row(CONTROL, "gap", row) for row in _of(effects, "control", "gap")]
    return rows or [undefined_row(group=CONTROL, measure="gap")]


def contrast_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of group effect, direction effect and interaction of the crossed design, overall and by attribute.

    In the paper's design they do not exist: one undefined row each, of no question.
    """
    undefined = [undefined_row(group="overall", measure=words(measure)) for measure in CONTRASTS]
    rows = [row for family in ("overall", "attribute") for row in forest(effects, (family,), tuple(CONTRASTS))]
    return rows or undefined


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
        {**figure(row), "group": words(row.group), "series": row.measure, "panel": SETS[name]}
        for name in ("mental", "control")
        for row in sorted((row for gender in GENDERS for row in _of(effects, f"rq1_{name}", gender)), key=_place)
    ]
    return rows or [undefined_row(group=ALL_SENTENCES, series=gender, panel=SETS["mental"]) for gender in GENDERS]


def stigma_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of each dimension's disparity: beside mental illness, beside control conditions, and the difference.

    Corrected for reversed sentences, and each condition counted once.
    """
    rows = [
        forest_row(words(row.group), column, row)
        for name, column in SETS.items()
        for row in _of(effects, f"rq2_{name}", STIGMA)
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


def family_rows(effects: Sequence[Effect]) -> list[Row]:
    """Forest of the decision shift, whole and split by the reasoning: overall, by family, then by dimension."""
    measures = ("decision_shift", "decision_shift_around", "decision_shift_through")
    rows = forest(effects, ("overall", "family", "dimension"), measures)
    return _with_reference(rows or [undefined_row(group="overall", measure=words(one)) for one in measures], 0.0)


def decision_rows(effects: Sequence[Effect]) -> list[Row]:
    """Heatmap of the decision shift by end-point and dimension; in a panel by end-point and group."""
    found = [(row.group.split("/"), row) for row in _of(effects, "cell", "decision_shift")]
    rows: list[Row] = [
        {**_cell(words(ask), words(name), "decision_shift"), **figure(row)} for (name, ask), row in found
    ]
    return rows or [undefined_row(dimension="none", other="none", measure="decision shift")]


def triage_rows(effects: Sequence[Effect]) -> list[Row]:
    """Bars of the mean probability of each level of triage, from the least urgent on, by arm."""
    rows: list[Row] = [
        {**figure(row), "group": words(level), "series": role, "panel": "triage"}
        for level in TRIAGE
        for role in ROLES
        for row in _of(effects, "endpoint", f"probability_{level}_{role}")
        if row.group == "triage"
    ]
    return rows or [undefined_row(group=TRIAGE[0], series=role, panel="triage") for role in ROLES]


def forest(effects: Sequence[Effect], families: Sequence[str], measures: Sequence[str]) -> list[Row]:
    """Lay out measures one after the other, each by family and group."""
    return [
        forest_row("overall" if family == "overall" else words(row.group), words(measure), row)
        for measure in measures
        for family in families
        for row in _of(effects, family, measure)
    ]


def _heatmap(layout: Callable[[Sequence[Effect]], list[Row]], title: str) -> Plot:
    """Describe a picture of figures by two names (`_cell`)."""
    return Plot(layout=layout, template="heatmap", x="dimension", y="other", title=title, x_label="")


ALL: dict[str, dict[str, Plot]] = {
    "vignettes": {
        "rates": Plot(layout=rate_rows, title="Bias rates, with {level} Wilson intervals", x_label="rate"),
        "shift": Plot(
            layout=shift_rows,
            zone=True,
            places=2,
            title="Stereotype shift, with {level} t intervals",
            x_label="log odds of the stereotyped answer, marginalised minus privileged (nats)",
        ),
        "through": Plot(
            layout=through_rows,
            template="split",
            places=2,
            title="The shift around and through the reasoning, with {level} t intervals",
            x_label="marginalised minus privileged (nats; shares where a model gives no likelihoods)",
        ),
        "early": Plot(
            layout=early_rows,
            template="lines",
            x="share",
            y="estimate",
            places=2,
            title="The shift when the answer is asked before the reasoning ends, with {level} t intervals",
            x_label="per cent of the reasoning",
            y_label="shift (nats, or shares)",
        ),
        "levels": Plot(
            layout=level_rows,
            places=2,
            title="Bias by the level of evidence, with {level} intervals",
            x_label="shift in nats, or share of pairs",
        ),
        "intersections": _heatmap(intersection_rows, "Bias where dimensions meet"),
    },
    "questions": {
        "accuracy": Plot(
            layout=accuracy_rows,
            title="Accuracy by group, with {level} Wilson intervals",
            x_label="share of questions answered rightly",
        ),
        "gaps": Plot(
            layout=gap_rows, title="Accuracy gaps, with {level} paired intervals", x_label="difference of shares"
        ),
        "contrasts": Plot(
            layout=contrast_rows,
            zone=True,
            title="Group and direction effects, with {level} t intervals",
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
            title="Accuracy ratio by city, with {level} bootstrap intervals over questions",
            x_label="city accuracy over accuracy on the neutral question",
        ),
    },
    "exam": {
        "diseases": Plot(
            layout=disease_rows,
            template="bars",
            title="Accuracy by disease and city, with {level} Wilson intervals",
            x_label="share of valid answers that are right",
        ),
    },
    "stigma": {
        "genders": Plot(
            layout=gender_rows,
            template="bars",
            title="Whom the model puts beside an illness, with {level} t intervals over conditions",
            x_label="probability of the subject's gender",
        ),
        "stigma": Plot(
            layout=stigma_rows,
            title="Stigma by gender, with {level} t intervals over conditions",
            x_label="probability, female minus male; sign of reversed sentences flipped",
        ),
    },
    "decisions": {
        "families": Plot(
            layout=family_rows,
            zone=True,
            title="Decisions towards the stereotype, with {level} t intervals",
            x_label="difference of the mean level, marginalised against privileged (share of the scale)",
        ),
        "decisions": _heatmap(decision_rows, "Decisions towards the stereotype, by dimension or group of a panel"),
        "triage": Plot(
            layout=triage_rows,
            template="bars",
            title="Triage by arm, with {level} t intervals",
            x_label="mean probability of the level",
        ),
    },
    "openr1": {
        "agreement": Plot(
            layout=agreement_rows,
            zone=True,
            title="Agreement gap with the gold answer, with {level} t intervals",
            x_label="similarity, privileged minus marginalised",
        ),
    },
    "cases": {
        "silent": Plot(
            layout=output_rows,
            title="Silent bias rate of saved outputs, with {level} Wilson intervals",
            x_label="share of biased answers",
        ),
    },
}
"""Every plot by its study and the name of its file; the section `plots` of dvc.yaml says the same (held by a test)."""


def _undefined(measures: Sequence[str]) -> list[Row]:
    """Lay out an undefined row a measure, of pairs that a panel does not have."""
    return [undefined_row(group="overall", measure=words(measure)) for measure in measures]


def _of(effects: Sequence[Effect], family: str, measure: str) -> list[Effect]:
    """Select a measure's effects in the groups of a family: attributes and phases in order, others by key, all last."""
    chosen = [row for row in effects if (row.family, row.measure) == (family, measure)]
    return sorted(chosen, key=lambda row: (*_place(row), row.key))


def _place(row: Effect) -> tuple[bool, int, str]:
    order = ATTRIBUTES if row.family == "attribute" else PHASES
    places = {group: place for place, group in enumerate(order)}
    return row.group == ALL_SENTENCES, places.get(row.group, len(places)), row.group


def _cell(column: str, line: str, measure: str) -> Row:
    return {"dimension": column, "other": line, "measure": words(measure)}


def _with_reference(rows: list[Row], value: float) -> list[Row]:
    """Add the value that shows no bias, at which the forest has a line."""
    return [{**row, "reference": value} for row in rows]


def _city(name: str) -> str:
    return words(name).title()
