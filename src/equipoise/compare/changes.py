"""Changes: how each headline figure changed between two revisions, over the items they share, and whether it got worse.

**Worse and better.** The bias of a figure with a null value is its distance from that value, or its distance on one
side where the study's endpoint declares a direction. With b and h the differences of BASE and HEAD from the null value,

    h² - b² = (h - b)(h + b),

so that the distance has grown only if h - b and h + b are both above 0 or both below it: the larger of the two
p-values tests it (an intersection-union test: Berger 1982, Technometrics 24:295-300). On one side it has grown only if
h - b and h are both on that side, and shrunk only if b - h and b are. A rate is worse when higher, an accuracy when
lower. p-values are adjusted by Holm's method over the figures of a study.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from equipoise.compare.estimators import NOISE, Moved, contrast_change, mean_change, ratio_change, share_change
from equipoise.compare.items import compared, item_values
from equipoise.compare.revisions import Revision
from equipoise.core.visible import markdown
from equipoise.figures.aggregates import level
from equipoise.figures.figure import Figure, Value
from equipoise.figures.options import Direction, Measure
from equipoise.figures.primary import primary_figure
from equipoise.stats.bootstrap import generator
from equipoise.stats.multiplicity import adjust
from equipoise.studies.registry import STUDIES

RECORDED = 2e-6
"""How far a figure may be from the recorded one, which is rounded to six places."""
Way = Literal["worse", "better", "no change", ""]
"""How bias changed; empty for a figure that says nothing about bias, and where nothing was compared."""
ORDER = ("worse", "worse (n.s.)", "", "better (n.s.)", "better", "no change")
"""The order of changes for a reviewer; n.s. is not significant."""


class Change(NamedTuple):
    """One figure under both revisions over the `n` items they share, and HEAD minus BASE.

    `moved` counts the shared items whose values differ, `only_base` and `only_head` the items of one revision only.
    `base_recorded` and `head_recorded` are the recorded estimates over all items, `base_read` and `head_read` those
    that this code computes from all rows. `below` has a ratio's two denominators, where they count something. `why`
    says why there is no change. `p_holm` is adjusted over the figures of the study. `way` says how bias changed, and
    `p_way` is its p-value, adjusted likewise.
    """

    figure: Figure
    n: int = 0
    only_base: int = 0
    only_head: int = 0
    moved: int = 0
    base: float | None = None
    head: float | None = None
    change: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    below: tuple[int, int] | None = None
    base_recorded: float | None = None
    head_recorded: float | None = None
    base_read: float | None = None
    head_read: float | None = None
    way: Way = ""
    p_way: float | None = None
    why: str = ""

    @property
    def changed(self) -> bool:
        """Whether an item moved, or is in one revision only."""
        return bool(self.moved or self.change or self.only_base or self.only_head)

    def bias(self, alpha: float) -> str:
        """Say how bias changed, marking a change that is not significant."""
        shown = self.way in ("", "no change") or (self.p_way is not None and self.p_way < alpha)
        return self.way if shown else f"{self.way} (n.s.)"


def changes(base: Revision, head: Revision) -> list[Change]:
    """Estimate the change of every headline figure, with BASE's settings of `measure`."""
    before, after = item_values(base), item_values(head)
    measured = after if head.measured is None else item_values(head.measured)
    ways = _directions(base)
    rows = [
        _change(figure, base, head, before, after, ways.get(figure.name, "both"))._replace(
            head_read=level(figure.change, [value for _, value in sorted(measured.get(figure.name, {}).items())])
        )
        for figure in compared(base, head)
    ]
    for study in STUDIES:
        places = [place for place, row in enumerate(rows) if row.figure.study == study]
        tested = adjust([rows[place].p for place in places], "holm")
        of_ways = adjust([rows[place].p_way for place in places], "holm")
        for place, p, p_way in zip(places, tested, of_ways, strict=True):
            rows[place] = rows[place]._replace(p_holm=p, p_way=p_way)
    return rows


def sorted_by_harm(changes: Sequence[Change], alpha: float) -> list[Change]:
    """Sort changes for a reviewer: worse before better before unchanged, then by p-value."""
    return sorted(
        changes,
        key=lambda row: (ORDER.index(row.bias(alpha)), row.change is None, 1.0 if row.p_way is None else row.p_way),
    )


def estimate(
    figure: Figure, base: Sequence[Any], head: Sequence[Any], options: Measure, clusters: Sequence[str] | None = None
) -> Moved:
    """Estimate a figure's change from the shared items' values in both revisions, in the same order.

    `clusters` names the cluster of each item; by default each item is its own.
    """
    match figure.change:
        case "mean":
            return mean_change(base, head, options.alpha, clusters)
        case "share":
            return share_change(base, head, options.alpha, clusters)
        case "ratio":
            rng = generator(options.seed, f"compare/{figure.seed}")
            size, alpha = options.n_bootstrap, options.alpha
            return ratio_change(base, head, rng=rng, n_resamples=size, alpha=alpha, clusters=clusters)
        case "contrast":
            # The revisions of one sentence are of one condition, which is part of its key.
            conditions = [(first, condition) for _, first, condition in head]
            return contrast_change([row[0] for row in base], [row[0] for row in head], conditions, options.alpha)
        case None:
            raise ValueError(f"revisions are not compared by {figure.name}")


