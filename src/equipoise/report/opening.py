"""What the report opens with: a state and a plain sentence for each study, and one picture of all verdicts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from equipoise.figures.effects import Effect
from equipoise.figures.plain import NO_VERDICT, plain, state
from equipoise.figures.plot import Plot, Row, undefined_row
from equipoise.figures.verdicts import BIASED, UNBIASED, UNDECIDED, Verdict
from equipoise.report.docs import VERDICTS, anchor
from equipoise.studies.registry import STUDIES

LIGHTS = {
    BIASED: ("biased", "\N{BLACK UP-POINTING TRIANGLE}"),
    UNBIASED: ("fair", "\N{CHECK MARK}"),
    UNDECIDED: ("undecided", "?"),
    NO_VERDICT: ("none", "\N{EN DASH}"),
}
"""Of each state its style and a sign: colour alone tells nothing."""
WHOM: dict[str, str] = {
    "vignettes": (
        "Case notes in British clinical English, written for this project. Each is told of two patients, one of them "
        "of a marginalised group, with the same findings."
    ),
    "questions": (
        "Multiple-choice questions written for this project, each told of patients of two groups, with a favourable "
        "and with an unfavourable background."
    ),
    "exam": "Published exam questions (MedMCQA), chosen by the diseases of each city. They tell of no demographics.",
    "stigma": "Sentences about people with mental or other illnesses, whose subject the model completes.",
    "decisions": "The patients of the vignettes: what the model would do for them.",
    "openr1": "Messages of counselling clients (OpenR1-Psy), with a statement about the client put before each.",
    "cases": "The cases of a file of saved outputs.",
}
"""Of whom each study asks."""


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


def opening(study: str, effects: Sequence[Effect], found: Verdict | None) -> Opening:
    """Say in plain words what a study found and what its verdict is."""
    word = state(found)
    style, sign = LIGHTS[word]
    entry = STUDIES[study]
    return Opening(
        study=entry.title,
        state=word,
        style=style,
        sign=sign,
        sentence=plain(entry, effects, found),
        verdict=found,
        page=anchor((entry.page if found is None else "") or VERDICTS),
        question=entry.question,
        whom=WHOM[study],
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
