"""Changes: each headline figure from one revision to another, over the items that both have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from equipoise.compare.estimators import Moved, contrast_change, level, mean_change, ratio_change, share_change
from equipoise.compare.figures import STUDIES, Figure, Values, item_values, known_figures
from equipoise.stats.bootstrap import generator
from equipoise.stats.multiplicity import adjust

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from equipoise.compare.revisions import Revision
    from equipoise.metrics.silent import SilentBiasOptions

RECORDED = 2e-6
"""How far a figure may lie from the recorded one, which is rounded to six places."""


class Change(NamedTuple):
    """One figure under both revisions over the `n` items they share, and HEAD less BASE.

    `moved` counts the shared items that do not give the same; `only_base` and `only_head` those that one revision alone
    has. `base_recorded` and `head_recorded` are what the metrics files say, over all items, `base_read` and `head_read`
    what this code makes of all rows. `below` are a ratio's two denominators, where they count something. Where there is
    no figure to compare, `why` says so. `p_holm` is adjusted over the figures of the study.
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
    why: str = ""


def changes(base: Revision, head: Revision) -> list[Change]:
    """Estimate the change of every headline figure, with the settings of `measure` that HEAD has."""
    before, after = item_values(base), item_values(head)
    cities = dict.fromkeys((*base.cities, *head.cities))
    rows = [_change(figure, base, head, before, after) for figure in known_figures(cities)]
    for study in STUDIES:
        places = [place for place, row in enumerate(rows) if row.figure.study == study]
        for place, p in zip(places, adjust([rows[place].p for place in places], "holm"), strict=True):
            rows[place] = rows[place]._replace(p_holm=p)
    return rows


def _change(
    figure: Figure, base: Revision, head: Revision, before: Mapping[str, Values], after: Mapping[str, Values]
) -> Change:
    missing = [revision.name for revision, found in ((base, before), (head, after)) if not found.get(figure.name)]
    if missing:
        return Change(figure, why=f"not measured in {' and '.join(dict.fromkeys(missing))}")
    one, other = before[figure.name], after[figure.name]
    if figure.study == "stigma" and (mixed := sorted({fill.scorer for fill in (*base.fills, *head.fills)}))[1:]:
        return Change(figure, why=f"scorers {' and '.join(mixed)} are not on one scale")
    shared = sorted(one.keys() & other.keys())
    if not shared:
        return Change(figure, only_base=len(one), only_head=len(other), why=f"no {figure.unit} in common")
    moved = estimate(figure, [one[key] for key in shared], [other[key] for key in shared], head.options)
    interval = moved.interval
    return Change(
        figure,
        n=len(shared),
        only_base=len(one) - len(shared),
        only_head=len(other) - len(shared),
        moved=sum(one[key] != other[key] for key in shared),
        base=moved.base,
        head=moved.head,
        change=moved.change,
        ci_low=None if interval is None else interval.low,
        ci_high=None if interval is None else interval.high,
        p=None if moved.p is None else moved.p.value,
        below=_below(figure, [one[key] for key in shared], [other[key] for key in shared]),
        base_recorded=_recorded(figure, base.metrics),
        head_recorded=_recorded(figure, head.metrics),
        base_read=level(figure.kind, [one[key] for key in sorted(one)]),
        head_read=level(figure.kind, [other[key] for key in sorted(other)]),
        why="undefined" if moved.change is None else "",
    )


def estimate(figure: Figure, base: Sequence[Any], head: Sequence[Any], options: SilentBiasOptions) -> Moved:
    """Estimate a figure's change from what each shared item gives under either revision, in one order."""
    match figure.kind:
        case "mean":
            return mean_change(base, head, options.alpha)
        case "share":
            return share_change(base, head, options.alpha)
        case "ratio":
            rng = generator(options.seed, f"compare/{figure.name}")
            return ratio_change(base, head, rng=rng, n_resamples=options.n_bootstrap, alpha=options.alpha)
        case "contrast":
            # The revisions of one sentence are of one condition, which is part of its key.
            clusters = [(first, condition) for _, first, condition in head]
            return contrast_change([row[0] for row in base], [row[0] for row in head], clusters, options.alpha)


def differs_from_record(recorded: float | None, read: float | None) -> bool:
    """Whether a recorded figure is not what this code reads from the revision's own rows."""
    return recorded is not None and (read is None or abs(recorded - read) > RECORDED)


def _recorded(figure: Figure, metrics: Mapping[str, Mapping[str, Any]]) -> float | None:
    table: Any = metrics.get(figure.study, {})
    for name in (*figure.path, "estimate"):
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, float | int) else None


def _below(figure: Figure, base: Sequence[Any], head: Sequence[Any]) -> tuple[int, int] | None:
    if not figure.below:
        return None
    return round(sum(row[1] for row in base)), round(sum(row[1] for row in head))
