"""The cue gap: how much more a model is biased where it must infer who the patient is than where the case says so.

The two arms of a pair are told once more, with a cue in place of the statement (`build.cues`), and answered at once; the
stated arms' answers without reasoning are what they are compared with, within the pair. Only pairs whose cues the model
reads as meant count: asked which of the two features the patient of the opening has, with the options in one order and
in the other, the log odds of the marginalised feature are higher for the marginalised arm both times. This rule does not
depend on any answer to a case. A model that reads nothing in a cue passes it for about a quarter of the pairs.

Source: the cue visibility gap of arXiv:2606.31644, here between the arms of a pair and in probabilities.
"""

from collections.abc import Iterator, Sequence

from equipoise.figures.effects import Effect, Group, mean_shift, rate
from equipoise.figures.options import Measure
from equipoise.materials.pairs import Pair
from equipoise.materials.versions import CUES
from equipoise.studies.vignettes import NAME
from equipoise.studies.vignettes.swap import mean_effect


def cue_effects(pairs: Sequence[Pair], options: Measure) -> Iterator[Effect]:
    """Estimate the gap of each kind of cue that was asked about, and the share of pairs whose cues are read as meant.

    `inferred_error_difference` and `stated_error_difference` are the two sides of the gap. All are clustered by story.
    """
    group = Group("overall", "all", NAME)
    for kind in CUES:
        asked = [pair for pair in pairs if kind in pair.inferred]
        if not asked:
            continue
        stories = [pair.story for pair in asked]
        read = [pair for pair in asked if pair.reads.get(kind)]
        yield rate(group, f"cue_read_rate_{kind}", (pair.reads.get(kind, False) for pair in asked), options.alpha, stories)
        yield from mean_shift(group, f"cue_gap_{kind}", [(pair.cue_gap(kind), pair.story) for pair in read], options)
        for measure, values in (
            ("cue_gap_shift", [pair.cue_gap_shift(kind) for pair in read]),
            ("inferred_error_difference", [pair.inferred_difference(kind) for pair in read]),
            ("stated_error_difference", [pair.unreasoned_error_difference for pair in read]),
        ):
            rows = [(value, pair.story) for value, pair in zip(values, read, strict=True)]
            yield mean_effect(group, f"{measure}_{kind}", rows, options)
