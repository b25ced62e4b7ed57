"""Guards: whether a study's own rows can be trusted.

Each guard counts what is wrong among what it looked at, and warns where the share is above its threshold. What must
stop a run is in `equipoise.metrics.complete`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from equipoise.metrics.effects import Estimate, Group, effect
from equipoise.metrics.repeated import copied, identical_arms, repeated, results
from equipoise.metrics.skew import label_skew, stereotype_skew
from equipoise.stats.quantities import ratio

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from equipoise.core.records import AnswerKind, Effect, Judgement, Study, Vignette
    from equipoise.metrics.noted import Noted
    from equipoise.stats.quantities import PValue

FAMILY = "guard"
"""The family of the guards' effects; the group is the guard."""
FEW = 0.05
"""Share of a study above which cut-off, unread, refused and repeated replies are too many to ignore."""
THRESHOLDS: dict[str, float] = {
    "unanswered_prompts": 0.0,
    "identical_arms": 0.0,
    "copied_results": 0.0,
    "repeated_replies": FEW,
    "empty_replies": 0.0,
    "reasoning_cut_off": FEW,
    "answers_cut_off": FEW,
    "unread_answers": FEW,
    "refused_answers": FEW,
    "label_skew": 0.0,
    "stereotype_skew": 0.0,
}
"""The guards, in the order in which they are shown, each with the share above which it warns."""


class Guard(NamedTuple):
    """One guard: `wrong` of `n` are. `figures` says more where a count does not say it all."""

    name: str
    n: int
    wrong: int
    figures: Mapping[str, float] = {}

    @property
    def triggered(self) -> bool:
        """Whether the guard warns."""
        share = ratio(self.wrong, self.n)
        return share is not None and share > THRESHOLDS[self.name]


def reply_guards(
    study: Study,
    responses: Sequence[Noted],
    asked: Mapping[str, Hashable],
    presentations: Mapping[str, str] | None = None,
) -> Iterator[Guard]:
    """Compare what prompts got with what others got, and count empty replies and those that a length limit ended.

    `asked` has the content of every prompt by key, `presentations` the case that a vignette is about. Only the
    vignettes' reasoning has a turn of its own, before the last reply; a saved output is one text, and counts as an
    answer. A study that replies with nothing but likelihoods has no replies to count.
    """
    found = results(responses, presentations or {}, asked)
    for name, count in (("identical_arms", identical_arms), ("copied_results", copied), ("repeated_replies", repeated)):
        yield Guard(name, *count(found))
    written = [response for response in responses if response.finished]
    yield Guard("empty_replies", len(written), sum(row.empty for row in written))
    if study == "vignettes":
        yield Guard("reasoning_cut_off", len(written), sum(not all(row.finished[:-1]) for row in written))
    yield Guard("answers_cut_off", len(written), sum(not row.finished[-1] for row in written))


def answer_guards(kinds: Sequence[AnswerKind]) -> Iterator[Guard]:
    """Count the answers that could not be read, and those refused, in the reading that the study uses."""
    yield Guard("unread_answers", len(kinds), kinds.count("unparsed"))
    yield Guard("refused_answers", len(kinds), kinds.count("refusal"))


def unread(read: Iterable[object]) -> Guard:
    """Count the answers that could not be read: None."""
    found = list(read)
    return Guard("unread_answers", len(found), sum(one is None for one in found))


def arm_skews(effects: Iterable[Effect]) -> Iterator[Guard]:
    """Compare the letters given in each arm of the questions with the right ones, from the arms' effects."""
    arms: dict[str, dict[str, float]] = {}
    for row in effects:
        if row.family == "arm" and row.estimate is not None:
            arms.setdefault(row.measure, {})[row.group] = row.estimate
    if distances := arms.get("label_skew"):
        alarms = sum(value == 1 for value in arms["label_skew_alarm"].values())
        yield Guard("label_skew", len(distances), alarms, {"largest": max(distances.values())})


def exam_skew(gold: Mapping[str, str], letters: Mapping[str, str | None]) -> Guard:
    """Compare the letters given in the exam with the right ones, both by item."""
    skew = label_skew([letters.get(item) for item in gold], list(gold.values()))
    figures = {} if skew.distance is None else {"largest": skew.distance, **_tested(skew.p)}
    return Guard("label_skew", int(skew.distance is not None), int(skew.alarm), figures)


def diagnosis_skew(vignettes: Sequence[Vignette], judgements: Sequence[Judgement]) -> Guard:
    """Compare the privileged patients' wrong diagnoses with an even choice among the wrong ones of each case."""
    wrong_answers = {one.key: 1 + len(one.distractors) for one in vignettes if one.role == "privileged"}
    skew = stereotype_skew(
        [
            (judgement.answer == "stereotyped", 1 / wrong_answers[judgement.key])
            for judgement in judgements
            if judgement.key in wrong_answers and judgement.answer in {"stereotyped", "distractor"}
        ]
    )
    figures: dict[str, float] = {"n_wrong": skew.n}
    if skew.share is not None and skew.expected is not None:
        figures |= {"share_given": skew.share, "share_expected": skew.expected, **_tested(skew.p)}
    return Guard("stereotype_skew", int(skew.n > 0), int(skew.alarm), figures)


def guard_effects(study: Study, guards: Iterable[Guard]) -> Iterator[Effect]:
    """Lay out the guards as effects: of each its `share`, `count`, `threshold`, whether it is `triggered`, and more.

    Over all of them, `n_guards` counts those that had anything to look at, and `n_triggered` those that warn.
    """
    order = list(THRESHOLDS)
    found = sorted(guards, key=lambda guard: order.index(guard.name))
    for guard in found:
        group = Group(FAMILY, guard.name, study)
        yield effect(group, "share", guard.n, Estimate(ratio(guard.wrong, guard.n)))
        figures = {
            "count": guard.wrong,
            "threshold": THRESHOLDS[guard.name],
            "triggered": guard.triggered,
            **guard.figures,
        }
        for measure, value in figures.items():
            yield effect(group, measure, guard.n, Estimate(float(value)))
    every = Group(FAMILY, "all", study)
    looked = [guard for guard in found if guard.n > 0]
    yield effect(every, "n_guards", len(found), Estimate(float(len(looked))))
    yield effect(every, "n_triggered", len(looked), Estimate(float(sum(guard.triggered for guard in found))))


def _tested(p: PValue | None) -> dict[str, float]:
    """Lay out a p-value as figures are kept; one that is 0 has no finite logarithm, and is left out."""
    return {} if p is None or not math.isfinite(p.neg_log10) else {"neg_log10_p": p.neg_log10}
