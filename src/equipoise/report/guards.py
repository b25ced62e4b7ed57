"""The guards, each with a plain outcome; what was asked and answered, and groups too small to show an effect."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.figures.effects import Effect
from equipoise.figures.figure import Figure, number
from equipoise.figures.guards import ALPHA, MINIMUM, THRESHOLDS
from equipoise.figures.plot import words

SKEW = "label_skew"
FAULTS = ("duplicate", "incomplete", "violation")
"""Parts of the names of figures that are 0 in a sound run."""
RUN, GUARD = "run", "guard"
"""Families of the effects that count what was asked, and of the guards' (whose groups are the guards)."""
WARNS, PASSED, NOTHING = "warns", "passed", "nothing to check"
COUNTED, SKEWED = ("count", "triggered"), ("share_given", "share_expected", "n_wrong")
"""Measures of every guard that had something to look at, and more of `stereotype_skew`."""
VERDICTS = (WARNS, PASSED, NOTHING)
"""In the order in which guards are shown."""
MEANINGS = {
    "unanswered_prompts": (
        "Prompts without a result. A run stops where the model left a prompt unanswered; a saved output may be "
        "missing, or its run may have failed."
    ),
    "identical_arms": (
        "Two arms that agree in all results although their prompts differ: one was copied over the other, or the cache "
        "mixed them up."
    ),
    "copied_results": (
        "Likelihoods or long replies that another case has as well: a row was copied, or one saved output was filed "
        "under two cases."
    ),
    "repeated_replies": "Replies that are identical to those to another case: the model is stuck in one answer.",
    "empty_replies": "Replies without a word, which leave nothing to read or to judge.",
    "reasoning_cut_off": (
        "Reasoning cut off by the length limit: a feature that would have been considered later is not seen, and bias "
        "looks more silent than it is."
    ),
    "answers_cut_off": (
        "Answers cut off by the length limit. Where the answer is read from likelihoods no figure depends on them; "
        "otherwise the diagnosis or the letter may be missing."
    ),
    "unread_answers": (
        "Answers that could not be read; in the stigma study sentences in which neither gender was found. They count "
        "as wrong, or are left out."
    ),
    "refused_answers": "Answers that the model refused to give: the figures are about the rest.",
    "label_skew": (
        "Arms in which one letter is given far too often, whatever option is shown there, as by a parser that misreads "
        "or a model that always picks the same one. Averaged over the orders of the options, the letter decides "
        "nothing, but what is left may be hardly more than chance: accuracy there means little."
    ),
    "stereotype_skew": (
        "Whether wrong diagnoses of privileged patients, whom the stereotype does not concern, are the stereotyped one "
        "more or less often than expected by chance: then the model prefers or avoids its wording, whoever the patient "
        "is."
    ),
}
"""What each guard looks for, and what a warning means."""


class Outcome(NamedTuple):
    """The outcome of one guard in all studies. `found` has a phrase for each study; `limit` is where it warns."""

    name: str
    outcome: str
    found: list[str]
    limit: str
    meaning: str


class Skew(NamedTuple):
    """Distance between the letters given in an arm and the right ones, and whether that raises the alarm."""

    where: str
    n: int
    distance: str
    alarm: bool


class Guards(NamedTuple):
    """All guard figures, in `outcomes` those that warn first. `summary` is one sentence about them.

    `asked`: a row for each count, a cell for each study; `faults`: name, figure, n.
    """

    summary: str
    whole: str
    outcomes: list[Outcome]
    studies: list[str]
    asked: list[tuple[str, list[str]]]
    skews: list[Skew]
    faults: list[tuple[str, str, str]]
    small: list[str]


