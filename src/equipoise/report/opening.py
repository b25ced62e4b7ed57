"""The opening of the report: a state and a plain sentence for each study, and one picture of all verdicts."""

from collections.abc import Sequence
from typing import NamedTuple

from equipoise.figures.look import LOOK, look, margins
from equipoise.figures.options import Measure
from equipoise.figures.plain import NO_VERDICT, next_step, plain, state
from equipoise.figures.plot import Plot, Row, undefined_row
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, StudyResult, Verdict, and_more
from equipoise.figures.study import Study
from equipoise.figures.views import Brief, CasesView
from equipoise.report.docs import VERDICTS, anchor

LIGHTS = {
    BIASED: ("biased", "\N{BLACK UP-POINTING TRIANGLE}"),
    UNBIASED: ("fair", "\N{CHECK MARK}"),
    UNDECIDED: ("undecided", "?"),
    LOOK: ("look", "\N{CIRCLE WITH LEFT HALF BLACK}"),
    NO_VERDICT: ("none", "\N{EN DASH}"),
}
"""The style and sign of each state, since colour alone would not be accessible."""


REVIEWED = {
    True: (
        "No clinician has. Cases, questions, expected answers and the documented errors were written for this project, "
        "and their sources were recalled by a language model or read as abstracts. Programs check the cases' form, not "
        "their medicine."
    ),
    False: (
        "This report does not know. The cases and their expected answers are not this project's: ask those who wrote "
        "them."
    ),
}
"""Who has reviewed the cases, by whether they were written for this project."""
NOT_CARE = {
    True: "Cases written for this project are not patients. No clinician has reviewed them yet.",
    False: "Imported cases are not patients, and the report knows no more of them than their file says.",
}
"""Why a study does not assess clinical care, by the same."""


class Opening(NamedTuple):
    """A study in the report's first lines; `verdict` is None for an endpoint without a margin.

    `reviewed` says who has reviewed its cases, `not_care` why they are not clinical care.
    `reason` is the first of the verdict's, `margins` are those of its components in words, and `next` is what to do
    next. `brief` and `cases` are None for a study without them.
    """

    study: str
    state: str
    style: str
    sign: str
    sentence: str
    verdict: Verdict | None
    page: str
    question: str
    whom: str
    reviewed: str
    not_care: str
    reason: str
    margins: str
    next: str
    brief: Brief | None
    cases: CasesView | None


def opening(
    study: Study, result: StudyResult, options: Measure, cases: CasesView | None = None, *, authored: bool = True
) -> Opening:
    """State in plain words what a study found and its verdict.

    `options` have the level and power of decisions, `cases` the study's cases, which were `authored` for this project
    or imported.
    """
    told = look(study, result, options)
    word = state(result.verdict, told)
    style, sign = LIGHTS[word]
    return Opening(
        study=study.title,
        state=word,
        style=style,
        sign=sign,
        sentence=_unbroken(plain(study, result, told)),
        verdict=result.verdict,
        page=anchor(VERDICTS if result.verdict else study.page or VERDICTS),
        question=study.question,
        whom=study.whom,
        reviewed=REVIEWED[authored],
        not_care=NOT_CARE[authored],
        reason=_reason(result.verdict),
        margins=margins(result.verdict),
        next=next_step(study, result),
        brief=study.brief(result.defined),
        cases=cases,
    )


def _unbroken(text: str) -> str:
    """Keep per cent signs on the line of their number."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _reason(verdict: Verdict | None) -> str:
    """Give the first reason of a verdict, and count the others, which the page has below it."""
    if verdict is None or not verdict.because:
        return ""
    first = verdict.because[0]
    return f"{first[0].upper()}{first[1:]}{and_more(len(verdict.because) - 1)}."


def overview(openings: Sequence[Opening]) -> Plot:
    """Describe the picture of all verdicts: a forest in units of each study's margin."""
    return Plot(
        layout=lambda _: overview_rows(openings),
        title="Distance from no bias, with {level} intervals: the zone is what each study's margin allows",
        x_label="distance from no bias, in margins",
    )


def overview_rows(openings: Sequence[Opening]) -> list[Row]:
    """Lay out each study's endpoint as its difference from the null value, divided by its margin."""
    # Without the margin, which the zone shows: a label as long as the whole verdict leaves a phone no room.
    judged = ((f"{entry.study}: {entry.state.partition(' beyond')[0]}", entry.verdict) for entry in openings)
    return [{**_row(name, verdict), "reference": 0.0, "margin": 1.0} for name, verdict in judged if verdict]


def _row(name: str, verdict: Verdict) -> Row:
    names = {"group": name, "measure": "primary endpoints"}
    row, null, margin = verdict.row, verdict.figure.null, verdict.endpoint.margin
    if row.estimate is None or null is None or margin is None:
        return {**undefined_row(**names), "n": row.n}
    low, high = ((None if end is None else (end - null) / margin) for end in (row.ci_low, row.ci_high))
    return {**names, "n": row.n, "estimate": (row.estimate - null) / margin, "ci_low": low, "ci_high": high}
