"""Changes between two runs, and plans for the next run, as by `equipoise compare` and `equipoise plan`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.core.extras import extras_named
from equipoise.core.keys import numbered
from equipoise.core.tables import Table, require_new, required, rows_of
from equipoise.figures.frame import COLUMNS, Figures, frame_of, table

if TYPE_CHECKING:
    import pandas as pd

    from equipoise.compare.estimators import Moved
    from equipoise.figures.figure import Figure
    from equipoise.figures.options import Direction

CHANGED = (*COLUMNS, "base", "head", "moved")
DESIGNS = ("design", "margin", "clusters", "items", "samples")
ITEMS = ("item", "value")
ONLY = ("only_base", "only_head")
"""The numbers of the items that one side alone has."""
NOTE = "Estimates are head minus base, over the items that both have, paired by item."


def compare(base: pd.DataFrame | str, head: pd.DataFrame | str, *, alpha: float = 0.05) -> Figures:
    """Compare two runs over the items that both have: the change of each figure, with a paired interval and test.

    Args:
        base: the run to compare with, in one of three forms. Items: `item`, `value` (a number, or true and false for a
            share), and optionally `measure` (one figure each) and `cluster` (items of one story are not independent;
            those of `base` count).
            Answers: as for `adversarial`. In a clone of the repository, a revision: the name of a Git revision, an
            experiment, or `workspace` (needs `pip install 'equipoise[run]'`).
        head: the new run, in the same form.
        alpha: 1 − confidence level, for DataFrames; revisions use that of their params.yaml.

    Returns:
        One figure a row: `estimate` is head minus base, in the unit of the figure, with its interval, test and the
        p-value adjusted over the figures (Holm; for revisions, over those of a study), `base`, `head`, and `moved`, the
        number of items that differ. For revisions the figures are those of `equipoise compare`.

    Raises:
        EquipoiseError: a column is missing, a value is not a number, or nothing is shared; the message names the place.

    >>> import pandas as pd
    >>> base = pd.DataFrame({"item": ["a", "b", "c", "d"], "value": [0.1, 0.4, 0.2, 0.3]})
    >>> compare(base, base.assign(value=base.value + [0.2, 0.1, 0.2, 0.1])).frame.estimate.round(3).tolist()
    [0.15]
    """
    if isinstance(base, str) and isinstance(head, str):
        with extras_named():
            return _revisions(base, head)
    before, after = table(base, "base"), table(head, "head")
    rows = _answers(before, after, alpha) or _items(before, after, alpha)
    return Figures("Changes from base to head", frame_of(_adjusted(rows), CHANGED), (NOTE, *_lost(rows)))


def _revisions(base: str, head: str) -> Figures:
    from equipoise.compare.changes import changes
    from equipoise.compare.revisions import read_revision

    rows = [
        {
            "family": change.figure.study,
            "group": change.figure.group,
            "measure": change.figure.name,
            "estimate": change.change,
            "p_adjusted": change.p_holm,
            **{name: getattr(change, name) for name in ("n", "ci_low", "ci_high", "p", "base", "head", "moved", *ONLY)},
        }
        for change in changes(read_revision(base), read_revision(head))
        if change.n
    ]
    return Figures(f"Changes from {base} to {head}", frame_of(rows, CHANGED), (NOTE, *_lost(rows)))


def _lost(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Report for each figure how many items only one side has: the missing ones may be those that got worse."""
    for row in rows:
        if any(row[name] for name in ONLY):
            before, after = (row[name] for name in ONLY)
            yield f"{row['measure']}: {before} items of base and {after} of head have no counterpart."


def _answers(base: Table, head: Table, alpha: float) -> list[dict[str, Any]]:
    """Compare the figures of the study whose answers the tables have; empty for other tables."""
    from equipoise.pipeline.steps import part
    from equipoise.studies.registry import STUDIES

    for study in STUDIES.values():
        tables = part(study.name, "tables")
        if tables is not None and tables.is_answers(base) and tables.is_answers(head):
            before, after = tables.items(base, head)
            return [*_figures(study.figures, before, after, alpha)]
    return []