def guards(effects: Sequence[Effect]) -> Guards:
    """Collect the guards' figures from a run's effects, and the signs of trouble among the others."""
    runs = [row for row in effects if row.family == RUN]
    studies: list[str] = list(dict.fromkeys(row.study for row in runs))
    counts: dict[str, dict[str, float | None]] = {}
    for row in runs:
        counts.setdefault(row.measure, {})[row.study] = row.estimate
    guarded = [row for row in effects if row.family == GUARD]
    outcomes = [_outcome(name, [row for row in guarded if row.group == name]) for name in MEANINGS]
    outcomes.sort(key=lambda one: VERDICTS.index(one.outcome))
    others = [row for row in effects if row.family not in (RUN, GUARD)]
    alarms = {row.key.removesuffix("_alarm") for row in others if row.measure == f"{SKEW}_alarm" and row.estimate}
    return Guards(
        summary=_summary(outcomes),
        whole=_whole(sum(round(n or 0) for study, n in counts.get("n_prompts", {}).items() if study != "cases")),
        outcomes=outcomes,
        studies=[words(study) for study in studies],
        asked=[(words(name), [_count(found.get(study)) for study in studies]) for name, found in counts.items()],
        skews=[
            Skew(_place(row), row.n, _figure(row), alarm=row.key in alarms) for row in others if row.measure == SKEW
        ],
        faults=[
            (f"{_place(row)}, {words(row.measure)}", _figure(row), str(row.n))
            for row in others
            if any(fault in row.measure for fault in FAULTS)
        ],
        small=[_place(row) for row in others if row.measure == "underpowered" and row.estimate == 1],
    )


def warnings(figure: Figure, row: Effect, effects: Sequence[Effect]) -> list[str]:
    """Name the guards that warn of what a figure is computed from: those of its study.

    Cut off reasoning concerns the figures about the reasoning, and the primary endpoint, whose verdict it prevents.
    """
    counts = {one.group: one for one in effects if (one.study, one.family, one.measure) == (row.study, GUARD, "count")}
    warn = [
        one.group
        for one in effects
        if (one.study, one.family, one.measure) == (row.study, GUARD, "triggered") and one.estimate
    ]
    concerned = row.primary or figure.about_reasoning
    return [
        f"{words(name)} ({_count(counts[name].estimate)} of {counts[name].n})"
        for name in warn
        if name in counts and (concerned or name != "reasoning_cut_off")
    ]


def _outcome(name: str, rows: Sequence[Effect]) -> Outcome:
    """Put together what a guard found in every study in which it had anything to look at."""
    studies: dict[str, dict[str, Effect]] = {}
    for row in rows:
        if row.n:
            studies.setdefault(row.study, {})[row.measure] = row
    for study, table in studies.items():
        needed = (*COUNTED, *(SKEWED if name == "stereotype_skew" else ()))
        if missing := [measure for measure in needed if measure not in table]:
            raise EquipoiseError(
                f"data/{study}/effects.jsonl: the guard {name} has no {missing[0]}: run `dvc repro --force "
                f"measure@{study}`"
            )
    warns = any(table["triggered"].estimate for table in studies.values())
    return Outcome(
        name=words(name),
        outcome=WARNS if warns else PASSED if studies else NOTHING,
        found=[f"{words(study)}: {_found(name, table)}" for study, table in studies.items()],
        limit=_limit(name),
        meaning=MEANINGS[name],
    )


def _limit(name: str) -> str:
    if "skew" in name:
        return f"p below {ALPHA:g} and {100 * MINIMUM:g} % off"
    return f"more than {100 * THRESHOLDS[name]:g} %" if THRESHOLDS[name] else "any"


def _found(name: str, table: Mapping[str, Effect]) -> str:
    if name == "stereotype_skew":
        given, expected = _figure(table["share_given"]), _figure(table["share_expected"])
        return f"{given} of {_count(table['n_wrong'].estimate)} wrong answers, {expected} expected"
    kind = {"identical_arms": " pairs of arms", SKEW: " arms"}.get(name, "")
    largest = f", largest distance {_figure(table['largest'])}" if "largest" in table else ""
    return f"{_count(table['count'].estimate)} of {table['count'].n}{kind}{largest}"


def _summary(outcomes: list[Outcome]) -> str:
    asked = [one for one in outcomes if one.outcome != NOTHING]
    warn = [one.name for one in asked if one.outcome == WARNS]
    if not asked:
        return "No guard had anything to check."
    if not warn:
        return f"None of {len(asked)} guards warns."
    return f"{len(warn)} of {len(asked)} guards warn{'s' if len(warn) == 1 else ''}: {', '.join(warn)}."


def _whole(n: int) -> str:
    """Say what holds of every run that has figures: the guards that stop a run have passed."""
    if not n:
        return ""
    return (
        f"The run is complete: each of {n:,} prompts has exactly one response, there is no other response, and every "
        "pair has both its arms."
    )


def _place(row: Effect) -> str:
    return ", ".join(words(name) for name in (row.study, row.family, row.group))


def _figure(row: Effect) -> str:
    return "undefined" if row.estimate is None else number(row.estimate)


def _count(value: float | None) -> str:
    return "not counted" if value is None else str(round(value))
