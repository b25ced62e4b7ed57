"""Effects: one row per figure, with its interval, its p-value and its place in a family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from equipoise.records import Effect
from equipoise.stats.multiplicity import Method, adjust
from equipoise.stats.proportions import wilson
from equipoise.stats.quantities import ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from equipoise.stats.quantities import Interval, PValue

METRIC = "silent_bias"
"""First part of every key here, and the stem of the metrics file."""

TESTED_TOGETHER = ("dimension", "tier", "combination")
"""The declared families: in each, a measure's tests over all groups. A single overall test needs no adjustment."""


class Group(NamedTuple):
    """A member of a family: which pairs a figure is about."""

    family: str
    name: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with what is known of its uncertainty; None where undefined."""

    value: float | None
    interval: Interval | None = None
    p: PValue | None = None


def effect(group: Group, measure: str, n: int, estimate: Estimate) -> Effect:
    """Build one effect; whatever is undefined or infinite becomes None."""
    interval, p = estimate.interval, estimate.p
    return Effect(
        key=f"{METRIC}/{group.family}/{group.name}/{measure}",
        metric=METRIC,
        family=group.family,
        group=group.name,
        measure=measure,
        n=n,
        estimate=_finite(estimate.value),
        ci_low=None if interval is None else _finite(interval.low),
        ci_high=None if interval is None else _finite(interval.high),
        neg_log10_p=None if p is None else p.neg_log10,
    )


def rate(group: Group, measure: str, answers: Iterable[bool], alpha: float) -> Effect:
    """Build the effect of a share of yes answers, with its Wilson interval."""
    outcomes = list(answers)
    count, n = sum(outcomes), len(outcomes)
    return effect(group, measure, n, Estimate(ratio(count, n), wilson(count, n, alpha)))


def with_holm(effects: Sequence[Effect]) -> list[Effect]:
    """Fill `neg_log10_p_holm` over each declared family."""
    adjusted = adjusted_by_family(effects, "holm")
    return [row.model_copy(update={"neg_log10_p_holm": adjusted.get(row.key)}) for row in effects]


def adjusted_by_family(effects: Sequence[Effect], method: Method) -> dict[str, float]:
    """Return -log10 of the adjusted p-value by effect key, for every test of a declared family."""
    families: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for row in effects:
        if row.neg_log10_p is not None and row.family in TESTED_TOGETHER:
            families.setdefault((row.family, row.measure), []).append((row.key, 10**-row.neg_log10_p))
    return {
        key: max(0.0, -math.log10(p))
        for members in families.values()
        for (key, _), p in zip(members, adjust([p for _, p in members], method), strict=True)
        if p is not None
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
