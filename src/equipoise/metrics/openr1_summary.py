"""`metrics/openr1.json`: the effects as nested finite scalars for `dvc metrics show` and `diff`.

`n_pairs`, then `overall`, `dimension` by name, and `control`. In each `n_pairs`, `n_unanswered` and `n_cut_off`, and an
object for each measure with `n` and what is defined of `estimate`, `ci_low`, `ci_high`, `neg_log10_p` and its adjusted
values. `n` counts pairs, in `overall` items. Where the track was not run, `n_pairs` is 0 and nothing else is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.effects import adjusted_by_family, figures, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.core.records import Effect
    from equipoise.metrics.effects import Nested

FAMILIES = ("overall", "dimension", "control")
COUNTS = ("unanswered", "cut_off")
DETECTABLE = "_minimum_detectable_effect"


def openr1_metrics(effects: Sequence[Effect]) -> Nested:
    """Nest the track's effects by family, group and measure."""
    adjusted = {"bonferroni": adjusted_by_family(effects, "bonferroni"), "bh": adjusted_by_family(effects, "fdr_bh")}
    groups: dict[str, dict[str, dict[str, Effect]]] = {}
    for row in effects:
        groups.setdefault(row.family, {}).setdefault(row.group, {})[row.measure] = row
    nested: Nested = {"n_pairs": sum(row.n for row in effects if row.measure == "unanswered" and row.group != "all")}
    for family in FAMILIES:
        tables: Nested = {name: _group(rows, adjusted) for name, rows in sorted(groups.get(family, {}).items())}
        if tables:
            nested[family] = tables if family == "dimension" else tables["all"]
    return nested


def _group(rows: Mapping[str, Effect], adjusted: Mapping[str, Mapping[str, float]]) -> Nested:
    table: Nested = {"n_pairs": rows["unanswered"].n}
    table |= {f"n_{name}": round(rows[name].estimate or 0) for name in COUNTS}
    for measure in sorted(rows):
        if measure in COUNTS or measure.endswith(DETECTABLE):
            continue
        detectable = rows.get(f"{measure}{DETECTABLE}")
        beside = {} if detectable is None or detectable.estimate is None else {"estimate": detectable.estimate}
        table[measure] = {
            **figures(rows[measure], adjusted),
            **({"minimum_detectable_effect": rounded(beside["estimate"])} if beside else {}),
        }
    return table
