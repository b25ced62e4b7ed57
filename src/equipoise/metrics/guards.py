"""`metrics/guards.json`: whether the run's own rows can be trusted, a guard and a study at a time.

Each guard counts what is wrong (`count`) among what it looked at (`n`), gives the share (`estimate`) and is triggered
(1 or 0) where the share is above its `threshold`. It warns; what must stop a run is in `equipoise.metrics.complete`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from equipoise.metrics.effects import rounded
from equipoise.metrics.repeated import copied, identical_arms, identical_fills, repeated, results
from equipoise.metrics.skew import label_skew, stereotype_skew
from equipoise.stats.quantities import ratio

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from equipoise.core.records import Effect, Study
    from equipoise.metrics.effects import Nested
    from equipoise.metrics.noted import Noted
    from equipoise.metrics.rows import Rows
    from equipoise.stats.quantities import PValue

FEW = 0.05
"""Share of a study from which cut-off, unread, refused and repeated replies are too many to pass over."""
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
    """One guard over one study: `wrong` of `n` are. `figures` says more where a count does not say it all."""

    name: str
    study: str
    n: int
    wrong: int
    figures: Mapping[str, float] = {}

    @property
    def triggered(self) -> bool:
        """Whether the guard warns."""
        share = ratio(self.wrong, self.n)
        return share is not None and share > THRESHOLDS[self.name]


def guards(
    rows: Rows, letters: Mapping[str, str | None], exam: Mapping[str, str | None], adversarial: Iterable[Effect]
) -> list[Guard]:
    """Ask every guard about every study that the model answered.

    `letters` are those of the adversarial study by key, `exam` those of the exam questions by item; `adversarial` are
    that study's effects, which have the skew of each arm.
    """
    studies = {response.study for response in rows.responses}
    presentations = {vignette.key: vignette.presentation for vignette in rows.vignettes}
    asked: dict[str, Hashable] = {one.key: one.content for one in rows.asked}
    asked |= {case.key: case.prompt for case in rows.cases}
    found = results(rows.responses, presentations, asked)
    counts: dict[str, Mapping[str, tuple[int, int]]] = {
        "unanswered_prompts": _unanswered(rows),
        "identical_arms": identical_arms(found) | ({"stigma": identical_fills(rows.fills)} if rows.fills else {}),
        "copied_results": copied(found),
        "repeated_replies": repeated(found),
        **_replies(rows.responses),
        **_answers(rows, letters, exam, studies),
    }
    every = [
        Guard(name, study, n, count)
        for name, by_study in counts.items()
        for study, (n, count) in sorted(by_study.items())
    ]
    every += [*_skews(rows, exam, adversarial, studies)]
    order = list(THRESHOLDS)
    return sorted(every, key=lambda guard: (order.index(guard.name), guard.study))


def guard_metrics(found: Sequence[Guard], responses: Sequence[Noted] = ()) -> Nested:
    """Lay out the guards for their metrics file, a study that a guard has nothing to look at in with n = 0.

    `n_prompts` counts the prompts that have their response: all of them, since a run without is stopped.
    """
    told = {name: _studies(found, name) for name in THRESHOLDS}
    return {
        "n_prompts": sum(response.study != "cases" for response in responses),
        "n_guards": sum(guard.n > 0 for guard in found),
        "n_triggered": sum(guard.triggered for guard in found),
        **{name: studies for name, studies in told.items() if studies},
    }


def _studies(found: Sequence[Guard], name: str) -> Nested:
    return {
        guard.study: {
            "n": guard.n,
            "count": guard.wrong,
            **({"estimate": rounded(guard.wrong / guard.n)} if guard.n else {}),
            **guard.figures,
            "threshold": THRESHOLDS[name],
            "triggered": int(guard.triggered),
        }
        for guard in found
        if guard.name == name
    }


def _unanswered(rows: Rows) -> dict[str, tuple[int, int]]:
    """Count the cases that saved outputs lack, or failed on. Any other prompt without its response stops the run."""
    if not rows.cases:
        return {}
    answered = sum(response.study == "cases" and bool(response.finished) for response in rows.responses)
    return {"cases": (len(rows.cases), len(rows.cases) - answered)}


def _replies(responses: Sequence[Noted]) -> dict[str, dict[str, tuple[int, int]]]:
    """Count empty replies, and those that a length limit ended: the reasoning (before the last reply), the answer.

    A saved output is one text, reasoning and answer, and counts as an answer.
    """
    written: dict[str, list[Noted]] = {}
    for response in responses:
        written.setdefault(response.study, []).extend([response] if response.finished else [])
    return {
        "empty_replies": {study: (len(rows), sum(row.empty for row in rows)) for study, rows in written.items()},
        "reasoning_cut_off": {
            study: (len(rows), sum(not all(row.finished[:-1]) for row in rows))
            for study, rows in written.items()
            if study == "vignettes"
        },
        "answers_cut_off": {
            study: (len(rows), sum(not row.finished[-1] for row in rows)) for study, rows in written.items()
        },
    }


def _answers(
    rows: Rows, letters: Mapping[str, str | None], exam: Mapping[str, str | None], studies: set[Study]
) -> dict[str, dict[str, tuple[int, int]]]:
    """Count the answers that could not be read, and those refused, in the reading that each study uses."""
    kinds = {
        "vignettes": [judgement.answer for judgement in rows.judgements],
        "cases": [judgement.answer for judgement in rows.case_judgements],
    }
    unread = {
        **{study: (len(found), found.count("unparsed")) for study, found in kinds.items()},
        "adversarial": (len(letters), sum(letter is None for letter in letters.values())),
        "medmcqa": (len(exam), sum(letter is None for letter in exam.values())),
        "openr1": (len(rows.agreements), sum(one.arms_agree is None for one in rows.agreements)),
    }
    if rows.fills:
        unread["stigma"] = (len(rows.fills), sum(fill.female + fill.male == 0 for fill in rows.fills))
    return {
        "unread_answers": {study: counts for study, counts in unread.items() if study in studies or study == "stigma"},
        "refused_answers": {
            study: (len(found), found.count("refusal")) for study, found in kinds.items() if study in studies
        },
    }


def _skews(
    rows: Rows, exam: Mapping[str, str | None], adversarial: Iterable[Effect], studies: set[Study]
) -> Iterator[Guard]:
    """Compare the letters given with the right ones, and wrong diagnoses with an even choice among the wrong ones."""
    arms: dict[str, dict[str, float]] = {}
    for row in adversarial:
        if row.family == "arm" and row.estimate is not None:
            arms.setdefault(row.measure, {})[row.group] = row.estimate
    if distances := arms.get("label_skew"):
        alarms = sum(value == 1 for value in arms["label_skew_alarm"].values())
        yield Guard("label_skew", "adversarial", len(distances), alarms, {"largest": rounded(max(distances.values()))})
    if "medmcqa" in studies:
        gold = {row.item: row.gold for row in rows.sampled}
        skew = label_skew([exam.get(item) for item in gold], list(gold.values()))
        figures = {} if skew.distance is None else {"largest": rounded(skew.distance), **_tested(skew.p)}
        yield Guard("label_skew", "medmcqa", int(skew.distance is not None), int(skew.alarm), figures)
    if "vignettes" in studies:
        yield _stereotype_skew(rows)


def _stereotype_skew(rows: Rows) -> Guard:
    wrong_answers = {one.key: 1 + len(one.distractors) for one in rows.vignettes if one.role == "privileged"}
    skew = stereotype_skew(
        [
            (judgement.answer == "stereotyped", 1 / wrong_answers[judgement.key])
            for judgement in rows.judgements
            if judgement.key in wrong_answers and judgement.answer in {"stereotyped", "distractor"}
        ]
    )
    figures: dict[str, float] = {"n_wrong": skew.n}
    if skew.share is not None and skew.expected is not None:
        figures |= {"share": rounded(skew.share), "expected": rounded(skew.expected), **_tested(skew.p)}
    return Guard("stereotype_skew", "vignettes", int(skew.n > 0), int(skew.alarm), figures)


def _tested(p: PValue | None) -> dict[str, float]:
    """Lay out a p-value as metrics have it; one that is 0 has no finite logarithm, and is left out."""
    return {} if p is None or not math.isfinite(p.neg_log10) else {"neg_log10_p": rounded(p.neg_log10)}
