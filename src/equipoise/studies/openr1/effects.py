"""Effects of the study `openr1`: does the reply to a client's message change with the client's demographics?

docs/metrics/openr1_agreement.md defines the figures. Groups are the dimensions, the control (arms with the same
demographics that name different days of the week), and overall, where each item counts once, since pairs of one item
share its message. Pairs with a reply without an answer are left out of the figures, and counted in `unanswered`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from equipoise.figures.effects import (
    Effect,
    Estimate,
    Group,
    bounded_mean,
    clustered_gap,
    detectable_mean,
    effect,
    location,
    paired_gap,
    rate,
    skewed_mean,
    with_adjusted,
)
from equipoise.figures.guards import Guard, answer_guards
from equipoise.figures.options import Measure
from equipoise.stats import paired
from equipoise.stats.clusters import cluster_means
from equipoise.stats.quantities import Interval, PairedCells
from equipoise.studies.openr1 import NAME
from equipoise.studies.openr1.rows import CONTROL, Agreement, Written, require_source
from equipoise.text.answer import AnswerKind

DECIMALS = 9
"""Decimal places of differences, more than the six of the rows: rounding noise would otherwise break ties of ranks."""


class _Pair(NamedTuple):
    """An answered pair: its item, the similarities, and whether the arms differ."""

    item: str
    marginalised: float
    privileged: float
    arms: float
    differ: bool

    @property
    def gap(self) -> float:
        return round(self.privileged - self.marginalised, DECIMALS)


def openr1_effects(agreements: Sequence[Agreement], options: Measure) -> list[Effect]:
    """Estimate every figure of the study; no effects without agreements.

    Effects are sorted by key and do not depend on the order of the rows. Raises EquipoiseError for another source.
    """
    require_source(agreements, "agreements")
    rows = sorted(agreements, key=lambda row: row.key)
    control = {pair.item: pair for pair in _answered(row for row in rows if row.dimension == CONTROL)}
    varied = [row for row in rows if row.dimension != CONTROL]
    groups = [(Group("dimension", name, NAME), name) for name in sorted({row.dimension for row in varied})]
    effects: list[Effect] = []
    if varied:
        group = Group("overall", "all", NAME)
        effects += [
            effect(group, "clusters", len(varied), Estimate(float(len({row.item for row in varied})))),
            *_counts(group, varied),
            *_withheld(group, varied, options.alpha),
            *_overall(group, _answered(varied), control, options),
        ]
    for group, name in groups:
        members = [row for row in rows if row.dimension == name]
        pairs = _answered(members)
        effects += [
            *_counts(group, members),
            *_withheld(group, members, options.alpha),
            *_figures(group, pairs, options),
            *_against(group, pairs, control, options),
        ]
    if any(row.dimension == CONTROL for row in rows):
        group = Group(CONTROL, "all", NAME)
        members = [row for row in rows if row.dimension == CONTROL]
        effects += [*_counts(group, members), *_figures(group, _answered(members), options)]
    return sorted(with_adjusted(effects), key=lambda row: row.key)


def _answered(rows: Iterator[Agreement] | Sequence[Agreement]) -> list[_Pair]:
    """List the pairs in which both replies contain an answer."""
    pairs = []
    for row in rows:
        marginalised = _similarity(row.marginalised_entails_gold, row.gold_entails_marginalised)
        privileged = _similarity(row.privileged_entails_gold, row.gold_entails_privileged)
        arms = _similarity(row.marginalised_entails_privileged, row.privileged_entails_marginalised)
        if marginalised is None or privileged is None or arms is None or row.arms_agree is None:
            continue
        pairs.append(_Pair(row.item, marginalised, privileged, arms, not row.arms_agree))
    return pairs


def _similarity(forth: float | None, back: float | None) -> float | None:
    return None if forth is None or back is None else (forth + back) / 2


def _counts(group: Group, rows: Sequence[Agreement]) -> Iterator[Effect]:
    """Count the pairs without an answer, and those truncated at the token limit."""
    yield effect(group, "unanswered", len(rows), Estimate(float(sum(row.arms_agree is None for row in rows))))
    cut_off = sum(row.marginalised.cut_off or row.privileged.cut_off for row in rows)
    yield effect(group, "cut_off", len(rows), Estimate(float(cut_off)))


WITHHELD: dict[str, Callable[[Written], bool]] = {
    "refusal_difference": lambda reply: reply.kind == "refusal",
    "unread_difference": lambda reply: reply.kind == "unparsed",
    "cut_off_difference": lambda reply: reply.cut_off,
}
"""What a client may not get, whatever the other replies are like."""


def _withheld(group: Group, rows: Sequence[Agreement], alpha: float) -> Iterator[Effect]:
    """Estimate the difference between the arms in the share of replies that are withheld; pairs of an item cluster."""
    items = [row.item for row in rows]
    for measure, counts in WITHHELD.items():
        outcomes = [(counts(row.marginalised), counts(row.privileged)) for row in rows]
        yield effect(group, measure, len(rows), clustered_gap(outcomes, items, alpha))


def _figures(group: Group, pairs: Sequence[_Pair], options: Measure) -> Iterator[Effect]:
    yield from _means(group, _columns(pairs), options)
    yield rate(group, "arms_differ_rate", (pair.differ for pair in pairs), options.alpha)


def _overall(group: Group, pairs: Sequence[_Pair], control: Mapping[str, _Pair], options: Measure) -> Iterator[Effect]:
    """Estimate the same over the means of items; the share of differing pairs is then a mean with a t interval."""
    items = [pair.item for pair in pairs]
    yield from _means(group, {name: cluster_means(values, items) for name, values in _columns(pairs).items()}, options)
    shares = cluster_means([float(pair.differ) for pair in pairs], items)
    yield effect(group, "arms_differ_rate", len(shares), _mean(shares, options.alpha))
    controlled = [pair for pair in pairs if pair.item in control]
    losses = cluster_means([_loss(pair, control) for pair in controlled], [pair.item for pair in controlled])
    if control:
        yield effect(group, "arm_similarity_loss", len(losses), bounded_mean(losses, 1.0, options.alpha))


def _against(group: Group, pairs: Sequence[_Pair], control: Mapping[str, _Pair], options: Measure) -> Iterator[Effect]:
    """Compare a dimension's pairs with the control pairs of the same items."""
    if not control:
        return
    controlled = [pair for pair in pairs if pair.item in control]
    losses = [_loss(pair, control) for pair in controlled]
    yield effect(group, "arm_similarity_loss", len(losses), bounded_mean(losses, 1.0, options.alpha))
    cells = PairedCells.count((pair.differ, control[pair.item].differ) for pair in controlled)
    yield effect(group, "arms_differ_excess", cells.n, paired_gap(cells, options.alpha))


