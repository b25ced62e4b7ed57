"""Settings of the figures: the section `measure` of params.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from equipoise.core.params import Seed
from equipoise.core.records import Frozen, Study, Text


class Endpoint(Frozen):
    """A study's primary endpoint: a headline figure, by its name without the study's, and its margin in its own unit.

    The margin is the largest difference from the figure's null value that would be of no consequence; a figure without
    a null value has none.
    """

    figure: Text
    margin: Annotated[float, Field(gt=0)] | None = None


class Measure(Frozen):
    """How the figures of every study are computed; a study uses the settings that apply to it.

    `alpha` is 1 − confidence level and the size of the tests; `power` is that of minimum detectable effects. `seed` and
    `n_bootstrap` (resamples) are those of the bootstrap. `primary` declares each study's primary endpoint
    (`metrics.primary`). The figures of a city are over all partitions of the questions (expected), or for one random
    partition (seeded).
    """

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    power: Annotated[float, Field(gt=0, lt=1)] = 0.8
    seed: Seed = 0
    n_bootstrap: Annotated[int, Field(ge=100, le=1_000_000)] = 10_000
    primary: dict[Study, Endpoint] = {}
    partition: Literal["expected", "seeded"] = "expected"
    partition_seed: Seed = 42
