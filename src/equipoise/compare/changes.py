"""Changes: each headline figure from one revision to another, over the items that both have, and whether it got worse.

**Worse and better.** Of a figure with a null value, bias is its distance from that value; where the study's endpoint
declares a direction, its distance on that side. With b and h the differences of both revisions from the null value,

    h² - b² = (h - b)(h + b),

so that the distance has grown only if h - b and h + b are both above 0 or both below it: the larger of the two
p-values tests it (an intersection-union test: Berger 1982, Technometrics 24:295-300). On one side it has grown only if
h - b and h are both on that side, and shrunk only if b - h and b are. Of a rate, more is worse; of an accuracy, less.
p-values are adjusted by Holm's method over the figures of a study.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from equipoise.compare.estimators import NOISE, Moved, contrast_change, mean_change, ratio_change, share_change
from equipoise.compare.items import compared, item_clusters, item_values
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
"""Which way bias changed; empty of a figure that says nothing about bias, and where nothing was compared."""
ORDER = ("worse", "worse (n.s.)", "", "better (n.s.)", "better", "no change")
"""What a reviewer sees first; n.s. is not significant."""


class Change(NamedTuple):
    """One figure under both revisions over the `n` items they share, and HEAD minus BASE.

    `moved` counts the shared items whose values differ; `only_base` and `only_head` those that one revision alone has.
    `base_recorded` and `head_recorded` are the effects that the revision recorded, over all items, `base_read` and
    `head_read` what this code computes from all rows. `below` are a ratio's two denominators, where they count
    something. Where there is no figure to compare, `why` says so. `p_holm` is adjusted over the figures of the study.
    `way` is which way bias changed, and `p_way` the p-value of that, adjusted likewise.
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
        """Whether an item moved, or is of one revision alone."""
        return bool(self.moved or self.change or self.only_base or self.only_head)

    def bias(self, alpha: float) -> str:
        """Name which way bias changed, and whether that is not significant."""
        shown = self.way in ("", "no change") or (self.p_way is not None and self.p_way < alpha)
        return self.way if shown else f"{self.way} (n.s.)"


def changes(base: Revision, head: Revision) -> list[Change]:
    """Estimate the change of every headline figure, with HEAD's settings of `measure`."""
    before, after = item_values(base), item_values(head)
    measured = after if head.measured is None else item_values(head.measured)
    ways = _directions(base)
    rows = [
        _change(figure, base, head, before, after, ways.get(figure.name, "both"))._replace(
            head_read=level(figure.change, [one for _, one in sorted(measured.get(figure.name, {}).items())])
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
    """Sort changes for a reviewer: what got worse first, the surest first, and what did not change last."""
    return sorted(
        changes,
        key=lambda row: (ORDER.index(row.bias(alpha)), row.change is None, 1.0 if row.p_way is None else row.p_way),
    )


def estimate(
    figure: Figure,
    base: Sequence[Any],
    head: Sequence[Any],
    options: Measure,
    clusters: Sequence[str] | None = None,
) -> Moved:
    """Estimate a figure's change from the values of each shared item under both revisions, in the same order.

    `clusters` names the cluster of each item; without, each is its own.
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
    """Whether a recorded figure is not what this code computes from the revision's own rows."""
    return recorded is not None and (read is None or abs(recorded - read) > RECORDED)


def reflected(value: Any, null: float, direction: Direction) -> Any:  # noqa: ANN401  (any value of an item)
    """Give an item's value whose figure is as far from `null` on the other side; of one direction, one at `null`.

    The change from it is h + b, or h (see above).
    """
    factor = -1.0 if direction == "both" else 0.0
    match value:
        case (one, other):  # a ratio's numerator and denominator
            return factor * one + (1 - factor) * null * other, other
        case (one, *rest):  # a contrast's value, set and cluster; its null value is 0
            return factor * one, *rest
        case _:
            return factor * value + (1 - factor) * null


def _directions(revision: Revision) -> dict[str, Direction]:
    """Give the directions of the declared endpoints, by the figures' names."""
    return {
        primary_figure(STUDIES[study], one).name: one.direction for study, one in revision.decision.endpoints.items()
    }


def _change(
    figure: Figure,
    base: Revision,
    head: Revision,
    before: Mapping[str, Mapping[str, Value]],
    after: Mapping[str, Mapping[str, Value]],
    direction: Direction,
) -> Change:
    missing = [revision.name for revision, found in ((base, before), (head, after)) if not found.get(figure.name)]
    if missing:
        return Change(figure, why=f"not measured in {' and '.join(dict.fromkeys(map(markdown, missing)))}")
    one, other = before[figure.name], after[figure.name]
    if why := base.rows[figure.study].unlike(head.rows[figure.study]):
        return Change(figure, why=why)
    keys = sorted(one.keys() & other.keys())
    if not keys:
        return Change(figure, only_base=len(one), only_head=len(other), why=f"no {figure.unit} in common")
    shared: tuple[list[Any], list[Any]] = [one[key] for key in keys], [other[key] for key in keys]
    stories = item_clusters(head).get(figure.study)
    named = [stories[key] for key in keys] if stories else None
    moved = estimate(figure, *shared, head.options, named)
    interval = moved.interval
    way, p_way = _way(figure, shared, moved, direction, head.options, named)
    return Change(
        figure,
        n=len(keys),
        only_base=len(one) - len(keys),
        only_head=len(other) - len(keys),
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
        base_read=level(figure.change, [one[key] for key in sorted(one)]),
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
    """Tell which way bias changed, with the p-value of that."""
    if moved.change is None or moved.base is None or moved.head is None or (figure.worse or figure.null) is None:
        return "", None
    p = None if moved.p is None else moved.p.value
    if figure.worse is not None or figure.null is None:
        grown = moved.change if figure.worse == "higher" else -moved.change
        return _named(grown), p if abs(grown) > NOISE else None
    distances = [_distance(one - figure.null, direction) for one in (moved.base, moved.head)]
    grown = distances[1] - distances[0]
    if abs(grown) <= NOISE:
        return "no change", None
    # On one side the other test is of HEAD where bias has grown, of BASE where it has shrunk.
    far = shared[0] if direction != "both" and grown < 0 else shared[1]
    other = estimate(figure, [reflected(one, figure.null, direction) for one in shared[0]], far, options, clusters).p
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
