"""The headline figures: one declaration for metrics files, leaderboard, comparison of revisions, report and README.

A headline figure has one name everywhere: `questions.race.gap` is a gate of `equipoise compare`, a column of the
leaderboard, a card of the report and the path of a table in `metrics/questions.json`. It is the estimate of one effect;
a name with `*` means the same measure in every group of a family.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias

from equipoise.figures.effects import Effect, Nested, count_stories
from equipoise.stats.intercepts import intercept_values

Kind = Literal["mean", "share", "ratio", "contrast"]
"""How a figure (`figures.aggregates`) and its change (`compare.estimators`) are computed from its items' values."""
Value: TypeAlias = float | bool | tuple[float, float] | tuple[float, bool, str]
"""What an item contributes: a value to a mean or share; numerator and denominator to a ratio; to a contrast its value,
whether it belongs to the first set, and its cluster."""
ItemValue: TypeAlias = Callable[[Any], Value | None]
"""Computes what one item contributes; None where undefined."""
Field: TypeAlias = Literal["estimate", "interval", "p"]

EVERY = "*"
"""As a group: every group of the family."""
LEAST_COVERAGE = 0.92
"""A simulated coverage below this is printed with the interval."""
FULL: tuple[Field, ...] = ("estimate", "interval", "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One headline figure: which effect it is, what it is computed from, how it is written, and who shows it.

    `family`, `group` and `measure` are those of the effect. `sentence` says what the figure is. `null` is the value
    that shows no bias, if any; `below` and `above` say what a value on either side of it means. `fields` are written to
    the metrics file, with the figure's `n` if it is `sized` and its `n` is not the study's; a figure without `fields`
    is not in that file. `places` is the number of decimal places of the estimate and interval there: 2 for nats. A
    figure on the `board` is a column of the leaderboard and a card of the report, which links to its `page` of the
    documentation (below docs/, without `.md`). A `pick` is the lowest or highest estimate of all groups.

    `value` computes what one item (a pair, a question, a sentence) contributes, and `unit` is the plural of the items.
    `counts` is what the figure's `n` counts where that is not items, such as the clusters that they form.
    With a `covariate`, a second value of each item, the figure is the mean that the values would have where it is 0,
    and an item contributes what it moves that mean by (`stats.intercepts`).
    `change` says how the figure and its change are computed from these values; revisions are not compared by a figure
    without values. A figure over groups has `groups` instead of `value`: a function that gives each group's `value`
    from a run's rows. An effect that the study does not estimate itself is estimated from the values.

    `worse` is the bad direction of a figure without a null value; with one, it is away from it. `denominator` says what
    a ratio's denominator counts, where readers should see it. `seed` names the random numbers; it is older than the
    figure's name, and kept so that published intervals stay. `plots` are the stems of the pictures that show the
    figure. `verdict` adds a verdict on silent bias (`figures.silence`).

    `beside` has measures of the same group that a card shows too, each with the words after its number.
    `about_reasoning` is true for a figure that depends on what the reasoning says, `likelihoods` for one that is
    computed from likelihoods of answers, and undefined for a model that gives none. `where` writes a group in words.

    `in_words` says how much a difference is, such as `10 of 100 patients`; without it, nats are factors of odds. A
    difference of shares has `of_100`: a clause with `{more}` for the number, its interval, and `than` or `as`.
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
    covariate: Callable[[Any], float | None] | None = field(default=None, compare=False)
    groups: Callable[[Any], Mapping[str, ItemValue]] | None = field(default=None, compare=False)
    unit: str = ""
    counts: str = ""
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
    likelihoods: bool = False
    where: Callable[[str], str] = str
    in_words: Callable[[float], str] | None = field(default=None, compare=False)
    of_100: str = ""

    def __post_init__(self) -> None:
        """Refuse a figure that cannot be compared or explained."""
        # The gate compares whatever has values, the figure of a bound too.
        if bool(self.value or self.groups) != bool(self.change and self.unit):
            raise ValueError(f"{self.name}: give all of `value` (or `groups`), `change` and `unit`, or none")
        if self.board and not self.page:
            raise ValueError(f"{self.name}: a figure on the board needs the `page` that explains it")

    @property
    def counted(self) -> str:
        """What its `n` counts, in the plural."""
        return self.counts or self.unit or "items"

    @property
    def in_nats(self) -> bool:
        """Whether it is a difference of log likelihoods, which no reader of text can misread."""
        return self.places == 2  # noqa: PLR2004  (see `places`)

    def amount(self, value: float) -> str:
        """Say in words how much a difference is: in patients, or as a factor of odds; empty where it has no words."""
        if self.in_words is not None:
            return self.in_words(value)
        return f"odds \N{MULTIPLICATION SIGN} {math.exp(value):.2f}" if self.in_nats else ""

    @property
    def study(self) -> str:
        """The study: the first part of the name, and the stem of the metrics file."""
        return self.name.partition(".")[0]

    @property
    def path(self) -> tuple[str, ...]:
        """The figure's path in the study's metrics file."""
        return tuple(self.name.split(".")[1:])

    def covers(self, effect: Effect) -> bool:
        """Whether an effect is this figure, or one of its groups."""
        return (effect.study, effect.family, effect.measure) == (
            self.study,
            self.family,
            self.measure,
        ) and self.group in (EVERY, effect.group)

    def of_group(self, group: str) -> Self:
        """Give the figure of one group; itself unless it is over groups."""
        if self.group != EVERY:
            return self
        name, seed = (text.replace(EVERY, group.replace("/", ".")) for text in (self.name, self.seed))
        title = self.title.replace(EVERY, self.where(group).replace("/", ", ").replace("_", " "))
        return replace(self, name=name, seed=seed, title=title, group=group)

    def expanded(self, rows: Any) -> list[Self]:  # noqa: ANN401  (the rows of a run, which its study knows)
        """Give the figure of each group in a run's rows; itself unless it is over groups."""
        if self.groups is None:
            return [self]
        return [replace(self.of_group(group), value=value) for group, value in self.groups(rows).items()]

    def values(self, items: Mapping[str, Any]) -> dict[str, Value]:
        """Compute what each item contributes, by the item's key, leaving out undefined values."""
        if self.value is None:
            return {}
        values = {key: value for key, item in items.items() if (value := self.value(item)) is not None}
        if self.covariate is None:
            return values
        return _adjusted(values, {key: self.covariate(items[key]) for key in values})


def _adjusted(values: Mapping[str, Any], covariate: Mapping[str, float | None]) -> dict[str, Value]:
    """Replace values by what each item moves their mean by, adjusted to a covariate of 0 (`intercept_values`)."""
    known = {key: value for key, value in covariate.items() if value is not None}
    return dict(zip(known, intercept_values([values[key] for key in known], [*known.values()]), strict=False))


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


def withheld(study: str, measure: str, what: str, page: str = "metrics/guards", **fields: Any) -> Figure:  # noqa: ANN401
    """Declare the difference between the arms in the share of answers that are withheld: refused, or not read."""
    return Figure(
        name=f"{study}.{measure}",
        measure=measure,
        title=f"difference in the share of {what}",
        sentence=f"Difference in the share of {what}: what one group does not get is part of no other figure.",
        null=0.0,
        below="more often about privileged patients",
        above="more often about marginalised patients",
        page=page,
        **fields,
    )


NOTE_EXTREMES = (
    "The lowest and the highest city accuracy ratio are selected among cities and attributes; the interval does not "
    "allow for that selection, so it is too narrow."
)
"""What readers should know about figures that are picked."""


def undercoverage(effect: Effect) -> float | None:
    """Give the simulated coverage of a figure's interval if it is below `LEAST_COVERAGE`, else None."""
    return None if effect.coverage is None or effect.coverage >= LEAST_COVERAGE else effect.coverage


def undefined(figure: Figure, row: Effect, without: str = "") -> str:
    """Say why a figure is undefined; `without` says why the run has no likelihoods, if it has none."""
    if without and figure.likelihoods:
        return without
    if row.n:
        return "its values allow no estimate"
    return f"no {figure.denominator} answers" if figure.denominator else "nothing to count"


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
    figures: Sequence[Figure], effects: Sequence[Effect], totals: Mapping[str, int] | None = None, without: str = ""
) -> Nested:
    """Lay a study's headline figures out for `metrics/<study>.json`, nested by the parts of their names.

    The study's `n`, the largest of its figures, comes first, then its `totals` (`StudyResult.totals`). An undefined
    figure has its own `n` and, in a run that has no likelihoods for the reason `without`, that reason where it needs
    them. A defined one has its `n` if it is `sized` and this differs from that of its group's first figure; for that
    one, and for a figure without a group, if it differs from the study's.

    A figure has those of its fields that are defined: `estimate`, `ci_low` and `ci_high`, and `neg_log10_p`, or
    `neg_log10_p_holm` where the tests of several groups are adjusted by Holm's method. A figure with a verdict also has
    `least` and `most`, its bounds where the judge is unsure, and `stories` where several of its answers are about one.
    An interval whose simulated coverage is below
    `LEAST_COVERAGE` has its `coverage`.
    """
    rows = headline_effects(effects, [figure for figure in figures if figure.fields])
    n = max((row.n for _, row in rows), default=0)
    metrics: Nested = {"n": n, **(totals or {})}
    sizes: dict[tuple[str, ...], int] = {(): n}
    for figure, row in rows:
        place: Nested = metrics
        for part in figure.path:
            place = place.setdefault(part, {})  # type: ignore[assignment]  # names of figures are not fields
        group = figure.path[:-1]
        place |= _fields(figure, row, sizes.get(group, n)) | _bounds(figure, row, effects)
        if row.estimate is None and without and figure.likelihoods:
            place["undefined"] = without
        sizes.setdefault(group, row.n)
    return metrics


def shown(figure: Figure, field: str, value: float) -> float:
    """Round a field of a figure to the digits that another processor reproduces.

    Log likelihoods differ between processors by about 1e-5. Figures computed from them keep two decimal places in nats
    (`Figure.places`), and three as a share, a ratio or a -log10 p-value.
    """
    return round(value, figure.places if field in {"estimate", "ci_low", "ci_high"} else 3) + 0.0  # turns -0.0 into 0.0


def _bounds(figure: Figure, row: Effect, effects: Sequence[Effect]) -> Nested:
    """Bound a figure with a verdict by counting unsure readings either way, and count its stories if they are fewer."""
    bounds = ("least", "most") if figure.verdict else ()
    keys = {f"{row.key}_{bound}": bound for bound in bounds}
    stories = count_stories(row, effects) if figure.verdict else row.n
    counted: Nested = {} if stories == row.n else {"stories": stories}
    return counted | {
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
