"""What the report opens with: a state and a plain sentence for each study, and one picture of all verdicts."""

from collections.abc import Mapping
from typing import NamedTuple

from equipoise.figures.plain import NO_VERDICT, plain, state
from equipoise.figures.plot import Plot, Row, undefined_row
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, StudyResult, Verdict
from equipoise.figures.study import Study
from equipoise.report.docs import VERDICTS, anchor

LIGHTS = {
    BIASED: ("biased", "\N{BLACK UP-POINTING TRIANGLE}"),
    UNBIASED: ("fair", "\N{CHECK MARK}"),
    UNDECIDED: ("undecided", "?"),
    NO_VERDICT: ("none", "\N{EN DASH}"),
}
"""Of each state its style and a sign: colour alone tells nothing."""


class Opening(NamedTuple):
    """A study in the report's first lines. `verdict` is None where the endpoint has no margin."""

    study: str
    state: str
    style: str
    sign: str
    sentence: str
    verdict: Verdict | None
    page: str
    question: str
    whom: str


def opening(study: Study, result: StudyResult) -> Opening:
    """Say in plain words what a study found and what its verdict is."""
    word = state(result.verdict)
    style, sign = LIGHTS[word]
    return Opening(
        study=study.title,
        state=word,
        style=style,
        sign=sign,
        sentence=plain(study, result),
        verdict=result.verdict,
        page=anchor(VERDICTS if result.verdict else study.page or VERDICTS),
        question=study.question,
        whom=study.whom,
    )


def overview(verdicts: Mapping[str, Verdict]) -> Plot:
    """Describe the picture of all verdicts, by the studies' titles: a forest in units of each study's margin."""
    return Plot(
        layout=lambda _: overview_rows(verdicts),
        title="Distance from no bias, with {level} intervals: the zone is what each study's margin allows",
        x_label="distance from no bias, in margins",
    )


def overview_rows(verdicts: Mapping[str, Verdict]) -> list[Row]:
    """Lay out each study's endpoint as its difference from the null value, divided by its margin."""
    return [{**_row(study, found), "reference": 0.0, "margin": 1.0} for study, found in verdicts.items()]


def _row(study: str, found: Verdict) -> Row:
    names = {"group": f"{study}: {found.word}", "measure": "primary endpoints"}
    row, null, margin = found.row, found.figure.null, found.endpoint.margin
    if row.estimate is None or null is None or margin is None:
        return {**undefined_row(**names), "n": row.n}
    low, high = ((None if end is None else (end - null) / margin) for end in (row.ci_low, row.ci_high))
    return {**names, "n": row.n, "estimate": (row.estimate - null) / margin, "ci_low": low, "ci_high": high}
