"""Plain sentences: what a study found and what follows from it, for readers who do not know its figures.

The first sentence is the study's own (`Study.sentence`): it counts what happened on these cases and, for a study with
controls, the effect of irrelevant details, which is that of chance. The second is the verdict.
"""

from collections.abc import Iterator

from equipoise.figures.look import LOOK, in_patients, is_undecided_look
from equipoise.figures.result import BIASED, RULE_OF_37, UNBIASED, UNDECIDED, StudyResult, Verdict, Word
from equipoise.figures.study import Study
from equipoise.figures.verdicts import BLIND, preconditions, words_of
from equipoise.figures.wording import listed

NO_VERDICT = "no verdict"
"""The state of a study whose endpoint has no margin."""
WORDS: dict[Word, str] = {
    BIASED: "This run shows a bias beyond the margin: {side}.",
    UNBIASED: "On these cases, any such bias is smaller than the margin.",
    UNDECIDED: "This run cannot tell whether the model is biased.",
}
"""What follows from each verdict; `side` is what a value on that side of the null value means."""
OPEN = (
    "Undecided means that a run shows neither a bias beyond the margin nor its absence; what would decide it is more "
    "cases (`equipoise plan` counts them) or, where the reason says so, a model that can answer such cases or a length "
    "limit that cuts no reply off."
)
"""What a verdict that is undecided means, for readers who meet it first."""
UNJUDGED = "This says nothing about whether the model is biased."
NOTHING = "There was nothing to compare."


def plain(study: Study, result: StudyResult, look: str = "") -> str:
    """Say in plain sentences what a study found, and what follows from its verdict; `look` says that it is a look."""
    told = (study.sentence(result.defined) or NOTHING, in_patients(result.verdict))
    concluded = look if is_undecided_look(result.verdict, look) else _conclusion(result.verdict)
    departure = "" if result.verdict is None else result.verdict.departure
    return " ".join(filter(None, [*told, concluded, departure]))


def state(verdict: Verdict | None, look: str = "") -> str:
    """Name the state of a study: its verdict, `LOOK`, or `NO_VERDICT`."""
    if is_undecided_look(verdict, look):
        return LOOK
    return NO_VERDICT if verdict is None else verdict.word


def next_step(study: Study, result: StudyResult) -> str:
    """Say in one sentence what to do next: what decides, where to look, or what is not excluded."""
    verdict = result.verdict
    if verdict is None:
        return ""
    if verdict.word == BIASED:
        where = [reason.partition(":")[0] for reason in verdict.because if not reason.startswith("although ")]
        return f"Look first at {listed(where)}, in the pictures and, where the study has any, in the cases."
    if verdict.word == UNBIASED:
        few = f"fewer than {min(1.0, RULE_OF_37 / verdict.clusters):.0%}" if verdict.clusters else "few"
        confined = f"bias confined to {few} of the stories or questions"
        uncovered = [f"bias in {name}" for name in verdict.uncovered]
        return f"Not excluded: {listed([confined, *uncovered, 'whatever these cases do not ask'])}."
    return f"To decide it: {'; '.join(_deciding(study, verdict, result))}."


def _deciding(study: Study, verdict: Verdict, result: StudyResult) -> Iterator[str]:
    """List what would decide an undecided verdict, what no number of cases replaces first."""
    if any(guard.name.endswith("cut_off") for guard in result.warnings):
        yield "a length limit that cuts no replies off"
    if others := [words_of(guard.name) for guard in result.warnings if not guard.name.endswith("cut_off")]:
        yield f"a run in which no guard warns ({', '.join(others)})"
    rows = ((result.at_level(place), floor) for place, floor in verdict.endpoint.floors.items())
    if any(row is None or row.ci_low is None or row.ci_low <= floor for row, floor in rows):
        yield "a model that tells right from wrong in such cases" + (f", or {study.clearer}" if study.clearer else "")
    if BLIND in verdict.because:
        yield "a measure of assay sensitivity, which the endpoint lacks"
    if {*verdict.because} - {BLIND, *preconditions(result, verdict.endpoint)}:
        yield "more cases (equipoise plan counts them)"


def _conclusion(verdict: Verdict | None) -> str:
    if verdict is None:
        return UNJUDGED
    return WORDS[verdict.word].format(side=_side(verdict))


def _side(verdict: Verdict) -> str:
    """Say which bias was found: what the first component beyond its margin means, else the worst group."""
    beyond = next((part for part in verdict.parts if part.state == "beyond"), None)
    if beyond is None:
        return verdict.because[0] if verdict.because else ""
    null, estimate = beyond.figure.null or 0.0, beyond.row.estimate
    return beyond.figure.above if estimate is not None and estimate > null else beyond.figure.below
