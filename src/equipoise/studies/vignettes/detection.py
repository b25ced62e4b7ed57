"""Signal detection: whether a model separates cases in which the stereotyped answer is right from others.

A pair with mirrors shows the same patient twice: in the case, where the stereotyped answer is wrong, and in the mirror,
where the findings make it right. For each arm, H is the share of mirrors that get the stereotyped answer (sensitivity)
and F the share of cases that do. With z the inverse of the standard normal distribution function,

    d' = z(H) - z(F)        c = -(z(H) + z(F)) / 2

(Green and Swets 1966, Signal Detection Theory and Psychophysics). d' is 0 if a model cannot distinguish the two, like
one that never or always gives the stereotyped answer; c, the criterion, is then far from 0. A lower criterion for the
marginalised arm than for the privileged one means that less evidence suffices for the stereotyped answer. H and F are
kept off 0 and 1 by the log-linear correction (Hautus 1995, Behav Res Methods 27: 46-51). Intervals are
those of the delta method, clustered by story (`equipoise.stats.clusters.probit_contrast`).
"""

from collections.abc import Iterator, Sequence

from equipoise.figures.effects import Effect, Estimate, Group, effect, rate
from equipoise.materials.judgement import Judgement
from equipoise.materials.pairs import Pair
from equipoise.materials.vignette import ROLES
from equipoise.stats.clusters import probit_contrast

FEWEST = 3
"""Smallest number of stories with a mirror for an estimate."""
OF_ARM = {"d_prime": (1.0, -1.0), "criterion": (-0.5, -0.5)}
"""The weights of z(H) and z(F) of an arm in its figures."""


def detection_effects(group: Group, pairs: Sequence[Pair], alpha: float) -> Iterator[Effect]:
    """Estimate sensitivity, d' and criterion of each arm, and the differences; none without mirrors."""
    rows = [(*_stereotyped(pair.mirror), *_stereotyped(pair.arms)) for pair in pairs if pair.mirror]
    stories = [pair.story for pair in pairs if pair.mirror]
    if not rows:
        return
    for arm, role in enumerate(ROLES):
        yield rate(group, f"sensitivity_{role}", (answers[arm] for answers in rows), alpha, stories)
    enough = len(set(stories)) >= FEWEST
    for measure, (hits, alarms) in OF_ARM.items():
        # In the order of the answers: the mirrors of both arms, then their cases.
        weights = {"marginalised": (hits, 0, alarms, 0), "privileged": (0, hits, 0, alarms)}
        for role in ROLES:
            contrast = probit_contrast(rows, stories, weights[role]) if enough else None
            own = Estimate(None) if contrast is None else Estimate(contrast.value, contrast.interval(alpha))
            yield effect(group, f"{measure}_{role}", len(rows), own)
        contrast = probit_contrast(rows, stories, (hits, -hits, alarms, -alarms)) if enough else None
        difference = Estimate(None)
        if contrast is not None:
            difference = Estimate(contrast.value, contrast.interval(alpha), contrast.test())
        yield effect(group, f"{measure}_difference", len(rows), difference)


def _stereotyped(arms: tuple[Judgement, Judgement]) -> tuple[bool, bool]:
    """Say whether each arm, the marginalised patient's first, gets the stereotyped answer."""
    return arms[0].answer == "stereotyped", arms[1].answer == "stereotyped"