def _figures(
    figures: Iterable[Figure], base: Mapping[str, Any], head: Mapping[str, Any], alpha: float
) -> Iterator[dict[str, Any]]:
    """Compare each figure of both sides over their shared items."""
    from equipoise.compare.changes import estimate
    from equipoise.figures.options import Measure

    for figure in figures:
        before, after = figure.values(base), figure.values(head)
        if before and after:
            shared = _shared(figure.name, before, after)
            moved = estimate(figure, shared.base, shared.head, Measure(alpha=alpha))
            yield _change((figure.family, figure.group, figure.measure), shared, moved)


def _items(base: Table, head: Table, alpha: float) -> list[dict[str, Any]]:
    """Compare values by item: means, or shares if the values are true and false."""
    from equipoise.compare.estimators import mean_change, share_change

    sides = [_by_measure(side) for side in (base, head)]
    rows = []
    for measure in [name for name in sides[0] if name in sides[1]]:
        before, after = (side[measure] for side in sides)
        values = [{item: value for item, (value, _) in side.items()} for side in (before, after)]
        shared = _shared(measure, *values)
        shares = all(isinstance(value, bool) for side in values for value in side.values())
        clusters = [before[item][1] for item in shared.items]
        moved = (share_change if shares else mean_change)(shared.base, shared.head, alpha, clusters)
        rows.append(_change(("items", "all", measure), shared, moved))
    if not rows:
        names = [", ".join(side) for side in sides]
        raise EquipoiseError(f"no measure in common: base has {names[0]}, head {names[1]}: give the same figures")
    return rows


def _by_measure(given: Table) -> dict[str, dict[str, tuple[Any, str]]]:
    """Read the value and cluster of each item, by measure."""
    values: dict[str, dict[str, tuple[Any, str]]] = {}
    seen: dict[str, dict[str, str]] = {}
    for where, row in _items_of(given):
        item, measure = required(row, "item", where), str(row.get("measure") or "value")
        require_new(seen.setdefault(measure, {}), item, where, "item")
        cluster = item if row.get("cluster") is None else str(row["cluster"])
        values.setdefault(measure, {})[item] = (_number(row, where), cluster)
    return values


def _items_of(given: Table) -> list[tuple[str, dict[str, Any]]]:
    """Read the rows of a table of items with their places; refuse one without rows or without its columns."""
    rows = list(rows_of(given, f"one item a row, with {' and '.join(ITEMS)}"))
    if missing := [name for name in ITEMS if name not in rows[0][1]]:
        there = ", ".join(rows[0][1])
        raise EquipoiseError(f"{given.name}: no column {missing[0]!r}; there are {there}: rename or add it")
    return rows


def _number(row: Mapping[str, Any], where: str) -> float | bool:
    value = row["value"]
    if isinstance(value, bool):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if number != number or abs(number) == float("inf"):  # noqa: PLR0124  (NaN)
        raise EquipoiseError(f"{where}: column value: {value!r} is not a number: correct or delete the row")
    return number


class _Shared(NamedTuple):
    """The items of both sides, their values in each, and how many items one side alone has."""

    items: list[str]
    base: list[Any]
    head: list[Any]
    only_base: int
    only_head: int


def _shared(measure: str, base: Mapping[str, Any], head: Mapping[str, Any]) -> _Shared:
    items = sorted(base.keys() & head.keys())
    if not items:
        raise EquipoiseError(f"{measure}: no item in common: give the same items in base and head")
    values = [base[item] for item in items], [head[item] for item in items]
    return _Shared(items, *values, len(base) - len(items), len(head) - len(items))


def _change(place: tuple[str, str, str], shared: _Shared, moved: Moved) -> dict[str, Any]:
    """Lay out one figure's change as a row; `place` is its family, group and measure."""
    low, high = (None, None) if moved.interval is None else (moved.interval.low, moved.interval.high)
    return {
        **dict(zip(COLUMNS, place, strict=False)),
        "n": len(shared.items),
        "estimate": moved.change,
        "ci_low": low,
        "ci_high": high,
        "p": None if moved.p is None else moved.p.value,
        "base": moved.base,
        "head": moved.head,
        "moved": sum(old != new for old, new in zip(shared.base, shared.head, strict=True)),
        **{name: getattr(shared, name) for name in ONLY},
    }


