"""`metrics/equity.json`: the effects as nested finite scalars for `dvc metrics show` and `diff`.

`n_questions` and `baseline_accuracy`; then by family, city and attribute: `city` (the paper's pairing of group and
direction of attack), and in the crossed design `city_favourable` and `city_unfavourable`. `n_reference` and `n_other`
are counts of questions. A measure is an object with `n` and what is defined of `estimate`, `ci_low`, `ci_high` (over
questions), `neg_log10_p` and its adjusted values, and what is exact over the partitions: `partition_sd`, and for the
consistency ratio `partition_mean` and `partition_undefined`, a probability. Accuracies and consistencies are shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.effects import adjusted_by_family, figures, rounded
from equipoise.metrics.equity import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.core.records import Effect
    from equipoise.metrics.effects import Nested

COUNTS = ("n_reference", "n_other")
PARTITION = ("partition_mean", "partition_sd", "partition_undefined")


def equity_metrics(effects: Sequence[Effect]) -> Nested:
    """Nest the study's effects by family, city, attribute and measure."""
    adjusted = {
        "bonferroni": adjusted_by_family(effects, "bonferroni", FAMILIES),
        "bh": adjusted_by_family(effects, "fdr_bh", FAMILIES),
    }
    groups: dict[str, dict[str, dict[str, Effect]]] = {}
    for row in effects:
        groups.setdefault(row.family, {}).setdefault(row.group, {})[row.measure] = row
    baseline = groups.get("baseline", {}).get("all", {})
    nested: Nested = {"n_questions": max((row.n for row in baseline.values()), default=0)}
    nested |= {measure: figures(row, {}) for measure, row in sorted(baseline.items())}
    for family in FAMILIES:
        cities: dict[str, Nested] = {}
        for group, rows in sorted(groups.get(family, {}).items()):
            city, attribute = group.split("/")
            cities.setdefault(city, {})[attribute] = _group(rows, adjusted)
        if cities:
            nested[family] = dict(cities)
    return nested


def _group(rows: Mapping[str, Effect], adjusted: Mapping[str, Mapping[str, float]]) -> Nested:
    table: Nested = {name: round(rows[name].estimate or 0) for name in COUNTS}
    for measure in sorted(rows):
        if measure not in COUNTS and not measure.endswith(PARTITION):
            table[measure] = figures(rows[measure], adjusted) | _partition(rows, measure)
    return table


def _partition(rows: Mapping[str, Effect], measure: str) -> Nested:
    """Give what is known of a measure over the partitions."""
    found = {name: rows[f"{measure}_{name}"].estimate for name in PARTITION if f"{measure}_{name}" in rows}
    return {name: rounded(value) for name, value in found.items() if value is not None}
