"""Adjustment of p-values over a declared family of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from equipoise.stats.quantities import UNDERFLOW

if TYPE_CHECKING:
    from collections.abc import Sequence

Method = Literal["holm", "bonferroni", "fdr_bh"]


def adjust(p_values: Sequence[float | None], method: Method) -> list[float | None]:
    """Adjusted p-values of one family, in the order given; None stays None and does not count as a test.

    `holm` and `bonferroni` bound the probability of any false rejection, `fdr_bh` the expected share of false ones. A
    p-value below 1e-300 enters as 1e-300, so that its adjusted value is an upper bound, not 0.
    Source: Holm (1979), Scand J Stat 6:65-70; Benjamini & Hochberg (1995), JRSS B 57:289-300.
    """
    from statsmodels.stats.multitest import multipletests

    defined = [max(p, UNDERFLOW) for p in p_values if p is not None]
    if not defined:
        return [None] * len(p_values)
    adjusted = iter(multipletests(defined, method=method)[1])
    return [None if p is None else float(next(adjusted)) for p in p_values]
