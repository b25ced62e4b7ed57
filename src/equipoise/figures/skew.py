"""Alarms for one kind of answer that is given far too often, whatever the question.

The kind may be a letter, due to a parser that reads "a" as A, or the stereotyped diagnosis, due to a model that prefers
its wording.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from equipoise.stats.quantities import UNDERFLOW, PValue

ALARM_SIZE = 0.001
"""Size of the tests: the alarm is for gross faults, and many arms are tested."""
ALARM_DISTANCE = 0.1
"""Smallest difference of shares that matters: a tenth of the answers would have to be others."""


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
    answers: Sequence[str | None], gold: Sequence[str], *, alpha: float = ALARM_SIZE, minimum: float = ALARM_DISTANCE
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
    wrong: Sequence[tuple[bool, float]], *, alpha: float = ALARM_SIZE, minimum: float = ALARM_DISTANCE
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
