"""Changes: each headline figure from one revision to another, over the items that both have."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from equipoise.compare.estimators import Moved, contrast_change, level, mean_change, ratio_change, share_change
from equipoise.compare.items import Values, item_clusters, item_values
from equipoise.compare.revisions import Revision
from equipoise.core.visible import markdown
from equipoise.metrics.headlines import STUDIES, Headline, compared
from equipoise.metrics.options import Measure
from equipoise.stats.bootstrap import generator
from equipoise.stats.multiplicity import adjust

RECORDED = 2e-6
"""How far a figure may be from the recorded one, which is rounded to six places."""


class Change(NamedTuple):
    """One figure under both revisions over the `n` items they share, and HEAD minus BASE.

    `moved` counts the shared items whose values differ; `only_base` and `only_head` those that one revision alone has.
    `base_recorded` and `head_recorded` are the effects that the revision recorded, over all items, `base_read` and
    `head_read` what this code computes from all rows. `below` are a ratio's two denominators, where they count
    something. Where there is no figure to compare, `why` says so. `p_holm` is adjusted over the figures of the study.
    """

    figure: Headline
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
    why: str = ""


def changes(base: Revision, head: Revision) -> list[Change]:
    """Estimate the change of every headline figure, with HEAD's settings of `measure`."""
    before, after = item_values(base), item_values(head)
    figures = compared(dict.fromkeys((*base.cities, *head.cities)))
    rows = [_change(figure, base, head, before, after) for figure in figures]
    for study in STUDIES:
        places = [place for place, row in enumerate(rows) if row.figure.study == study]
        for place, p in zip(places, adjust([rows[place].p for place in places], "holm"), strict=True):
            rows[place] = rows[place]._replace(p_holm=p)
    return rows


def estimate(
    figure: Headline,
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


def _change(
    figure: Headline, base: Revision, head: Revision, before: Mapping[str, Values], after: Mapping[str, Values]
) -> Change:
    missing = [revision.name for revision, found in ((base, before), (head, after)) if not found.get(figure.name)]
    if missing:
        return Change(figure, why=f"not measured in {' and '.join(dict.fromkeys(map(markdown, missing)))}")
    one, other = before[figure.name], after[figure.name]
    if figure.study == "stigma" and (mixed := sorted({fill.scorer for fill in (*base.fills, *head.fills)}))[1:]:
        return Change(figure, why=f"scorers {' and '.join(mixed)} are not on one scale")
    keys = sorted(one.keys() & other.keys())
    if not keys:
        return Change(figure, only_base=len(one), only_head=len(other), why=f"no {figure.unit} in common")
    shared: tuple[list[Any], list[Any]] = [one[key] for key in keys], [other[key] for key in keys]
    stories = item_clusters(head).get(figure.study)
    moved = estimate(figure, *shared, head.options, [stories[key] for key in keys] if stories else None)
    interval = moved.interval
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
        head_read=level(figure.change, [other[key] for key in sorted(other)]),
        why="undefined" if moved.change is None else "",
    )


def _recorded(figure: Headline, revision: Revision) -> float | None:
    return next((row.estimate for row in revision.effects if figure.covers(row)), None)


def _below(rows: tuple[Sequence[Any], Sequence[Any]]) -> tuple[int, int]:
    before, after = (round(sum(row[1] for row in some)) for some in rows)
    return before, after
