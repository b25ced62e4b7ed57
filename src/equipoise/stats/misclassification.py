"""A proportion measured by an imperfect classifier, corrected for the classifier's measured error rates."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from equipoise.core.errors import EquipoiseError
from equipoise.stats.quantities import Interval, as_share, ratio


@dataclass(frozen=True, slots=True)
class ErrorCounts:
    """A classifier's agreement with labels: `true_positives` of `positives`, `true_negatives` of `negatives`."""

    true_positives: int
    positives: int
    true_negatives: int
    negatives: int

    def __post_init__(self) -> None:
        """Reject an empty validation sample, and more agreements than labels."""
        for agreed, labelled in ((self.true_positives, self.positives), (self.true_negatives, self.negatives)):
            if not 0 <= agreed <= labelled or labelled == 0:
                message = f"{agreed} correct of {labelled} labels: give 0 to n correct of n labels, with n at least 1"
                raise EquipoiseError(message)

    @property
    def sensitivity(self) -> float:
        """Proportion of the positives classified as positive."""
        return self.true_positives / self.positives

    @property
    def specificity(self) -> float:
        """Proportion of the negatives classified as negative."""
        return self.true_negatives / self.negatives


def rogan_gladen(successes: float, n: float, errors: ErrorCounts) -> float | None:
    """True prevalence estimated from `successes` positive classifications of `n`, clipped to [0, 1].

    (successes / n + specificity - 1) / (sensitivity + specificity - 1). None where n is 0, and where sensitivity and
    specificity sum to 1 or less: such a classifier carries no information.
    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107:71-76.
    """
    apparent = ratio(successes, _require_proportion(successes, n))
    # In integers, since 0.7 + 0.3 is not exactly 1 in floating point.
    surplus = (
        errors.true_positives * errors.negatives
        + errors.true_negatives * errors.positives
        - errors.positives * errors.negatives
    )
    if apparent is None or surplus <= 0:
        return None
    youden = surplus / (errors.positives * errors.negatives)
    return as_share((apparent + errors.specificity - 1) / youden)


def rogan_gladen_interval(successes: float, n: float, errors: ErrorCounts, alpha: float = 0.05) -> Interval | None:
    """Interval of the corrected proportion, within [0, 1], allowing for the sampling error of all three proportions.

    The delta method on proportions shrunk towards 1/2 (the classifications as in Agresti and Coull, by z^2 trials;
    sensitivity and specificity by one success and one failure each), with the published shift of the centre. The
    classifications and the two validation samples are assumed independent. Over 2,880 settings (15 to 200 labels of
    either kind, 10 to 200 classifications, sensitivity and specificity from 0.7 to 0.98, true proportions from 0 to
    1), 2,000 draws each, 95 % intervals covered the truth in at least 92.9 % and on average 96.6 %; an undefined
    interval counts as a miss.

    For clustered classifications, `n` is their effective number (`clusters.effective_size`), which may be a fraction.

    Two departures from the source. With very few labels, the interval is widened to include the corrected proportion.
    It is None where all of it lies outside [0, 1], as when positive classifications are rarer than the classifier's
    false positives alone would make them: the measured error rates then do not apply to these classifications, and the
    published interval would shrink to a point. It is also None where the proportion is undefined, or where the labels
    are too few to distinguish the classifier from chance.
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
    return Interval(min(estimate, as_share(centre - reach)), max(estimate, as_share(centre + reach)))


def _require_proportion(successes: float, n: float) -> float:
    if not 0 <= successes <= n:
        raise EquipoiseError(f"{successes} of {n} is not a proportion: give a count between 0 and n")
    return n
