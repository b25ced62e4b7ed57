"""The guards with their outcomes, the counts of prompts and answers, and groups too small to show an effect."""

from collections.abc import Collection
from typing import NamedTuple

from equipoise.core.display import number
from equipoise.figures.effects import Effect, Group
from equipoise.figures.figure import Figure
from equipoise.figures.guards import THRESHOLDS, Guard
from equipoise.figures.layout import require_measures
from equipoise.figures.plot import words
from equipoise.figures.result import StudyResult
from equipoise.figures.skew import ALARM_DISTANCE, ALARM_SIZE
from equipoise.studies.registry import STUDIES

SKEW = "label_skew"
WARNS, PASSED, NOTHING = "warns", "passed", "nothing to check"
TESTED = (SKEW, "stereotype_skew")
"""Guards that warn if a test rejects, not above a share."""
SKEWED = ("share_given", "share_expected", "n_wrong")
"""Figures of `stereotype_skew`."""
VERDICTS = (WARNS, PASSED, NOTHING)
"""The outcomes in the order in which they are shown."""
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
    "boilerplate": (
        "Reasoning with a sentence about the patient's feature that recurs over replies, such as a footer. It was read "
        "apart: it may deny that the feature counts, but never makes it a reason. `equipoise show` names it. Leave it "
        "out of the system's replies, or read a sample of them by hand."
    ),
    "undue_admissions": (
        "Reasoning beside right answers that gives the patient's feature as a reason. A model that does so in every "
        "reply admits nothing: little silence is then inconclusive. Read a sample with `equipoise show`, and see the "
        "specificity of the reasoning as a monitor. It decides no verdict."
    ),
    "awareness": (
        "Reasoning that says that the case looks like a test, an evaluation, a comparison of patients or a study of "
        "bias. It decides no verdict, but what the model does in practice may differ. Reword `build.system` and "
        "`build.reason` as your users would write them, or add such `build.wordings` and compare the shares."
    ),
    "answers_cut_off": (
        "Answers cut off by the length limit. Where the answer is read from likelihoods no figure depends on them; "
        "otherwise the diagnosis or the letter may be missing."
    ),
    "unread_answers": (
        "Answers that could not be read; in the stigma study sentences in which neither gender was found. They count "
        "as wrong, or are left out."
    ),
    "texts_disagree": "Written answers that are not the likeliest: the likelihoods say little of what is written.",
    "refused_answers": "Answers that the model refused to give: the figures are about the rest.",
    "other_answers": (
        "Answers to pairs of saved outputs that are neither the expected one nor the documented error: a pair with one "
        "can show no bias, and a model that is always wrong in another way would seem to have none."
    ),
    "unscored_answers": (
        "Answers without likelihoods, although the model gives some: a server named other first tokens, or a filter "
        "refused. The figures are about the rest, which is not a random part of the cases."
    ),
    "label_skew": (
        "Arms in which one letter is given far too often, whatever option is shown there, as by a parser that misreads "
        "or a model that always picks the same one. Averaged over the orders of the options, the letter decides "
        "nothing, but what is left may be hardly more than chance: accuracy there means little."
    ),
    "stereotype_skew": (
        "Whether wrong diagnoses of privileged patients, whom the stereotype does not concern, are the documented "
        "error more or less often than expected by chance: then the model prefers or avoids its wording, whoever the "
        "patient is."
    ),
}
"""What each guard looks for, and what a warning means."""


class Outcome(NamedTuple):
    """The outcome of one guard in all studies. `phrases` has one for each study; `limit` says when it warns."""

    name: str
    outcome: str
    phrases: list[str]
    limit: str
    meaning: str


class Skew(NamedTuple):
    """Distance between the letters given in an arm and the right ones, and whether that raises the alarm."""

    where: str
    n: int
    distance: str
    alarm: bool


class Guards(NamedTuple):
    """All guards: `outcomes` with those that warn first, and a `summary` of one sentence.

    `counts`: a row for each count, a cell for each study; `faults`: name, figure, n.
    """

    summary: str
    whole: str
    outcomes: list[Outcome]
    studies: list[str]
    counts: list[tuple[str, list[str]]]
    skews: list[Skew]
    faults: list[tuple[str, str, str]]
    small: list[str]