def _columns(pairs: Sequence[_Pair]) -> dict[str, list[float]]:
    """Return the values per pair of the measures that are means."""
    return {
        "agreement_marginalised": [pair.marginalised for pair in pairs],
        "agreement_privileged": [pair.privileged for pair in pairs],
        "arm_similarity": [pair.arms for pair in pairs],
        "agreement_gap": [pair.gap for pair in pairs],
    }


def _means(group: Group, columns: Mapping[str, Sequence[float]], options: Measure) -> Iterator[Effect]:
    for measure, values in columns.items():
        if measure != "agreement_gap":
            yield effect(group, measure, len(values), _mean(values, options.alpha))
    gaps = columns["agreement_gap"]
    yield effect(group, "agreement_gap", len(gaps), bounded_mean(gaps, 1.0, options.alpha))
    yield from skewed_mean(group, "agreement_gap", gaps, None, options.alpha)
    yield effect(group, "agreement_gap_median", len(gaps), location(gaps))
    yield detectable_mean(group, "agreement_gap", gaps, options)


def _loss(pair: _Pair, control: Mapping[str, _Pair]) -> float:
    return round(control[pair.item].arms - pair.arms, DECIMALS)


def _mean(values: Sequence[float], alpha: float) -> Estimate:
    """Estimate the mean of values in [0, 1], with its t interval clipped to [0, 1]."""
    interval = paired.mean_interval(values, alpha)
    if interval is not None:
        interval = Interval(max(0.0, interval.low), min(1.0, interval.high))
    return Estimate(sum(values) / len(values) if values else None, interval)


def written_guards(agreements: Sequence[Agreement]) -> Iterator[Guard]:
    """Count refused replies and those without words, by arm; the arms of control pairs are alike."""
    varied = [row for row in agreements if row.dimension != CONTROL]
    arms: dict[str, list[AnswerKind]] = {}
    for row in varied:
        arms.setdefault("marginalised", []).append(row.marginalised.kind)
        arms.setdefault("privileged", []).append(row.privileged.kind)
    yield from answer_guards(arms)
