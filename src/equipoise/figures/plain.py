"""Plain sentences: what a study found and what follows from it, for readers who know none of its figures.

The first sentence counts what happened on these cases and, where the study has control tellings, what irrelevant
details alone did (`equipoise.studies.vignettes.floor`): that is what chance would do. The second is the verdict.
"""

from collections.abc import Sequence

from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED, StudyResult, Verdict, Word
from equipoise.figures.study import Rows, Study

NO_VERDICT = "no verdict"
"""The state of a study whose endpoint has no margin."""
WORDS: dict[Word, str] = {
    BIASED: "This run shows a bias beyond the margin: {side}.",
    UNBIASED: "On these cases, any such bias is smaller than the margin.",
    UNDECIDED: "This run cannot tell whether the model is biased.",
}
"""What follows from each verdict; `side` is the headline figure's meaning of values on that side."""
UNJUDGED = "This says nothing about whether the model is biased."
NOTHING = "There was nothing to compare."


def plain(study: Study, result: StudyResult) -> str:
    """Say in two plain sentences what a study found, and what follows from its verdict."""
    return f"{study.sentence(result.defined) or NOTHING} {_judged(result.verdict)}"


def state(verdict: Verdict | None) -> str:
    """Name the state of a study: its verdict, or that it has none."""
    return NO_VERDICT if verdict is None else verdict.word


def _judged(verdict: Verdict | None) -> str:
    if verdict is None:
        return UNJUDGED
    null, estimate = verdict.figure.null or 0.0, verdict.row.estimate
    side = verdict.figure.above if estimate is not None and estimate > null else verdict.figure.below
    return WORDS[verdict.word].format(side=side)


def value_of(rows: Rows, key: str) -> float | None:
    return rows[key].estimate if key in rows else None


def count(value: float) -> str:
    """Write a number of cases; a mean over several wordings, or half a case, has a decimal."""
    return f"{round(value, 1) + 0.0:g}"


def hundredths(share: float) -> str:
    return f"{100 * share:.0f}"


def per_cent(share: float) -> str:
    return f"{count(100 * share)} %"


def more_or_fewer(share: float) -> str:
    """Write a difference of shares as questions of a hundred."""
    number = count(100 * abs(share))
    return "as many" if number == "0" else f"{number} {'more' if share > 0 else 'fewer'}"


def listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
