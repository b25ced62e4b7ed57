"""Guards and counts of a study: whether its own rows can be trusted, and how much was asked and answered.

Each guard counts what is wrong among what it looked at, and warns where the share is above its threshold. What must
stop a run is in `equipoise.figures.responses`. Two guards are alarms for answers of which one kind is given far too
often, whatever is asked: a letter, as by a parser that reads "a" as A; or the stereotyped diagnosis, as by a model that
likes its wording. Counts leave out whatever changes from run to run.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from equipoise.figures.effects import Effect, Estimate, Group, effect
from equipoise.figures.responses import Noted, copied, identical_arms, repeated, results
from equipoise.figures.study import Study
from equipoise.stats.quantities import UNDERFLOW, PValue, ratio
from equipoise.text.answer import AnswerKind

ALPHA = 0.001
"""Size of the test: the alarm is for gross faults, and many arms are tested."""
MINIMUM = 0.1
"""Smallest total variation distance that matters: a tenth of the answers would have to change their letter."""


class LabelSkew(NamedTuple):
    """Distance between the letters given and the right ones. `distance` is the total variation distance, 0 to 1."""

    n: int
    distance: float | None
    p: PValue | None
    alarm: bool


class StereotypeSkew(NamedTuple):
    """How much wrong diagnoses favour or avoid the stereotyped one: its share, and the share expected by chance."""

    n: int
    share: float | None
    expected: float | None
    p: PValue | None
    alarm: bool


def label_skew(
    answers: Sequence[str | None], gold: Sequence[str], *, alpha: float = ALPHA, minimum: float = MINIMUM
) -> LabelSkew:
    """Compare the distribution of the letters given (unparsed ones left out) with that of the right letters.

    Pearson's chi-square test of fit to the shares of `gold`, and the total variation distance. The alarm fires where
    the test rejects at `alpha` and the distance is at least `minimum`: with hundreds of answers a harmless preference
    is significant, with a dozen a large distance is chance. A letter that is never right makes p 0. Undefined without
    answers or without gold; p also where only one letter is ever right.
    """
    from scipy.stats import chi2

    given, right = Counter(answer for answer in answers if answer is not None), Counter(gold)
    n, total = given.total(), right.total()
    if not n or not total:
        return LabelSkew(n, None, None, alarm=False)
    letters = given.keys() | right.keys()
    distance = sum(abs(given[letter] / n - right[letter] / total) for letter in letters) / 2
    df = len(right) - 1
    p: PValue | None = None
    if given.keys() - right.keys():
        p = PValue(0.0, math.inf)
    elif df:
        expected = {letter: n * count / total for letter, count in right.items()}
        statistic = sum((given[letter] - count) ** 2 / count for letter, count in expected.items())
        p = PValue.of(float(chi2.sf(statistic, df)), lambda: _log_tail(statistic, df))
    alarm = p is not None and p.value < alpha and distance >= minimum
    return LabelSkew(n, distance, p, alarm=alarm)


def stereotype_skew(
    wrong: Sequence[tuple[bool, float]], *, alpha: float = ALPHA, minimum: float = MINIMUM
) -> StereotypeSkew:
    """Test whether wrong diagnoses of privileged patients are the stereotyped one as often as expected by chance.

    Each is (whether it is the stereotyped one, the share of the stereotyped one among the case's wrong diagnoses). The
    stereotype does not concern these patients: an excess is a preference for the wording, which the marginalised arm
    has too. Exact two-sided test of a sum of unequal yes-or-no trials (Poisson-binomial; with equal shares binomial),
    which adds up the outcomes that are no likelier than the observed one; the logarithm of p is at least that of
    1e-300. Undefined without wrong answers.
    """
    import numpy as np
    from scipy.stats import binom

    n = len(wrong)
    if not n:
        return StereotypeSkew(0, None, None, None, alarm=False)
    # The count is a sum of binomial ones, one for each share.
    chances = np.ones(1)
    for due, trials in sorted(Counter(due for _, due in wrong).items()):
        chances = np.convolve(chances, np.asarray(binom.pmf(range(trials + 1), trials, due)))
    count = sum(stereotyped for stereotyped, _ in wrong)
    # As in scipy's binomtest: outcomes as likely but for rounding count too.
    unlikely = float(chances[chances <= chances[count] * (1 + 1e-7)].sum())
    p = PValue.of(unlikely, lambda: math.log(UNDERFLOW))
    share, expected = count / n, sum(due for _, due in wrong) / n
    alarm = p.value < alpha and abs(share - expected) >= minimum
    return StereotypeSkew(n, share, expected, p, alarm=alarm)


def _log_tail(statistic: float, df: int) -> float:
    """Natural logarithm of the upper tail of chi-square far out: the first term of its asymptotic series.

    Source: DLMF 8.11.2; the relative error is below df / statistic, and the statistic is above 1,000 here.
    """
    shape, half = df / 2, statistic / 2
    return (shape - 1) * math.log(half) - half - math.lgamma(shape)


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

    `asked` has the content of every prompt by key, `presentations` the case that a vignette is about. A saved output
    is one text, and counts as an answer. A study that replies with nothing but likelihoods has no replies to count.
    """
    found = results(responses, presentations or {}, asked, arms=not study.saved_outputs)
    for name, count in (("identical_arms", identical_arms), ("copied_results", copied), ("repeated_replies", repeated)):
        yield Guard(name, *count(found))
    written = [response for response in responses if response.finished]
    yield Guard("empty_replies", len(written), sum(row.empty for row in written))
    if study.reasons:
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


def exam_skew(shown: Sequence[tuple[str | None, str]]) -> Guard:
    """Compare the letters given in the exam with the right ones, as they were shown in each order of each question."""
    skew = label_skew([given for given, _ in shown], [right for _, right in shown])
    figures = {} if skew.distance is None else {"largest": skew.distance, **tested(skew.p)}
    return Guard("label_skew", int(skew.distance is not None), int(skew.alarm), figures)


def guard_effects(study: str, guards: Iterable[Guard]) -> Iterator[Effect]:
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


def tested(p: PValue | None) -> dict[str, float]:
    """Lay out a p-value as figures are kept; one that is 0 has no finite logarithm, and is left out."""
    return {} if p is None or not math.isfinite(p.neg_log10) else {"neg_log10_p": p.neg_log10}


RUN = "run"
"""The family of these effects."""


def run_effects(study: str, responses: Sequence[Noted], read: Mapping[str, int]) -> Iterator[Effect]:
    """Count prompts, tokens, prompts with a reply that the length limit ended, and what was `read`, as effects.

    The count is the `estimate`, and `n` the number of prompts.
    """
    counts = {
        "n_prompts": len(responses),
        "prompt_tokens": sum(response.prompt_tokens for response in responses),
        "generated_tokens": sum(response.generated_tokens for response in responses),
        "unfinished": sum(not all(response.finished) for response in responses),
        **read,
    }
    for measure, count in counts.items():
        yield effect(Group(RUN, "all", study), measure, len(responses), Estimate(float(count)))
