"""One pair's answers after other reasoning, laid out for `equipoise show`: the four cells, and what they add up to.

What the cells are, and how they split the effect, is defined in `equipoise.studies.vignettes.swap`.
"""

from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from equipoise.core.display import number, signed
from equipoise.materials.pairs import Pair
from equipoise.materials.vignette import ROLES
from equipoise.studies.vignettes.swap import COURSE, PARTS, cells, log_odds, split, stereotyped

ARMS = {role[0]: role for role in ROLES}
"""The arms by their letters in the cells."""
HEADS = {
    "nats": "After each case and reasoning, the log odds of the documented error (nats)",
    "stereotyped": "After each case and reasoning, 1 for the stereotyped answer, 0 for another",
}


def answers_split(pair: Pair) -> dict[str, Any] | None:
    """Give a pair's cells and their split as in the JSON output; None if no answer was read again.

    `cells` has the answer by case and reasoning, `blinded` by case and blinded reasoning, `unreasoned` by case; each is
    None if a cell is missing. The split is None if an arm's own answer has no outcome. The unit is nats or, if an arm's
    own answer has no log odds, 1 for a stereotyped answer and 0 for any other.
    """
    if not pair.rereads:
        return None
    outcome = stereotyped if pair.shift is None else log_odds
    effect = split(pair, outcome)
    without = pair.rereads.get("unreasoned")
    return {
        "unit": "stereotyped" if pair.shift is None else "nats",
        "cells": _nested(cells(pair, outcome)),
        "blinded": _nested(cells(pair, outcome, "blinded")),
        "unreasoned": without and {role: outcome(arm) for role, arm in zip(ROLES, without, strict=True)},
        "split": effect and {name: effect.get(name) for name in PARTS},
    }


def split_table(pair: Pair) -> Group | None:
    """Lay out the cells, with a row per case and a column per reasoning, then the split; None without rereadings."""
    answers = answers_split(pair)
    if answers is None:
        return None
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column("case \\ reasoning", no_wrap=True)
    columns = [(name, role) for name in ("cells", "blinded") if answers[name] for role in ROLES]
    for name, role in columns:
        grid.add_column(f"blinded,\n{role}" if name == "blinded" else f"about\n{role}", justify="right")
    if answers["unreasoned"]:
        grid.add_column("none", justify="right")
    for case in ROLES:
        values = [answers[name][case][role] for name, role in columns]
        values += [answers["unreasoned"][case]] if answers["unreasoned"] else []
        grid.add_row(case, *("undefined" if value is None else number(value) for value in values))
    return Group(Text(HEADS[answers["unit"]]), grid, *map(Text, _lines(answers["split"])))


def _lines(effect: dict[str, float | None] | None) -> list[str]:
    """Describe the split: its parts, the part through blinded reasoning, and the gaps after shares of the reasoning."""
    if effect is None:
        return ["whole effect undefined: an arm's own answer has no log odds"]
    lines = [f"whole effect {signed(effect['total'] or 0.0)}"]
    around, through, interaction = (effect[name] for name in ("around", "through", "interaction"))
    if around is not None and through is not None and interaction is not None:
        lines[0] += f" = around {signed(around)}, through {signed(through)}; interaction {signed(interaction)}"
    if (blinded := effect["through_blinded"]) is not None:
        lines.append(f"through, both reasonings blinded: {signed(blinded)}")
    gaps = [f"{_when(name)} {signed(gap)}" for name, part in COURSE.items() if (gap := effect[part]) is not None]
    return [*lines, f"whole effect if asked {', '.join(gaps)}"] if gaps else lines


def _when(reading: str) -> str:
    return "without reasoning" if reading == "unreasoned" else f"after {reading.removeprefix('early-')}\u00a0%"


def _nested(values: dict[tuple[str, str], float] | None) -> dict[str, dict[str, float]] | None:
    """Nest the cells by the role of the case, then by that of the reasoning."""
    if values is None:
        return None
    return {case: {role: values[first, second] for second, role in ARMS.items()} for first, case in ARMS.items()}
