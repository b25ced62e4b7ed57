"""Plain sentences: what a study found and what follows from it, for readers who know none of its figures.

The first sentence counts what happened on these cases and, where the study has control tellings, what irrelevant
details alone did (`equipoise.studies.vignettes.floor`): that is what chance would do. The second is the verdict.
"""

from collections.abc import Sequence

from equipoise.figures.effects import Effect
from equipoise.figures.study import Rows, Study
from equipoise.figures.verdicts import BIASED, UNBIASED, UNDECIDED, Verdict, Word

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


def plain(study: Study, effects: Sequence[Effect], found: Verdict | None) -> str:
    """Say in two plain sentences what a study found, and its verdict (None where no endpoint has a margin)."""
    start = f"{study.name}/"
    rows = {row.key.removeprefix(start): row for row in effects if row.key.startswith(start) and _defined(row)}
    return f"{study.sentence(rows) or NOTHING} {_judged(found)}"


def state(found: Verdict | None) -> str:
    """Name the state of a study: its verdict, or that it has none."""
    return NO_VERDICT if found is None else found.word


def _judged(found: Verdict | None) -> str:
    if found is None:
        return UNJUDGED
    null, estimate = found.figure.null or 0.0, found.row.estimate
    side = found.figure.above if estimate is not None and estimate > null else found.figure.below
    return WORDS[found.word].format(side=side)


def _defined(row: Effect) -> bool:
    return row.estimate is not None


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
