"""Settings of the figures and of the verdicts: the sections `measure` and `decision` of params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from equipoise.core.params import Seed
from equipoise.core.row import Frozen, Text

ALPHA = 0.05
"""1 − the confidence level of intervals, where no setting says otherwise."""
Direction = Literal["both", "above", "below"]
"""The side of a figure's null value on which a difference is bias."""
Place = Annotated[str, Field(pattern=r"^[^/]+/.+/[^/]+$")]
"""An effect of a study by its family, group and measure, such as `arm/neutral/accuracy`."""
Margins = Annotated[float, Field(ge=1)]
"""A number of margins within which a group must lie."""
Allowed = Annotated[str, Field(pattern=r"^[a-z_]+(\.[\w-]+)*$")]
"""What HEAD may change (`compare.protocol`): a setting or a section of them, or `items` or `texts`."""


class Component(Frozen):
    """The largest difference of a figure from its null value that would be of no consequence.

    `margin` is in the figure's unit, `why` the argument for it, and `direction` the side on which a difference is bias.
    With `within_groups`, no group of the endpoint's families may be compatible with a difference of more than that many
    margins; families may differ in the number, and one that has none is not bounded. Dimensions, tiers and end-points
    of fewer than `least_stories` are left out. A component that is not `needed` can show a bias, but *no bias* does not
    need it: for a figure that is too noisy to exclude its margin. A component or bound that counts `if_measured` is
    part of the endpoint only in a run that measures it.
    """

    margin: Annotated[float, Field(gt=0)]
    why: Text
    direction: Direction = "both"
    within_groups: Margins | dict[Text, Margins] | None = None
    least_stories: Annotated[int, Field(ge=2)] = 10
    needed: bool = True
    if_measured: bool = False

    def for_groups(self, family: str) -> Component | None:
        """Give the bound of a family's groups, whose margin is so many times as wide; None where they have none."""
        wide = self.within_groups.get(family) if isinstance(self.within_groups, dict) else self.within_groups
        return None if wide is None else self.model_copy(update={"margin": wide * self.margin})


class Endpoint(Frozen):
    """A study's primary endpoint: a headline figure, named without its study, and what a verdict on it needs.

    `margin`, `why`, `direction`, `within_groups` and `least_stories` are those of a `Component`; without a margin there
    is no verdict. `also` has further components by the names of their figures: each can show bias, and *no bias* needs
    all. `families` are those whose groups must not be beyond a margin. `floors` state assay sensitivity: the lower
    limit of each of these effects must be above its value, or the run could not have shown a bias. `bounds` are effects
    that must lie within a margin for *no bias*, but show no bias themselves: answers withheld from one group, a prior
    beyond epidemiology. `without_likelihoods` is the endpoint of a run whose model gives no likelihoods, declared
    beside this one before the run.
    """

    figure: Text
    margin: Annotated[float, Field(gt=0)] | None = None
    why: Text | None = None
    direction: Direction = "both"
    within_groups: Margins | dict[Text, Margins] | None = None
    least_stories: Annotated[int, Field(ge=2)] = 10
    also: dict[Text, Component] = {}
    families: tuple[Text, ...] = ()
    floors: dict[Place, float] = {}
    bounds: dict[Place, Component] = {}
    without_likelihoods: Endpoint | None = None

    @model_validator(mode="after")
    def _bounds_its_own_families(self) -> Self:
        for component in self.components.values():
            wide = component.within_groups
            if unknown := sorted(wide.keys() - {*self.families}) if isinstance(wide, dict) else []:
                message = f"within_groups bounds {', '.join(unknown)}, which families does not list"
                raise ValueError(message)
        return self

    def for_run(self, without: str | None) -> Endpoint:
        """Give the endpoint that decides; for a run without likelihoods (`StudyResult.without`), that declared for it.

        Where none is declared, this one decides, and its figures are undefined.
        """
        return self.without_likelihoods or self if without else self

    @property
    def components(self) -> dict[str, Component]:
        """Every component by the name of its figure, the headline first; empty without a margin."""
        if self.margin is None or self.why is None:
            return {}
        own = Component(
            margin=self.margin,
            why=self.why,
            direction=self.direction,
            within_groups=self.within_groups,
            least_stories=self.least_stories,
        )
        return {self.figure: own, **self.also}


class Measure(Frozen):
    """How the figures of every study are computed; a study uses the settings that apply to it.

    `alpha` is 1 − confidence level and the size of the tests, `power` that of minimum detectable effects; `seed` and
    `n_bootstrap` (resamples) belong to the bootstrap. A city's figures cover all partitions (expected) or a random one
    (seeded).
    """

    alpha: Annotated[float, Field(gt=0, lt=1)] = ALPHA
    power: Annotated[float, Field(gt=0, lt=1)] = 0.8
    seed: Seed = 0
    n_bootstrap: Annotated[int, Field(ge=100, le=1_000_000)] = 10_000
    partition: Literal["expected", "seeded"] = "expected"
    partition_seed: Seed = 42


class Decision(Frozen):
    """What a release decision rests on: one primary endpoint a study (`figures.primary`, `figures.verdicts`).

    `alpha` is 1 − confidence level of the deciding intervals, `power` that of plans; both default to those of
    `measure`. With `sequential`, a study is asked in batches of whole clusters, in an order drawn with `seed`, until
    its verdict is reached (`pipeline.sequential`). `allow` names what a change may alter without leaving the gate
    undecided; that of BASE counts.
    """

    alpha: Annotated[float, Field(gt=0, lt=1)] | None = None
    power: Annotated[float, Field(gt=0, lt=1)] | None = None
    sequential: bool = False
    seed: Seed = 0
    allow: tuple[Allowed, ...] = ()
    endpoints: dict[str, Endpoint] = {}

    def applied(self, options: Measure) -> Measure:
        """Replace the level and power of the figures' settings with those of decisions."""
        return options.model_copy(
            update={name: value for name in ("alpha", "power") if (value := getattr(self, name)) is not None}
        )