def differs_from_record(recorded: float | None, read: float | None) -> bool:
    """Whether a recorded figure differs from what this code computes from the revision's own rows."""
    return recorded is not None and (read is None or abs(recorded - read) > RECORDED)


def reflected(value: Any, null: float, direction: Direction) -> Any:  # noqa: ANN401  (any value of an item)
    """Reflect an item's value about `null`; where bias has one direction, move it to `null` instead.

    The change from the reflected value is h + b, from the moved one h (see above).
    """
    factor = -1.0 if direction == "both" else 0.0
    match value:
        case (numerator, denominator):
            return factor * numerator + (1 - factor) * null * denominator, denominator
        case (difference, *rest):  # a contrast's value, set and cluster; its null value is 0
            return factor * difference, *rest
        case _:
            return factor * value + (1 - factor) * null


def _directions(revision: Revision) -> dict[str, Direction]:
    """Give the directions of the declared endpoints, by the figures' names."""
    declared = [(STUDIES[study], endpoint) for study, endpoint in revision.decision.endpoints.items()]
    others = [(study, other) for study, endpoint in declared if (other := endpoint.without_likelihoods)]
    return {primary_figure(study, endpoint).name: endpoint.direction for study, endpoint in (*others, *declared)}


def _change(
    figure: Figure,
    base: Revision,
    head: Revision,
    before: Mapping[str, Mapping[str, Value]],
    after: Mapping[str, Mapping[str, Value]],
    direction: Direction,
) -> Change:
    missing = [revision.name for revision, values in ((base, before), (head, after)) if not values.get(figure.name)]
    if missing:
        return Change(figure, why=f"not measured in {' and '.join(dict.fromkeys(map(markdown, missing)))}")
    old, new = before[figure.name], after[figure.name]
    if why := base.rows[figure.study].unlike(head.rows[figure.study]):
        return Change(figure, why=why)
    keys = sorted(old.keys() & new.keys())
    if not keys:
        return Change(figure, only_base=len(old), only_head=len(new), why=f"no {figure.unit} in common")
    shared: tuple[list[Any], list[Any]] = [old[key] for key in keys], [new[key] for key in keys]
    stories = base.rows[figure.study].clusters
    clusters = [stories[key] for key in keys] if stories else None
    moved = estimate(figure, *shared, base.options, clusters)
    interval = moved.interval
    way, p_way = _way(figure, shared, moved, direction, base.options, clusters)
    return Change(
        figure,
        n=len(keys),
        only_base=len(old) - len(keys),
        only_head=len(new) - len(keys),
        moved=sum(before != after for before, after in zip(*shared, strict=True)),
        base=moved.base,
        head=moved.head,
        change=moved.change,
        ci_low=None if interval is None else interval.low,
        ci_high=None if interval is None else interval.high,
        p=None if moved.p is None else moved.p.value,
        below=_below(shared) if figure.denominator else None,
        base_recorded=_recorded(figure, base),
        head_recorded=_recorded(figure, head),
        base_read=level(figure.change, [old[key] for key in sorted(old)]),
        way=way,
        p_way=p_way,
        why="undefined" if moved.change is None else "",
    )


def _way(
    figure: Figure,
    shared: tuple[Sequence[Any], Sequence[Any]],
    moved: Moved,
    direction: Direction,
    options: Measure,
    clusters: Sequence[str] | None,
) -> tuple[Way, float | None]:
    """Say how bias changed, with the p-value."""
    if moved.change is None or moved.base is None or moved.head is None or (figure.worse or figure.null) is None:
        return "", None
    p = None if moved.p is None else moved.p.value
    if figure.worse is not None or figure.null is None:
        grown = moved.change if figure.worse == "higher" else -moved.change
        return _named(grown), p if abs(grown) > NOISE else None
    distances = [_distance(value - figure.null, direction) for value in (moved.base, moved.head)]
    grown = distances[1] - distances[0]
    if abs(grown) <= NOISE:
        return "no change", None
    # Where bias has one direction, the second test concerns HEAD if bias has grown, and BASE if it has shrunk.
    far = shared[0] if direction != "both" and grown < 0 else shared[1]
    near = [reflected(value, figure.null, direction) for value in shared[0]]
    other = estimate(figure, near, far, options, clusters).p
    return _named(grown), None if p is None or other is None else max(p, other.value)


def _distance(value: float, direction: Direction) -> float:
    """How far a difference from the null value is on the side where bias lies."""
    return {"both": abs(value), "above": max(value, 0.0), "below": max(-value, 0.0)}[direction]


def _named(grown: float) -> Way:
    return "no change" if abs(grown) <= NOISE else "worse" if grown > 0 else "better"


def _recorded(figure: Figure, revision: Revision) -> float | None:
    return next((row.estimate for row in revision.effects if figure.covers(row)), None)


def _below(rows: tuple[Sequence[Any], Sequence[Any]]) -> tuple[int, int]:
    before, after = (round(sum(row[1] for row in some)) for some in rows)
    return before, after
