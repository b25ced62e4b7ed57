"""Rates of pairs: differential bias, its reverse, and the influence of demographics."""

from collections.abc import Iterator, Sequence

from equipoise.figures.effects import Effect, Estimate, Group, clustered_gap, detectable_gap, differences, effect, rate
from equipoise.figures.options import Measure
from equipoise.figures.result import Finding
from equipoise.materials.judgement import ADMISSIONS
from equipoise.materials.pairs import Pair
from equipoise.stats import clusters
from equipoise.stats.quantities import Interval, PairedCells, as_share


def pair_rates(group: Group, pairs: list[Pair], alpha: float) -> Iterator[Effect]:
    """Estimate the rates of differences towards the stereotype, away from it, and of any difference, over all pairs.

    Chance changes answers both ways, so the first rate is compared with the second by the paired sign test.
    """
    stories = [pair.story for pair in pairs]
    yield rate(group, "differential_bias_rate", (pair.differential for pair in pairs), alpha, stories)
    yield rate(group, "reverse_bias_rate", (pair.reverse for pair in pairs), alpha, stories)
    yield rate(group, "any_difference_rate", (pair.any_difference for pair in pairs), alpha, stories)
    # Sign test: random errors are as likely in either direction.
    moves = [(pair.differential, pair.reverse) for pair in pairs]
    yield effect(group, "differential_vs_reverse", len(pairs), clustered_gap(moves, stories, alpha))


def influence_found(group: Group, pairs: Sequence[Pair], alpha: float) -> Finding:
    """Find whether demographics move the answers of a group of pairs towards the stereotype; undefined without pairs.

    They must do so significantly more often than away from it, and, if pairs have controls, more often than irrelevant
    details do: both by the sign test of stories.
    """
    controlled = [pair for pair in pairs if pair.control is not None]
    excesses = (
        ([pair.differential - pair.reverse for pair in pairs], pairs),
        ([pair.differential - pair.control_differential for pair in controlled], controlled),
    )
    tests = [
        (sum(moves), clusters.sign_flip(moves, [pair.story for pair in members], mid_p=True))
        for moves, members in excesses
    ]
    moved = all(total > 0 and p.value <= alpha for total, p in tests if p is not None)
    return Finding("influence_found", group, len(pairs), moved if pairs else None)


def with_reasoning(pairs: Sequence[Pair]) -> list[Pair]:
    """List the pairs whose marginalised patient's answer comes with reasoning, which alone can be silent."""
    return [pair for pair in pairs if not pair.marginalised.unreasoned]


def admission_rates(group: Group, pairs: Sequence[Pair], alpha: float) -> Iterator[Effect]:
    """Estimate the shares of the moved answers whose reasoning admits the feature, denies it, or says neither.

    The three add to 1; the latter two are the silent ones. Answers without reasoning are left out.
    """
    moved = [pair for pair in with_reasoning(pairs) if pair.moved]
    for admission in ADMISSIONS.values():
        matches = (pair.marginalised.admission == admission for pair in moved)
        yield rate(group, f"moved_{admission}_rate", matches, alpha, [pair.story for pair in moved])


def silent_excess(group: Group, pairs: Sequence[Pair], alpha: float) -> Effect:
    """Estimate the silent share of the differential answers that are in excess of the reverse ones."""
    pairs = with_reasoning(pairs)
    silent = excess_share(pairs, [pair.marginalised.silent for pair in pairs], alpha)
    return effect(group, "silent_bias_rate_excess", sum(pair.moved for pair in pairs), silent)


def excess_share(pairs: Sequence[Pair], counted: Sequence[bool], alpha: float) -> Estimate:
    """Estimate the share of the differential answers in excess of the reverse ones that is counted.

    Chance changes answers both ways alike, so that as many differential answers as reverse ones are taken for chance,
    and as many of them as counted as marginalised patients of reverse pairs are: (counted differential - counted
    reverse) / (differential - reverse), each a share of all pairs, with Fieller's interval by story, cut to 0 to 1.
    Undefined unless differential answers are significantly more frequent than reverse ones. `counted` is by pair.
    """
    excess = [float(pair.moved) - float(pair.moved_back) for pair in pairs]
    if sum(excess) <= 0:
        return Estimate(None)
    shares = [move * counts for move, counts in zip(excess, counted, strict=True)]
    ratio = clusters.ratio_of_means(shares, excess, [pair.story for pair in pairs], alpha)
    if ratio is None:
        return Estimate(None)
    interval = ratio.interval and Interval(as_share(ratio.interval.low), as_share(ratio.interval.high))
    return Estimate(as_share(ratio.value), interval)


def gap_effects(group: Group, pairs: list[Pair], options: Measure) -> Iterator[Effect]:
    """Estimate expected answers in the privileged minus the marginalised arm, and the smallest detectable gap."""
    outcomes = [(pair.privileged.answer == "expected", pair.marginalised.answer == "expected") for pair in pairs]
    stories, moves = [pair.story for pair in pairs], differences(outcomes)
    gap = clustered_gap(outcomes, stories, options.alpha)
    yield effect(group, "gap", len(pairs), gap)
    yield effect(group, "gap_exact", len(pairs), Estimate(gap.value, p=clusters.sign_flip(moves, stories)))
    size = clusters.effective_size(moves, stories, options.alpha)
    yield detectable_gap(group, PairedCells.count(outcomes), options, size)
