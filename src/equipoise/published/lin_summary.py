"""`metrics/stigma.json`: the effects as nested finite scalars for `dvc metrics show` and `diff`.

`rq1_mental`, `rq1_control`, `rq1_difference` and the same of `rq2`, by group (phase or dimension, then `all`): for each
measure an object with `n` and what is defined of `estimate`, `ci_low`, `ci_high`, `neg_log10_p` and its adjusted values
`neg_log10_p_holm`, `neg_log10_p_bonferroni` and `neg_log10_p_bh`. `disparity` also has `d_pooled`, `d_z` (where the two
arms are pairs), and in a difference `neg_log10_p_welch`; a clustered disparity has `minimum_detectable_effect`. `n`
counts sentences, in clustered measures conditions. Probabilities lie in [0, 1], disparities in [-1, 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.effects import adjusted_by_family, figures, rounded
from equipoise.metrics.stigma import ALL, FAMILIES, tested_together

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.core.records import Effect
    from equipoise.metrics.effects import Nested

MEASURES = (
    "female",
    "male",
    "unspecified",
    "disparity",
    "disparity_clustered",
    "disparity_corrected",
    "disparity_corrected_clustered",
)
DETECTABLE = "_minimum_detectable_effect"


def stigma_metrics(effects: Sequence[Effect]) -> Nested:
    """Nest the study's effects by family, group and measure."""
    together = tested_together(effects)
    adjusted = {
        "bonferroni": adjusted_by_family(together, "bonferroni", FAMILIES),
        "bh": adjusted_by_family(together, "fdr_bh", FAMILIES),
    }
    families: dict[str, dict[str, dict[str, Effect]]] = {}
    for row in effects:
        families.setdefault(row.family, {}).setdefault(row.group, {})[row.measure] = row
    nested: Nested = {}
    for family in FAMILIES:
        members = families.get(family, {})
        tables: Nested = {name: _group(members[name], adjusted) for name in sorted(members, key=_all_last)}
        if tables:
            nested[family] = tables
    return nested


def _group(rows: Mapping[str, Effect], adjusted: Mapping[str, Mapping[str, float]]) -> Nested:
    table: Nested = {}
    for measure in MEASURES:
        if measure in rows:
            table[measure] = {
                **figures(rows[measure], adjusted),
                **_figure("minimum_detectable_effect", rows.get(f"{measure}{DETECTABLE}")),
                **(_beside(rows) if measure == "disparity" else {}),
            }
    return table


def _beside(rows: Mapping[str, Effect]) -> Nested:
    """Lay out what stands beside the published disparity: both sizes of effect, and Welch's test."""
    welch = rows.get("disparity_welch")
    p = {} if welch is None or welch.neg_log10_p is None else {"neg_log10_p_welch": rounded(welch.neg_log10_p)}
    return {**_figure("d_pooled", rows.get("d_pooled")), **_figure("d_z", rows.get("d_z")), **p}


def _figure(name: str, row: Effect | None) -> Nested:
    return {} if row is None or row.estimate is None else {name: rounded(row.estimate)}


def _all_last(name: str) -> tuple[bool, str]:
    return name == ALL, name
