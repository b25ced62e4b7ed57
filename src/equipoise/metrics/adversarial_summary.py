"""`metrics/adversarial.json`: the effects as nested finite scalars for `dvc metrics show` and `diff`.

`n_questions`; then by family and group: `attribute` (race, gender, ses), `control` (original against neutral),
`overall` (crossed design, over the attributes), `arm` (original, neutral, each variant), `triggering` and `violation`
(of the attempts). A measure is an object with `n` and what is defined of `estimate`, `ci_low`, `ci_high`,
`neg_log10_p` and its adjusted values. A pair has its four `cells` as counts; `gap` also has `neg_log10_p_chi2_cc`, and
a measure whose power was computed has `minimum_detectable_effect`. Rates and differences are shares, in [-1, 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.metrics.adversarial import FAMILIES
from equipoise.metrics.effects import adjusted_by_family, figures, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from equipoise.core.records import Effect
    from equipoise.metrics.effects import Nested

ORDER = ("attribute", "control", "overall", "arm", "triggering", "violation")
CELLS = ("both", "only_privileged", "only_unprivileged", "only_original", "only_neutral", "neither")
DETECTABLE = "_minimum_detectable_effect"


def adversarial_metrics(effects: Sequence[Effect]) -> Nested:
    """Nest the study's effects by family, group and measure."""
    adjusted = {
        "bonferroni": adjusted_by_family(effects, "bonferroni", FAMILIES),
        "bh": adjusted_by_family(effects, "fdr_bh", FAMILIES),
    }
    groups: dict[str, dict[str, dict[str, Effect]]] = {}
    for row in effects:
        groups.setdefault(row.family, {}).setdefault(row.group, {})[row.measure] = row
    nested: Nested = {"n_questions": max((row.n for row in effects if row.measure == "accuracy"), default=0)}
    for family in ORDER:
        members = groups.get(family, {})
        tables: Nested = {name: _group(members[name], adjusted) for name in sorted(members)}
        if tables:
            nested[family] = tables["all"] if family == "overall" else tables
    return nested


def _group(rows: Mapping[str, Effect], adjusted: Mapping[str, Mapping[str, float]]) -> Nested:
    table: Nested = {}
    counts = {name: rows[name] for name in CELLS if name in rows}
    if counts:
        table["cells"] = {name: round((row.estimate or 0.0) * row.n) for name, row in counts.items()}
    for measure in sorted(rows.keys() - counts.keys()):
        if measure.endswith((DETECTABLE, "_chi2_cc", "_alarm")):
            continue
        table[measure] = {
            **figures(rows[measure], adjusted),
            **_p_value(rows.get(f"{measure}_chi2_cc")),
            **_figure("minimum_detectable_effect", rows.get(f"{measure}{DETECTABLE}")),
            **_flag("alarm", rows.get(f"{measure}_alarm")),
        }
    return table


def _p_value(row: Effect | None) -> Nested:
    return {} if row is None or row.neg_log10_p is None else {"neg_log10_p_chi2_cc": rounded(row.neg_log10_p)}


def _figure(name: str, row: Effect | None) -> Nested:
    return {} if row is None or row.estimate is None else {name: rounded(row.estimate)}


def _flag(name: str, row: Effect | None) -> Nested:
    return {} if row is None or row.estimate is None else {name: int(row.estimate)}
