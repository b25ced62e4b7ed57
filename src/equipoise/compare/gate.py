"""Gates: opt-in conditions on changes, each of which fails only where the change is beyond its amount and significant.

A gate `FIGURE>AMOUNT` is about a rise by more than the amount, `FIGURE<AMOUNT` about a fall by more than it. It fails
where the change goes beyond the amount and its p-value, Holm-adjusted over the gated figures, is below alpha. A gate
whose figure has no change or no test never fails, and says so.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from equipoise.compare.text import signed
from equipoise.core.errors import EquipoiseError
from equipoise.stats.multiplicity import adjust

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.compare.changes import Change

FORM = re.compile(r"\s*(?P<figure>[\w.-]+)\s*(?P<operator>[<>])\s*(?P<amount>\d+\.?\d*|\.\d+)\s*")
NEAREST = 3
"""How many names an error offers."""


class Gate(NamedTuple):
    """A condition: the figure's name, the direction, and by how much it may change in it."""

    figure: str
    operator: Literal["<", ">"]
    amount: float

    def __str__(self) -> str:
        """Write the gate as it is given on the command line."""
        return f"{self.figure}{self.operator}{self.amount:g}"


class Verdict(NamedTuple):
    """What became of a gate, and why."""

    gate: Gate
    failed: bool
    reason: str


def parse_gate(text: str, figures: Sequence[str]) -> Gate:
    """Read `FIGURE>AMOUNT` or `FIGURE<AMOUNT`; EquipoiseError on another form or figure, naming the nearest ones."""
    found = FORM.fullmatch(text)
    if found is None:
        message = (
            f"--fail-on {text!r}: write FIGURE>AMOUNT for a rise or FIGURE<AMOUNT for a fall by more than AMOUNT, "
            "such as 'adversarial.race.gap>0.02'"
        )
        raise EquipoiseError(message)
    name = found["figure"]
    if name not in figures:
        nearest = difflib.get_close_matches(name, figures, NEAREST, 0.0)
        message = f"--fail-on {text!r}: no such figure; the nearest are {', '.join(nearest)}"
        raise EquipoiseError(message)
    return Gate(name, ">" if found["operator"] == ">" else "<", float(found["amount"]))


def judge_gates(gates: Sequence[Gate], changes: Sequence[Change], alpha: float) -> list[Verdict]:
    """Judge every gate; p-values are adjusted over the gated figures, each counted once."""
    by_name = {change.figure.name: change for change in changes}
    gated = sorted({gate.figure for gate in gates})
    adjusted = dict(zip(gated, adjust([by_name[name].p for name in gated], "holm"), strict=True))
    over = f"{len(gated)} gated figure{'s' if len(gated) > 1 else ''}"
    return [_verdict(gate, by_name[gate.figure], adjusted[gate.figure], alpha, over) for gate in gates]


def _verdict(gate: Gate, change: Change, p: float | None, alpha: float, over: str) -> Verdict:
    if change.change is None:
        return Verdict(gate, failed=False, reason=f"not judged: {change.why}")
    beyond = change.change > gate.amount if gate.operator == ">" else change.change < -gate.amount
    size = f"the change, {signed(change.change)}, is{'' if beyond else ' not'} beyond {gate.amount:g}"
    if not beyond:
        return Verdict(gate, failed=False, reason=f"passed: {size}")
    if p is None:
        return Verdict(gate, failed=False, reason=f"not judged: {size}, and has no test")
    failed = p < alpha
    significance = f"p = {p:.3g} (Holm over {over}) is {'below' if failed else 'not below'} {alpha:g}"
    return Verdict(gate, failed=failed, reason=f"{'failed' if failed else 'passed'}: {size}, {significance}")