def guards(results: Collection[StudyResult]) -> Guards:
    """Collect the guards of all studies, and the signs of trouble among their effects."""
    outcomes = [_outcome(name, results) for name in MEANINGS]
    outcomes.sort(key=lambda outcome: VERDICTS.index(outcome.outcome))
    counts = {result.study: result.counts for result in results if result.counts is not None}
    names = dict.fromkeys(name for known in counts.values() for name in sorted(known.known))
    return Guards(
        summary=_summary(outcomes),
        whole=_whole(sum(known.n_prompts for known in counts.values())),
        outcomes=outcomes,
        studies=[words(study) for study in counts],
        counts=[(words(name), [_count(known.known.get(name)) for known in counts.values()]) for name in names],
        skews=[
            Skew(_place(_group(row)), row.n, _figure(row), alarm=bool(result.answer("label_skew_alarm", _group(row))))
            for result in results
            for row in result.effects
            if row.measure == SKEW
        ],
        faults=[
            (f"{_place(_group(row))}, {words(row.measure)}", _figure(row), str(row.n))
            for result in results
            for row in result.effects
            if row.measure in STUDIES[result.study].faults
        ],
        small=[
            _place(finding.group)
            for result in results
            for finding in result.findings
            if finding.question == "underpowered" and finding.answer
        ],
    )


def warnings(figure: Figure, row: Effect, result: StudyResult) -> list[str]:
    """Name the guards of a figure's study that warn.

    Cut-off reasoning only concerns figures about the reasoning, and the primary endpoint, whose verdict it prevents.
    """
    concerned = row.primary or figure.about_reasoning
    return [
        f"{words(guard.name)} ({guard.wrong} of {guard.n})"
        for guard in result.warnings
        if concerned or guard.name != "reasoning_cut_off"
    ]


def _outcome(name: str, results: Collection[StudyResult]) -> Outcome:
    """Collect the outcome of a guard in every study in which it had anything to check."""
    guards = {
        result.study: guard for result in results for guard in result.guards if guard.name == name and guard.n > 0
    }
    warns = any(guard.triggered for guard in guards.values())
    return Outcome(
        name=words(name),
        outcome=WARNS if warns else PASSED if guards else NOTHING,
        phrases=[f"{words(study)}: {_phrase(study, guard)}" for study, guard in guards.items()],
        limit=_limit(name),
        meaning=MEANINGS[name],
    )


def _limit(name: str) -> str:
    if name in TESTED:
        return f"p below {ALARM_SIZE:g} and {100 * ALARM_DISTANCE:g} % off"
    return f"more than {100 * THRESHOLDS[name]:g} %" if THRESHOLDS[name] else "any"


def _phrase(study: str, guard: Guard) -> str:
    figures = guard.figures
    if guard.name == "stereotype_skew":
        require_measures(study, f"the guard {guard.name}", SKEWED, figures)
        given, expected, wrong = (figures[name] for name in SKEWED)
        return f"{number(given)} of {wrong:g} wrong answers, {number(expected)} expected"
    kind = {"identical_arms": " pairs of arms", SKEW: " arms"}.get(guard.name, "")
    largest = f", largest distance {number(figures['largest'])}" if "largest" in figures else ""
    return f"{guard.wrong} of {guard.n}{kind}{largest}"


def _summary(outcomes: list[Outcome]) -> str:
    checked = [outcome for outcome in outcomes if outcome.outcome != NOTHING]
    warn = [outcome.name for outcome in checked if outcome.outcome == WARNS]
    if not checked:
        return "No guard had anything to check."
    if not warn:
        return f"None of {len(checked)} guards warns."
    return f"{len(warn)} of {len(checked)} guards warn{'s' if len(warn) == 1 else ''}: {', '.join(warn)}."


def _whole(n: int) -> str:
    """State what every run with figures satisfies, having passed the checks that stop a run."""
    if not n:
        return ""
    return (
        f"The run is complete: each of {n:,} prompts has exactly one response, there is no other response, and every "
        "pair has both its arms."
    )


def _place(group: Group) -> str:
    return ", ".join(words(name) for name in (group.study, group.family, group.name))


def _group(row: Effect) -> Group:
    return Group(row.family, row.group, row.study)


def _figure(row: Effect) -> str:
    return "undefined" if row.estimate is None else number(row.estimate)


def _count(value: int | None) -> str:
    return "not counted" if value is None else str(value)
