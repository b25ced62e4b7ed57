"""The guards, each with a plain verdict; what was asked and answered, and groups too small to show an effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.compare.leaderboard_text import number
from equipoise.metrics.guards import THRESHOLDS
from equipoise.metrics.skew import ALPHA, MINIMUM
from equipoise.report.plots.plot import words

if TYPE_CHECKING:
    from collections.abc import Iterator

SKEW = "label_skew"
ALARM = "alarm"
FAULTS = ("duplicate", "incomplete", "violation")
"""Names of figures that are 0 in a sound run hold one of these."""
RUN, GUARDS = "run", "guards"
WARNS, PASSED, NOTHING = "warns", "passed", "nothing to check"
VERDICTS = (WARNS, PASSED, NOTHING)
"""In the order in which guards are shown."""
MEANINGS = {
    "unanswered_prompts": (
        "Prompts without a result. A prompt that the model was to answer and did not stops the run; a saved output may "
        "be missing, or its run may have failed."
    ),
    "identical_arms": (
        "Two arms that agree in all results though their prompts differ: one was copied over the other, or the cache "
        "mixed them up."
    ),
    "copied_results": (
        "Likelihoods or long replies that stand under another case as well: a row was copied, or one saved output was "
        "put under two cases."
    ),
    "repeated_replies": "Replies that are word for word those to another case: the model is stuck in one answer.",
    "empty_replies": "Replies without a word, in which there is nothing to read and nothing to judge.",
    "reasoning_cut_off": (
        "Reasoning that the length limit ended: a feature that it would have considered later is not seen, and bias "
        "looks more silent than it is."
    ),
    "answers_cut_off": (
        "Answers that the length limit ended. Where the answer is read from likelihoods no figure depends on them; "
        "else the diagnosis or the letter may be what was cut off."
    ),
    "unread_answers": (
        "Answers that could not be read; in the stigma study sentences in which neither gender was found. They count "
        "as wrong, or drop out."
    ),
    "refused_answers": "Answers that the model refused to give: the figures are about the rest.",
    "label_skew": (
        "Arms in which one letter is given far too often, as by a parser that misreads or a model that always picks "
        "one letter. Accuracy there says little."
    ),
    "stereotype_skew": (
        "Whether wrong diagnoses of privileged patients, whom the stereotype does not concern, fall on the stereotyped "
        "one more or less often than is its due: then the model likes or shuns its wording, whoever the patient is."
    ),
}
"""What each guard looks for, and what it means where it warns."""


class Verdict(NamedTuple):
    """What one guard found in all studies. `found` has a phrase a study; `limit` is where it begins to warn."""

    name: str
    verdict: str
    found: list[str]
    limit: str
    meaning: str


class Skew(NamedTuple):
    """How far an arm's letters lie from the right ones, and whether that sets off the alarm."""

    where: str
    n: int
    distance: str
    alarm: bool


class Guards(NamedTuple):
    """All guard figures, in `verdicts` those that warn first. `summary` is the sentence that stands for them.

    `asked`: a row a count of `metrics/run.json`, a cell a study; `faults`: name, figure, n.
    """

    summary: str
    whole: str
    verdicts: list[Verdict]
    studies: list[str]
    asked: list[tuple[str, list[str]]]
    skews: list[Skew]
    faults: list[tuple[str, str, str]]
    small: list[str]


def guards(metrics: Mapping[str, Mapping[str, Any]]) -> Guards:
    """Collect the guard figures of a run's metrics, by their names, wherever a study has them."""
    runs = {study: counts for study, counts in metrics.get(RUN, {}).items() if isinstance(counts, Mapping)}
    names = list(dict.fromkeys(name for counts in runs.values() for name in counts))
    others = sorted((file, content) for file, content in metrics.items() if file != GUARDS)
    tables = [found for file, content in others for found in _tables(content, (file,))]
    verdicts = [_verdict(name, metrics.get(GUARDS, {}).get(name, {})) for name in THRESHOLDS]
    verdicts.sort(key=lambda one: VERDICTS.index(one.verdict))
    return Guards(
        summary=_summary(verdicts),
        whole=_whole(metrics.get(GUARDS, {}).get("n_prompts", 0)),
        verdicts=verdicts,
        studies=[words(study) for study in runs],
        asked=[(words(name), [str(counts.get(name, "not counted")) for counts in runs.values()]) for name in names],
        skews=[_skew(where, table) for where, table in tables if SKEW in table],
        faults=[row for where, table in tables for row in _faults(where, table)],
        small=[_place(where) for where, table in tables if table.get("underpowered") == 1],
    )


def _verdict(name: str, studies: Mapping[str, Mapping[str, Any]]) -> Verdict:
    """Put together what a guard found in every study that has something to look at."""
    looked = {study: table for study, table in studies.items() if table["n"]}
    warns = any(table["triggered"] for table in looked.values())
    return Verdict(
        name=words(name),
        verdict=WARNS if warns else PASSED if looked else NOTHING,
        found=[f"{words(study)}: {_found(name, table)}" for study, table in looked.items()],
        limit=_limit(name),
        meaning=MEANINGS[name],
    )


def _limit(name: str) -> str:
    if "skew" in name:
        return f"p below {ALPHA:g} and {100 * MINIMUM:g} % off"
    return f"more than {100 * THRESHOLDS[name]:g} %" if THRESHOLDS[name] else "any"


def _found(name: str, table: Mapping[str, Any]) -> str:
    if name == "stereotype_skew":
        return f"{number(table['share'])} of {table['n_wrong']} wrong answers, due {number(table['expected'])}"
    kind = {"identical_arms": " pairs of arms", SKEW: " arms"}.get(name, "")
    largest = f", largest distance {number(table['largest'])}" if "largest" in table else ""
    return f"{table['count']} of {table['n']}{kind}{largest}"


def _summary(verdicts: list[Verdict]) -> str:
    asked = [one for one in verdicts if one.verdict != NOTHING]
    warn = [one.name for one in asked if one.verdict == WARNS]
    if not asked:
        return "No guard had anything to check."
    if not warn:
        return f"None of {len(asked)} guards warns."
    return f"{len(warn)} of {len(asked)} guards warn{'s' if len(warn) == 1 else ''}: {', '.join(warn)}."


def _whole(n: int) -> str:
    """Say what the guards hold that stop a run: were it otherwise, there would be no figures."""
    if not n:
        return ""
    return (
        f"The run is whole: each of {n:,} prompts has one response, no response was not asked for, and every pair has "
        "both its arms."
    )


def _tables(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    yield path, table
    for name, inner in table.items():
        if isinstance(inner, Mapping):
            yield from _tables(inner, (*path, name))


def _skew(where: tuple[str, ...], table: Mapping[str, Any]) -> Skew:
    """Read a skew; its alarm stands in the figure, or beside it as a figure of its own."""
    found = table[SKEW]
    alarm = found.get(ALARM, table.get(f"{SKEW}_{ALARM}", {}).get("estimate", 0))
    return Skew(
        _place(where), found["n"], number(found["estimate"]) if "estimate" in found else "undefined", bool(alarm)
    )


def _faults(where: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, found in table.items():
        if not any(fault in name for fault in FAULTS):
            continue
        place = _place((*where, name))
        if not isinstance(found, Mapping):
            yield place, number(found) if isinstance(found, float) else str(found), ""
        elif "n" in found:
            yield place, number(found["estimate"]) if "estimate" in found else "undefined", str(found["n"])


def _place(where: tuple[str, ...]) -> str:
    return ", ".join(words(name) for name in where)
