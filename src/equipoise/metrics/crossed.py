"""Group effect, direction effect and interaction of the crossed design, each from paired contrasts.

In the paper's design the privileged group always has a favourable background and the other an unfavourable one, so that
its gap is the sum of two effects. With all four arms of an attribute, p and u for the groups, f and x for the
directions:

    group effect      ((pf - uf) + (px - ux)) / 2    effect of the group with the direction fixed
    direction effect  ((pf - px) + (uf - ux)) / 2    effect of the background with the group fixed
    interaction       (pf - uf) - (px - ux)          dependence of the group effect on the direction

where pf is 1 for a correct answer and 0 for any other. The paper's gap pf - ux is the sum of group effect and direction
effect, whatever the interaction.

Each question gives one value of each contrast, and the questions are independent: the estimate is their mean, the
interval Student's t, the test the paired t test. Chosen over conditional logistic regression because (1) it has the
unit of the gap, points of accuracy; (2) it uses every question, whereas the conditional likelihood drops those that
are correct, or wrong, in all four arms; (3) it is defined if an arm is always correct, where an odds ratio is
infinite. In a complete within-question design the means are also the least-squares estimates of the linear model with
a term for each question, and their standard error is valid whatever the correlation of a question's arms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.answered import arm
from equipoise.metrics.effects import Estimate, effect
from equipoise.stats import paired, power

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from equipoise.core.records import Effect
    from equipoise.metrics.answered import Answered
    from equipoise.metrics.effects import Group
    from equipoise.questions.rows import Attribute

CONTRASTS = ("group_effect", "direction_effect", "interaction")


def crossed_attributes(table: Sequence[Answered], attributes: Sequence[Attribute]) -> list[Attribute]:
    """List the attributes that have all four arms."""
    return [attribute for attribute in attributes if table and set(_arms(attribute)) <= table[0].letters.keys()]


def crossed_effects(
    group: Group, table: Sequence[Answered], attributes: Sequence[Attribute], *, alpha: float, power_wanted: float
) -> Iterator[Effect]:
    """Estimate the three contrasts; for several attributes, from each question's mean over them."""
    for number, measure in enumerate(CONTRASTS):
        values = [
            sum(_contrasts(row, attribute)[number] for attribute in attributes) / len(attributes) for row in table
        ]
        n = len(values)
        mean = sum(values) / n if n else None
        estimate = Estimate(mean, paired.mean_interval(values, alpha), paired.paired_t(values))
        yield effect(group, measure, n, estimate)
        detectable = power.minimum_detectable_shift(
            paired.standard_deviation(values), n, alpha=alpha, power=power_wanted
        )
        yield effect(group, f"{measure}_minimum_detectable_effect", n, Estimate(detectable))


def _arms(attribute: Attribute) -> tuple[str, str, str, str]:
    return (
        arm(attribute, "privileged", "favourable"),
        arm(attribute, "unprivileged", "favourable"),
        arm(attribute, "privileged", "unfavourable"),
        arm(attribute, "unprivileged", "unfavourable"),
    )


def _contrasts(row: Answered, attribute: Attribute) -> tuple[float, float, float]:
    """Group, direction and interaction contrast of one question."""
    pf, uf, px, ux = (float(row.right(name)) for name in _arms(attribute))
    return ((pf - uf) + (px - ux)) / 2, ((pf - px) + (uf - ux)) / 2, (pf - uf) - (px - ux)
