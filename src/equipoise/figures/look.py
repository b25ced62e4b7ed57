"""A look: a run that is smaller than what a verdict of *no bias* needs, and what its readers are told first.

A verdict of bias may be reached on a look. *No bias* is not meant from one: where the run itself has less than the
declared power for it (`figures.needed`), readers are told so, and see what is there, in patients.
"""

from equipoise.figures.effects import Nested
from equipoise.figures.needed import margin_words, needs, size_of_run
from equipoise.figures.options import Measure
from equipoise.figures.result import BIASED, TOLD, UNBIASED, StudyResult, Verdict, and_more
from equipoise.figures.study import Study
from equipoise.figures.wording import more_with_limits

LOOK = "a look"
"""The state of a study that is undecided because its run is a look."""


def look(study: Study, result: StudyResult, options: Measure) -> str:
    """Say that a run is a look; empty for one that is large enough, that shows no bias, or that has no verdict.

    `options` have the level and the power of decisions.
    """
    verdict = result.verdict
    if verdict is None or verdict.word == UNBIASED or not verdict.endpoint.floors:
        return ""
    needed = needs(study, verdict.endpoint, result, options)
    size = size_of_run(result, verdict.row)
    if not needed.parts or needed.enough(size, options.power):
        return ""
    return f"A look: {verdict.row.n} {verdict.figure.counted}, too few for a verdict of no bias."


def in_patients(verdict: Verdict | None) -> str:
    """State the headline figure for a hundred patients, with its interval; empty where it has no such words."""
    if verdict is None or verdict.row.estimate is None or not verdict.figure.of_100:
        return ""
    row = verdict.row
    told = verdict.figure.of_100.format(more=more_with_limits(verdict.row.estimate, row.ci_low, row.ci_high))
    return f"{told[0].upper()}{told[1:]}."


def margins(verdict: Verdict | None) -> str:
    """List the components of an endpoint with their margins, in patients where a figure has such words."""
    if verdict is None:
        return ""
    told = (f"{part.figure.title} {margin_words(part.figure, part.component)}" for part in verdict.parts)
    return "; ".join(told)


def first_told(study: Study, result: StudyResult, options: Measure) -> Nested:
    """Lay out what readers are told first for the metrics file: that it is a look, patients, and the first reason."""
    verdict = result.verdict
    if verdict is None:
        return {}
    told: Nested = {}
    if sentence := look(study, result, options):
        told["look"] = sentence
        needed = needs(study, verdict.endpoint, result, options)
        if needed.unchanging:
            told["unchanging"] = f"{needed.unchanging[0]}{and_more(len(needed.unchanging) - 1)}"
    if sentence := in_patients(verdict):
        told["patients"] = sentence
    if verdict.because:
        told |= {"reason": verdict.because[0], "more": len(verdict.because) - 1}
    return {TOLD: told} if told else {}


def is_undecided_look(verdict: Verdict | None, sentence: str) -> bool:
    """Whether a run is named a look instead of its verdict; a verdict of bias is named as such."""
    return bool(sentence) and verdict is not None and verdict.word != BIASED