def _adjusted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from equipoise.stats.multiplicity import adjust

    return [{**row, "p_adjusted": p} for row, p in zip(rows, adjust([row["p"] for row in rows], "holm"), strict=True)]


def plan(
    values: pd.DataFrame,
    *,
    margin: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    direction: Direction = "both",
) -> Figures:
    """Plan a study: how many items show that a mean lies within a margin, from the spread of an earlier run.

    The numbers are those of `equipoise plan`: for a model without any bias, by two one-sided t tests
    (`equipoise.stats.equivalence` has the sources). A model with some bias needs more.

    Args:
        values: one item a row: `item`, `value` (in the unit of the margin); optionally `cluster` (the story that items
            share) and `sample` (the number of a sampled reply, from 0; the same numbers for every item).
        margin: the largest difference from 0 that would be of no consequence; it has no default.
        power: the wanted probability of showing that the difference is within the margin.
        alpha: 1 − level of the interval.
        direction: the side on which a difference counts (above, below or both).

    Returns:
        `design` now: the margin that these items support; `design` needed: the clusters, items and samples per item for
        the given margin, first with one item a cluster, then with as many as now.

    Raises:
        EquipoiseError: a column is missing, a value is not a number, there is no margin, the items do not vary, or no
            number suffices.

    >>> import pandas as pd
    >>> values = pd.DataFrame({"item": list("abcdefgh"), "value": [0.3, -0.2, 0.1, 0.4, -0.3, 0.0, -0.1, 0.2]})
    >>> plan(values, margin=0.1).frame["items"].tolist()
    [8, 65]
    """
    from pydantic import ValidationError

    from equipoise.core.jsonl import fault
    from equipoise.figures.options import Component, Measure
    from equipoise.figures.plan import plan as planned
    from equipoise.figures.plan import spread_of

    if margin is None:
        raise EquipoiseError("plan: margin is missing: give the largest difference from 0 that is of no consequence")
    try:
        component = Component(margin=margin, why="given", direction=direction)
        options = Measure(alpha=alpha, power=power)
    except ValidationError as error:
        raise EquipoiseError(f"plan: {fault(error)}") from error
    measured, clusters = _sampled(table(values, "values", ITEMS))
    spread = spread_of(measured, clusters)
    if spread is None:
        raise EquipoiseError("values: too few items, or all equal: give the items of an earlier run, one item per row")
    made = planned(spread, component, alpha=options.alpha, power=options.power)
    now = {"design": "now", "margin": made.supported, "clusters": spread.clusters, "items": spread.items}
    rows = [now | {"samples": spread.samples}]
    rows += [
        {"design": "needed", "margin": margin, "clusters": need.clusters, "items": need.items, "samples": need.samples}
        for need in made.needs
    ]
    parts = f"between clusters {spread.between:.3g}, between items {spread.within:.3g}, between samples"
    bias = "These numbers are for a model without bias; a biased model needs more."
    notes = (f"Variance {parts} {spread.sampled:.3g}.", bias)
    return Figures(f"Items for a margin of {margin:g} with power {power:g}", frame_of(rows, DESIGNS), notes)


def _sampled(given: Table) -> tuple[dict[str, float], dict[str, str]]:
    """Read values and clusters by the key of each item's sample."""
    values: dict[str, float] = {}
    clusters: dict[str, str] = {}
    seen: dict[str, str] = {}
    for where, row in _items_of(given):
        item, sample = required(row, "item", where), row.get("sample")
        try:
            key = numbered(item, 0 if sample is None else int(sample))
        except (TypeError, ValueError):
            raise EquipoiseError(f"{where}: column sample: {sample!r} is not a whole number: count from 0") from None
        require_new(seen, key, where, "item")
        values[key] = float(_number(row, where))
        clusters[key] = item if row.get("cluster") is None else str(row["cluster"])
    return values, clusters
