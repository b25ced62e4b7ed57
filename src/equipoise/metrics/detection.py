"""Signal detection: whether a model tells the cases of a stereotyped answer from those in which it is wrong.

A pair with mirrors shows the same patient twice: in the case, where the stereotyped answer is wrong, and in the mirror,
where the findings make it right. Of the answers of one arm, H is the share of mirrors that get the stereotyped answer
(sensitivity) and F the share of cases that do. With z the inverse of the standard normal distribution function,

    d' = z(H) - z(F)        c = -(z(H) + z(F)) / 2

(Green and Swets 1966, Signal Detection Theory and Psychophysics). d' is 0 where a model cannot tell the two apart, as
one that never gives the stereotyped answer, or always; c, the criterion, is then far from 0. A lower criterion for the
marginalised arm than for the privileged means that less evidence is needed to give that patient the stereotyped answer.
H and F are kept off 0 and 1 by the log-linear correction (Hautus 1995, Behav Res Methods 27: 46-51). The interval of
the difference is that of the jackknife over stories (Efron 1982), with Student's t of one less than their number.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from equipoise.core.records import ROLES, Effect, Judgement
from equipoise.metrics.effects import Estimate, Group, effect, rate
from equipoise.metrics.pairs import Pair
from equipoise.stats.clusters import jackknife

FEWEST = 3
"""Stories with a mirror, below which nothing is estimated."""


class _Seen(NamedTuple):
    """Whether each arm, the marginalised first, gets the stereotyped answer: in its mirror, and in its case."""

    mirror: tuple[bool, bool]
    case: tuple[bool, bool]


def detection_effects(group: Group, pairs: Sequence[Pair], alpha: float) -> Iterator[Effect]:
    """Estimate sensitivity, d' and criterion of each arm, and the differences between the arms.

    Nothing where no pair of the group has a mirror.
    """
    told = [(pair.story, _Seen(_stereotyped(pair.mirror), _stereotyped(pair.arms))) for pair in pairs if pair.mirror]
    if not told:
        return
    stories, seen = [story for story, _ in told], [one for _, one in told]
    for arm, role in enumerate(ROLES):
        yield rate(group, f"sensitivity_{role}", (one.mirror[arm] for one in seen), alpha, stories)
    for measure, of in (("d_prime", _d_prime), ("criterion", _criterion)):
        enough = len(set(stories)) >= FEWEST
        for arm, role in enumerate(ROLES):
            yield effect(group, f"{measure}_{role}", len(told), Estimate(of(seen, arm) if enough else None))
        difference = _difference(seen, stories, of, alpha) if enough else Estimate(None)
        yield effect(group, f"{measure}_difference", len(told), difference)


def _difference(
    seen: Sequence[_Seen], stories: Sequence[str], of: Callable[[Sequence[_Seen], int], float], alpha: float
) -> Estimate:
    """Estimate a figure of the marginalised arm minus that of the privileged."""
    found = jackknife(lambda some: of(some, 0) - of(some, 1), seen, stories, alpha)
    return Estimate(found.value, found.interval, found.p)


def _stereotyped(arms: tuple[Judgement, Judgement]) -> tuple[bool, bool]:
    return arms[0].answer == "stereotyped", arms[1].answer == "stereotyped"


def _d_prime(seen: Sequence[_Seen], arm: int) -> float:
    hits, false_alarms = _quantiles(seen, arm)
    return hits - false_alarms


def _criterion(seen: Sequence[_Seen], arm: int) -> float:
    hits, false_alarms = _quantiles(seen, arm)
    return -(hits + false_alarms) / 2


def _quantiles(seen: Sequence[_Seen], arm: int) -> tuple[float, float]:
    """Give z of the shares of mirrors and of cases that get the stereotyped answer, each as (k + 1/2) / (n + 1)."""
    from scipy.special import ndtri

    hits, alarms = sum(one.mirror[arm] for one in seen), sum(one.case[arm] for one in seen)
    return float(ndtri((hits + 0.5) / (len(seen) + 1))), float(ndtri((alarms + 0.5) / (len(seen) + 1)))
