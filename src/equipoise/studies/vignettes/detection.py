"""Signal detection: whether a model tells the cases of a stereotyped answer from those in which it is wrong.

A pair with mirrors shows the same patient twice: in the case, where the stereotyped answer is wrong, and in the mirror,
where the findings make it right. Of the answers of one arm, H is the share of mirrors that get the stereotyped answer
(sensitivity) and F the share of cases that do. With z the inverse of the standard normal distribution function,

    d' = z(H) - z(F)        c = -(z(H) + z(F)) / 2

(Green and Swets 1966, Signal Detection Theory and Psychophysics). d' is 0 where a model cannot tell the two apart, as
one that never gives the stereotyped answer, or always; c, the criterion, is then far from 0. A lower criterion for the
marginalised arm than for the privileged means that less evidence is needed to give that patient the stereotyped answer.
H and F are kept off 0 and 1 by the log-linear correction (Hautus 1995, Behav Res Methods 27: 46-51). Intervals are
those of the delta method, clustered by story (`equipoise.stats.clusters.probit_contrast`).
"""

from collections.abc import Iterator, Sequence

from equipoise.figures.effects import Effect, Estimate, Group, effect, rate
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair
from equipoise.materials.vignette import ROLES
from equipoise.stats.clusters import probit_contrast

FEWEST = 3
"""Stories with a mirror, below which nothing is estimated."""
OF_ARM = {"d_prime": (1.0, -1.0), "criterion": (-0.5, -0.5)}
"""What z(H) and z(F) of an arm weigh in its figures."""


def detection_effects(group: Group, pairs: Sequence[Pair], alpha: float) -> Iterator[Effect]:
    """Estimate sensitivity, d' and criterion of each arm, and the differences between the arms.

    Nothing where no pair of the group has a mirror.
    """
    told = [(pair.story, (*_stereotyped(pair.mirror), *_stereotyped(pair.arms))) for pair in pairs if pair.mirror]
    if not told:
        return
    stories, seen = [story for story, _ in told], [answers for _, answers in told]
    for arm, role in enumerate(ROLES):
        yield rate(group, f"sensitivity_{role}", (answers[arm] for answers in seen), alpha, stories)
    enough = len(set(stories)) >= FEWEST
    for measure, (hits, alarms) in OF_ARM.items():
        # In the order of the answers: the mirrors of both arms, then their cases.
        weights = {"marginalised": (hits, 0, alarms, 0), "privileged": (0, hits, 0, alarms)}
        for role in ROLES:
            found = probit_contrast(seen, stories, weights[role]) if enough else None
            own = Estimate(None) if found is None else Estimate(found.value, found.interval(alpha))
            yield effect(group, f"{measure}_{role}", len(told), own)
        found = probit_contrast(seen, stories, (hits, -hits, alarms, -alarms)) if enough else None
        difference = Estimate(None) if found is None else Estimate(found.value, found.interval(alpha), found.test())
        yield effect(group, f"{measure}_difference", len(told), difference)


def _stereotyped(arms: tuple[Judgement, Judgement]) -> tuple[bool, bool]:
    """Say whether each arm, the marginalised patient's first, gets the stereotyped answer."""
    return arms[0].answer == "stereotyped", arms[1].answer == "stereotyped"
