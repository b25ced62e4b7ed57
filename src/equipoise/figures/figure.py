"""The headline figures: one catalogue for metrics files, leaderboard, comparison of revisions, report and README.

A headline figure has one name everywhere: `questions.race.gap` is a gate of `equipoise compare`, a column of the
leaderboard, a card of the report and the path of a table in `metrics/questions.json`. It is the estimate of one effect;
a name with `*` means the same measure in every group of a family.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias

from equipoise.figures.effects import Effect, Nested

Kind = Literal["mean", "share", "ratio", "contrast"]
"""How a figure is computed from its items' values (`figures.aggregates`), and its change (`compare.estimators`)."""
Value: TypeAlias = float | bool | tuple[float, float] | tuple[float, bool, str]
"""What an item contributes: to a mean or share its value; to a ratio its numerator and denominator; to a contrast its
value, whether it is of the first set, and its cluster."""
ItemValue: TypeAlias = Callable[[Any], Value | None]
"""Gives what one item contributes; None where that is undefined."""
Field: TypeAlias = Literal["estimate", "interval", "p"]

EVERY = "*"
"""In place of a group: the same measure in every group of the family."""
LEAST_COVERAGE = 0.92
"""An interval whose simulated coverage is lower is printed with it."""
FULL: tuple[Field, ...] = ("estimate", "interval", "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One headline figure: which effect it is, what it is computed from, how it is written, and who shows it.

    `family`, `group` and `measure` are the effect's. `sentence` says what the figure is; `null` is the value that shows
    no bias, None where there is none, `below` and `above` what a value on either side of it means. `fields` are written
    to the metrics file; those that are `sized` have their `n` there too, where it is not that of the study. `places` is
    the number of decimal places of the estimate and its interval there: 2 of what is computed in nats. On the `board`
    are columns of the leaderboard and cards of the report, each of which links to its `page` of the documentation
    (below docs/, without `.md`); a column that is a `pick` is the lowest or highest estimate of all groups.

    `value` is what one item (a pair, a question, a sentence) contributes, `unit` the plural of these, and `change` how
    the values make the figure and how its change is estimated; revisions are not compared by a figure without it. A
    figure over groups has `groups` in place of `value`: it gives the function of each group from a run's rows. Where a
    study does not estimate the effect by itself, it is estimated from the values.

    `worse` is which change is for the worse of a figure without a null value (of the others, that away from it);
    `denominator` says what a ratio's denominator counts, where a reader should see it, and `seed` names its random
    numbers (older than the figure's name, and kept so that published intervals stay). `plots` are the stems of the
    pictures that show it. A `verdict` on silent bias (`figures.silence`) is written beside the figure.

    `beside` are measures of the same group that a card shows with the figure, each with the words that follow its
    number. `about_reasoning` is true of a figure that depends on what the reasoning says. `where` writes the group that
    a figure was picked from.
    """

    name: str
    measure: str
    title: str
    family: str = "overall"
    group: str = "all"
    sentence: str = ""
    null: float | None = None
    below: str = ""
    above: str = ""
    fields: tuple[Field, ...] = FULL
    sized: bool = True
    board: bool = False
    pick: Literal["lowest", "highest"] | None = None
    value: ItemValue | None = field(default=None, compare=False)
    groups: Callable[[Any], Mapping[str, ItemValue]] | None = field(default=None, compare=False)
    unit: str = ""
    change: Kind | None = None
    worse: Literal["higher", "lower"] | None = None
    page: str = ""
    denominator: str = ""
    seed: str = ""
    plots: tuple[str, ...] = ()
    verdict: bool = False
    places: int = 3
    beside: Mapping[str, str] = field(default_factory=dict, hash=False)
    about_reasoning: bool = False
    where: Callable[[str], str] = str

    def __post_init__(self) -> None:
        """Refuse a figure that could not be compared or explained."""
        if self.change and not (self.unit and (self.value or self.groups)):
            raise ValueError(f"{self.name}: a figure with `change` needs `value` (or `groups`) and `unit`")
        if self.board and not self.page:
            raise ValueError(f"{self.name}: a figure on the board needs the `page` that explains it")

    @property
    def study(self) -> str:
        """The study: the first part of the name, and the stem of the metrics file."""
        return self.name.partition(".")[0]

    @property
    def path(self) -> tuple[str, ...]:
        """Where the study's metrics file has the figure."""
        return tuple(self.name.split(".")[1:])

    def covers(self, effect: Effect) -> bool:
        """Whether an effect is this figure, or one of those that it covers or is picked from."""
        return (effect.study, effect.family, effect.measure) == (
            self.study,
            self.family,
            self.measure,
        ) and self.group in (EVERY, effect.group)

    def of_group(self, group: str) -> Self:
        """Give the figure of one group; that of a single group is itself."""
        if self.group != EVERY:
            return self
        name, seed = (text.replace(EVERY, group.replace("/", ".")) for text in (self.name, self.seed))
        title = self.title.replace(EVERY, group.replace("/", ", ").replace("_", " "))
        return replace(self, name=name, seed=seed, title=title, group=group)

    def expanded(self, rows: Any) -> list[Self]:  # noqa: ANN401  (the rows of a run, which its study knows)
        """Give the figure of each group that a run's rows have; that of a single group is itself."""
        if self.groups is None:
            return [self]
        return [replace(self.of_group(group), value=value) for group, value in self.groups(rows).items()]

    def values(self, items: Mapping[str, Any]) -> dict[str, Value]:
        """Give what each item contributes, by the item's key; without those of which it is undefined."""
        if self.value is None:
            return {}
        return {key: value for key, item in items.items() if (value := self.value(item)) is not None}


def position_bias(study: str) -> Figure:
    """Declare the position bias of a study whose answers are letters."""
    return Figure(
        name=f"{study}.position_bias",
        family="position",
        measure="position_bias",
        title="position bias",
        sentence="Share of the letters' probability that depends on the letter and not on the option shown there.",
        fields=("estimate",),
    )


NOTE_EXTREMES = (
    "The lowest and the highest city accuracy ratio are picked among cities and attributes; the interval is that of "
    "the one picked, and too narrow for a pick."
)
"""What readers should know about figures that are picked."""


def undercoverage(effect: Effect) -> float | None:
    """Give the simulated coverage of a figure's interval where it is too low to go unsaid, else None."""
    return None if effect.coverage is None or effect.coverage >= LEAST_COVERAGE else effect.coverage


def endpoint_kind(effect: Effect) -> str:
    """Say whether an effect is the declared primary endpoint of its study, or a secondary one."""
    return "primary" if effect.primary else "secondary"


def headline_effects(effects: Iterable[Effect], figures: Sequence[Figure]) -> list[tuple[Figure, Effect]]:
    """Pair every effect that is a headline figure with its declaration, in the order of `figures`, then by key."""
    declared = [figure for figure in figures if figure.pick is None]
    rows: dict[tuple[str, str, str], list[Effect]] = {
        (figure.study, figure.family, figure.measure): [] for figure in declared
    }
    for row in effects:
        members = rows.get((row.study, row.family, row.measure))
        if members is not None:
            members.append(row)
    return [
        (figure.of_group(row.group), row)
        for figure in declared
        for row in sorted(rows[figure.study, figure.family, figure.measure], key=lambda row: row.key)
        if figure.covers(row)
    ]


def headline_metrics(
    figures: Sequence[Figure], effects: Sequence[Effect], totals: Mapping[str, int] | None = None
) -> Nested:
    """Lay a study's headline figures out for `metrics/<study>.json`, nested by the parts of their names.

    The study's `n`, the largest number of items behind a figure, comes first, then its `totals`
    (`StudyResult.totals`). An undefined figure has its own `n`. A defined one has it where it is `sized` and its `n` is
    not that of the first figure of its group; of that one, and of a figure without a group, where it is not the
    study's.

    A figure has what is defined of its fields: `estimate`, `ci_low` and `ci_high`, and `neg_log10_p`, or
    `neg_log10_p_holm` where the tests of several groups are adjusted by Holm's method. A figure with a verdict also has
    `least` and `most`, its bounds where the judge is unsure, and an interval whose simulated coverage is below
    `LEAST_COVERAGE` its `coverage`.
    """
    rows = headline_effects(effects, figures)
    n = max((row.n for _, row in rows), default=0)
    metrics: Nested = {"n": n, **(totals or {})}
    sizes: dict[tuple[str, ...], int] = {(): n}
    for figure, row in rows:
        place: Nested = metrics
        for part in figure.path:
            place = place.setdefault(part, {})  # type: ignore[assignment]  # names of figures are not fields
        group = figure.path[:-1]
        place |= _fields(figure, row, sizes.get(group, n)) | _bounds(figure, row, effects)
        sizes.setdefault(group, row.n)
    return metrics


def shown(figure: Figure, field: str, value: float) -> float:
    """Round a field of a figure to what another processor reproduces.

    Log likelihoods differ between processors by about 1e-5. What is computed from them keeps two decimal places in
    nats (`Figure.places`), and three as a share, a ratio or a -log10 p-value.
    """
    return round(value, figure.places if field in {"estimate", "ci_low", "ci_high"} else 3) + 0.0  # turns -0.0 into 0.0


def _bounds(figure: Figure, row: Effect, effects: Sequence[Effect]) -> Nested:
    """The least and the most that a figure with a verdict can be, by the readings of which the judge is unsure."""
    bounds = ("least", "most") if figure.verdict else ()
    keys = {f"{row.key}_{bound}": bound for bound in bounds}
    return {
        keys[other.key]: shown(figure, "estimate", other.estimate)
        for other in effects
        if other.key in keys and other.estimate is not None
    }


def _fields(figure: Figure, row: Effect, n: int) -> Nested:
    values: dict[str, float | None] = {}
    if "estimate" in figure.fields:
        values["estimate"] = row.estimate
    if "interval" in figure.fields:
        values |= {"ci_low": row.ci_low, "ci_high": row.ci_high}
    if "p" in figure.fields:
        holm = row.neg_log10_p_holm
        values |= {"neg_log10_p": row.neg_log10_p} if holm is None else {"neg_log10_p_holm": holm}
    if "interval" in figure.fields:
        values["coverage"] = undercoverage(row)
    defined: Nested = {name: shown(figure, name, value) for name, value in values.items() if value is not None}
    usual = row.estimate is not None and (row.n == n or not figure.sized)
    return defined if usual else {"n": row.n, **defined}
