"""Settings of the figures: the section `measure` of params.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from equipoise.core.params import Count, Seed
from equipoise.core.records import Frozen


class Measure(Frozen):
    """How the figures of every study are computed; a study uses the settings that apply to it.

    `alpha` is 1 − confidence level and the size of the tests; `power` is that of minimum detectable effects. `seed` and
    `n_bootstrap` (resamples) are those of the bootstrap. The minimum numbers of pairs are those that the study design
    asks for (30 cases a dimension, 10 a combination); the stricter one applies to overall and tiers. The figures of a
    city are over all partitions of the questions (expected), or for one random partition (seeded).
    """

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    power: Annotated[float, Field(gt=0, lt=1)] = 0.8
    seed: Seed = 0
    n_bootstrap: Annotated[int, Field(ge=100, le=1_000_000)] = 10_000
    min_pairs: Count = 15
    min_pairs_combination: Count = 5
    partition: Literal["expected", "seeded"] = "expected"
    partition_seed: Seed = 42
