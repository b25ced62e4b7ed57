"""A proportion that was counted by a reader who errs, corrected for the reader's measured error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from equipoise.core.errors import EquipoiseError
from equipoise.stats.quantities import Interval, ratio


@dataclass(frozen=True, slots=True)
class ErrorCounts:
    """How often a reader agreed with labels: found `true_positives` of `positives`, cleared the negatives likewise."""

    true_positives: int
    positives: int
    true_negatives: int
    negatives: int

    def __post_init__(self) -> None:
        """Refuse an error that was measured on nothing, and more agreements than labels."""
        for agreed, labelled in ((self.true_positives, self.positives), (self.true_negatives, self.negatives)):
            if not 0 <= agreed <= labelled or labelled == 0:
                msg = (
                    f"{agreed} right of {labelled} labelled is no measured error: take 0 to n right of n, n at least 1."
                )
                raise EquipoiseError(msg)

    @property
    def sensitivity(self) -> float:
        """Share of the positives that the reader found."""
        return self.true_positives / self.positives

    @property
    def specificity(self) -> float:
        """Share of the negatives that the reader cleared."""
        return self.true_negatives / self.negatives


def rogan_gladen(successes: int, n: int, errors: ErrorCounts) -> float | None:
    """Proportion of true positives behind `successes` positive readings of `n`, clipped to [0, 1].

    (successes / n + specificity - 1) / (sensitivity + specificity - 1). None where n is 0, and where sensitivity and
    specificity add to 1 or less: such a reader tells nothing of the truth.
    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107:71-76.
    """
    apparent = ratio(successes, _checked(successes, n))
    # In whole numbers, since 0.7 + 0.3 is not 1 in floats.
    surplus = (
        errors.true_positives * errors.negatives
        + errors.true_negatives * errors.positives
        - errors.positives * errors.negatives
    )
    if apparent is None or surplus <= 0:
        return None
    youden = surplus / (errors.positives * errors.negatives)
    return _clipped((apparent + errors.specificity - 1) / youden)


def rogan_gladen_interval(successes: int, n: int, errors: ErrorCounts, alpha: float = 0.05) -> Interval | None:
    """Interval of the corrected proportion, within [0, 1], that allows for the samples behind all three proportions.

    The delta method on proportions drawn towards 1/2 (the readings as Agresti and Coull do, by z^2 answers; sensitivity
    and specificity by one success and one failure each), with the published shift of the centre. The readings and the
    two samples of labels are taken as independent. Over 2,880 settings (15 to 200 labels of either kind, 10 to 200
    readings, sensitivity and specificity from 0.7 to 0.98, truths from 0 to 1), 2,000 draws each, 95 % intervals
    covered the truth in 92.9 % at the least and 96.6 % on average; an undefined interval counts as a miss.

    Two departures from the source. The interval is widened, where labels are very few, to hold the corrected
    proportion. It is None where all of it lies outside [0, 1], as where positive readings are rarer than the reader's
    errors alone would make them: the error measured is then not that of these readings, and the published interval
    would shrink to a point. None also where the proportion is, or where the labels are too few to tell the reader from
    a coin.
    Source: Lang & Reiczigel (2014), Preventive Veterinary Medicine 113:13-22.
    """
    estimate = rogan_gladen(successes, n, errors)
    z = NormalDist().inv_cdf(1 - alpha / 2)
    apparent = (successes + z**2 / 2) / (n + z**2)
    sensitivity = (errors.true_positives + 1) / (errors.positives + 2)
    specificity = (errors.true_negatives + 1) / (errors.negatives + 2)
    youden = sensitivity + specificity - 1
    if estimate is None or youden <= 0:
        return None
    centre = (apparent + specificity - 1) / youden
    missed = sensitivity * (1 - sensitivity) / (errors.positives + 2)
    mistaken = specificity * (1 - specificity) / (errors.negatives + 2)
    variance = apparent * (1 - apparent) / (n + z**2) + centre**2 * missed + (1 - centre) ** 2 * mistaken
    reach = z * math.sqrt(variance) / youden
    centre += 2 * z**2 * (centre * missed - (1 - centre) * mistaken)
    if centre + reach <= 0 or centre - reach >= 1:
        return None
    return Interval(min(estimate, _clipped(centre - reach)), max(estimate, _clipped(centre + reach)))


def _checked(successes: int, n: int) -> int:
    if not 0 <= successes <= n:
        msg = f"{successes} of {n} is no proportion; the count lies between 0 and n."
        raise EquipoiseError(msg)
    return n


def _clipped(share: float) -> float:
    return min(1.0, max(0.0, share))
