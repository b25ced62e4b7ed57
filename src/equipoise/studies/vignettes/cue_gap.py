"""The cue gap: how much more biased a model is where it must infer the patient's feature (docs/metrics/cue_gap.md).

Only pairs whose cues the model reads as meant count. Source: the cue visibility gap of arXiv:2606.31644, here between
the arms of a pair and in probabilities.
"""

from collections.abc import Collection, Iterator, Sequence

from equipoise.figures.effects import Effect, Group, mean_shift, rate, simultaneous_means
from equipoise.figures.options import Measure
from equipoise.materials.pairs import Pair
from equipoise.materials.versions import CUES, CueKind
from equipoise.studies.vignettes import NAME
from equipoise.studies.vignettes.swap import mean_effect


def cue_effects(pairs: Sequence[Pair], options: Measure, components: int) -> Iterator[Effect]:
    """Estimate the cue gap, overall and by the kind of cue; nothing if none was asked about.

    Beside it are the share of pairs whose cues are read as meant, the gap in nats, the two sides of the gap, and the
    difference over all cues, read or not. The intervals of the kinds that hold for all of them together share their
    level with the groups of the other `components`.
    """
    kinds = [kind for kind in CUES if any(kind in pair.inferred for pair in pairs)]
    if not kinds:
        return
    groups = {Group("cue", kind, NAME): (kind,) for kind in kinds}
    for group, own in {Group("overall", "all", NAME): tuple(kinds), **groups}.items():
        yield from _group_effects(group, pairs, own, options)
    rows = [(group, [(pair.cue_gap(own), pair.story) for pair in pairs]) for group, own in groups.items()]
    yield from simultaneous_means("cue_gap", rows, options.alpha / components, alone=options.alpha, unequal=True)


def _group_effects(
    group: Group, pairs: Sequence[Pair], kinds: Collection[CueKind], options: Measure
) -> Iterator[Effect]:
    asked = [(pair.reads.get(kind, False), pair.story) for pair in pairs for kind in kinds if kind in pair.inferred]
    read = [pair for pair in pairs if any(pair.reads.get(kind) for kind in kinds)]
    stories = [story for _, story in asked]
    yield rate(group, "cue_read_rate", (is_read for is_read, _ in asked), options.alpha, stories)
    yield from mean_shift(group, "cue_gap", [(pair.cue_gap(kinds), pair.story) for pair in read], options)
    told = [(pair.inferred_difference(kinds, unread=True), pair.story) for pair in pairs]
    yield mean_effect(group, "cued_error_difference", told, options)
    for measure, values in (
        ("cue_gap_shift", [pair.cue_gap(kinds, "log_odds") for pair in read]),
        ("inferred_error_difference", [pair.inferred_difference(kinds) for pair in read]),
        ("stated_error_difference", [pair.unreasoned_error_difference for pair in read]),
    ):
        yield mean_effect(group, measure, [(v, pair.story) for v, pair in zip(values, read, strict=True)], options)
