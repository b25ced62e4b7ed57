"""How many pairs and cases a set of vignettes holds, by dimension, tier and combination."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from equipoise.core.records import Vignette

Counts = dict[str, dict[str, dict[str, int]]]
"""Family (overall, dimension, tier, combination) → group → `n_pairs` and `n_cases`."""


def counts(vignettes: Iterable[Vignette]) -> Counts:
    """Count pairs and cases; under dimension those that vary it alone, under combination those that vary several."""
    pairs: dict[tuple[str, str], set[str]] = {}
    cases: dict[tuple[str, str], int] = {}
    for row in vignettes:
        family = "dimension" if row.tier == "single" else "combination"
        for group in (("overall", "all"), (family, row.combination), ("tier", row.tier)):
            pairs.setdefault(group, set()).add(row.pair)
            cases[group] = cases.get(group, 0) + 1
    result: Counts = {"overall": {}, "dimension": {}, "tier": {}, "combination": {}}
    for family, name in sorted(pairs):
        result[family][name] = {"n_pairs": len(pairs[family, name]), "n_cases": cases[family, name]}
    return result


def counts_table(counted: Counts) -> Table:
    """Lay the counts out as a table for the terminal, one row per group."""
    from rich.table import Table

    table = Table("family", "group", title="Vignettes")
    table.add_column("pairs", justify="right")
    table.add_column("cases", justify="right")
    for family, groups in counted.items():
        for index, (group, n) in enumerate(groups.items()):
            last = index == len(groups) - 1
            table.add_row(family if index == 0 else "", group, str(n["n_pairs"]), str(n["n_cases"]), end_section=last)
    return table
