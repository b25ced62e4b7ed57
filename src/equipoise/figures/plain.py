"""Plain sentences: what a study found and what follows from it, for readers who know none of its figures.

The first sentence counts what happened on these cases and, where the study has control tellings, what irrelevant
details alone did (`equipoise.studies.vignettes.floor`): that is what chance would do. The second is the verdict.
"""

from collections.abc import Callable, Mapping, Sequence

from equipoise.figures.effects import Effect
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

Rows = Mapping[str, Effect]
"""A study's defined effects by `family/group/measure`."""


def plain(study: str, effects: Sequence[Effect], found: Verdict | None) -> str:
    """Say in two plain sentences what a study found, and its verdict (None where no endpoint has a margin)."""
    start = f"{study}/"
    rows = {row.key.removeprefix(start): row for row in effects if row.key.startswith(start) and _defined(row)}
    return f"{COUNTED[study](rows) or NOTHING} {_judged(found)}"


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


def _value(rows: Rows, key: str) -> float | None:
    return rows[key].estimate if key in rows else None


def _vignettes(rows: Rows) -> str:
    changed, control = (
        rows.get("overall/all/any_difference_rate"),
        _value(rows, "overall/all/any_difference_rate_control"),
    )
    if changed is None or changed.estimate is None:
        return ""
    chance = "" if control is None else f"; by chance alone, {_count(control * changed.n)} would"
    return (
        f"Of {changed.n} comparisons of two patients who differ only in who they are, "
        f"{_count(changed.estimate * changed.n)} ended in different diagnoses{chance}."
    )


def _decisions(rows: Rows) -> str:
    moved, control = rows.get("overall/all/decision_magnitude"), _value(rows, "overall/all/decision_magnitude_control")
    if moved is None or moved.estimate is None:
        return ""
    chance = "" if control is None else f"; by chance alone they would by {_per_cent(control)}"
    return (
        f"Decisions about {moved.n} pairs of patients who differ only in who they are differed by "
        f"{_per_cent(moved.estimate)} of their scale{chance}."
    )


def _questions(rows: Rows) -> str:
    effect = _value(rows, "overall/all/group_effect")
    if effect is None:
        return ""
    return (
        f"Of 100 questions, the model would answer {_more(effect)} correctly when the patient belongs to the "
        "privileged group and nothing else differs."
    )


def _exam(rows: Rows) -> str:
    measure = "prevalence_weighted_accuracy"
    cities = {row.group: row.estimate for row in rows.values() if (row.family, row.measure) == ("city", measure)}
    told = [f"{_hundredths(value)} in {city.title()}" for city, value in sorted(cities.items()) if value is not None]
    if not told:
        return ""
    return (
        f"Of 100 exam questions, asked as often as their diseases occur, the model answers correctly {_listed(told)}."
    )


def _stigma(rows: Rows) -> str:
    mental, other = (_value(rows, f"rq1_{side}/all/disparity_clustered") for side in ("mental", "control"))
    if mental is None or other is None:
        return ""
    return (
        f"Of 100 sentences about mental illness, {_women(mental)} as the one who is ill; of 100 sentences about "
        f"other illness, {_women(other)}."
    )


def _openr1(rows: Rows) -> str:
    gap = rows.get("overall/all/agreement_gap")
    if gap is None or gap.estimate is None:
        return ""
    side = "less" if gap.estimate >= 0 else "more"
    return (
        f"Over {gap.n} messages, replies to marginalised clients were {_per_cent(abs(gap.estimate))} {side} like the "
        "gold answer than replies to privileged clients."
    )


def _cases(rows: Rows) -> str:
    silent = rows.get("overall/all/silent_bias_rate")
    if silent is None or silent.estimate is None:
        return ""
    return (
        f"Of {silent.n} biased answers among the saved outputs, {_count(silent.estimate * silent.n)} came with "
        "reasoning that does not consider the patient's feature."
    )


COUNTED: dict[str, Callable[[Rows], str]] = {
    "vignettes": _vignettes,
    "questions": _questions,
    "exam": _exam,
    "stigma": _stigma,
    "decisions": _decisions,
    "openr1": _openr1,
    "cases": _cases,
}
"""The first sentence of each study; empty where its figures are undefined."""


def _count(value: float) -> str:
    """Write a number of cases; a mean over several wordings, or half a case, has a decimal."""
    return f"{round(value, 1) + 0.0:g}"


def _hundredths(share: float) -> str:
    return f"{100 * share:.0f}"


def _per_cent(share: float) -> str:
    return f"{_count(100 * share)} %"


def _more(share: float) -> str:
    """Write a difference of shares as questions of a hundred."""
    count = _count(100 * abs(share))
    return "as many" if count == "0" else f"{count} {'more' if share > 0 else 'fewer'}"


def _women(share: float) -> str:
    """Write a difference of shares, female minus male, as sentences of a hundred."""
    count = _count(100 * abs(share))
    if count == "0":
        return "as many have a woman as a man"
    first, second = ("woman", "man") if share > 0 else ("man", "woman")
    return f"{count} more have a {first} than a {second}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
