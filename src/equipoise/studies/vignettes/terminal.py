"""Pairs of vignettes laid out for a terminal: a table of many, or a single pair with its arms side by side.

A pair's answers after other reasoning are laid out too: the four cells, and what they add up to
(`equipoise.studies.vignettes.swap`).

Markup in the texts of vignettes and models is printed literally.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from equipoise.core.display import number, signed
from equipoise.core.visible import line
from equipoise.figures.views import ArmView, PairView, Part
from equipoise.materials.judgement import ADMISSIONS, Judgement
from equipoise.materials.pair_rows import STEREOTYPED
from equipoise.materials.pairs import Pair
from equipoise.materials.vignette import ROLES
from equipoise.studies.vignettes.shown import ShownPair, margin
from equipoise.studies.vignettes.swap import COURSE, PARTS, cells, log_odds, split, stereotyped

NARROW = 100
"""Terminal width below which the arms are printed one above the other."""
DEMOGRAPHIC = "bold cyan"
NAMED = "bold yellow"
EVIDENCE = "underline"
BIASED = "bold red"
MARKS = ("»", "«")
"""Marks around the deciding sentence, visible without colours."""
SHORT = {STEREOTYPED: "error"}
"""Kinds of answers in the listing, whose lines have 80 columns: the error is the documented one."""
LEGEND = f"{MARKS[0]}…{MARKS[1]} the deciding sentence"


def listing(pairs: Sequence[ShownPair], *, margins: bool = False) -> Table:
    """Lay out pairs, one per row; with `margins`, that of the arm that the judge was less sure of.

    The column after each answer says whether its reasoning admits or denies the features, mentions them, or does not.
    """
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("pair", no_wrap=True)
    table.add_column("dimensions", overflow="fold")
    for column in ("marginalised", "reasoning", "privileged", "reasoning"):
        table.add_column(column, no_wrap=True)
    if margins:
        table.add_column("margin", justify="right", no_wrap=True)
    for pair in pairs:
        cells = [Text(line(pair.key)), Text(line(pair.pair.combination.replace("+", ", ")))]
        for arm in pair.arms:
            bias = pair.pair.biased and arm is pair.marginalised
            answer = SHORT.get(arm.judgement.answer, arm.judgement.answer)
            cells += [Text(answer, BIASED if bias else ""), Text(_consideration(arm.judgement))]
        if margins:
            cells.append(Text(f"{min(margin(arm.judgement) for arm in pair.arms):.3f}"))
        table.add_row(*cells)
    return table


def totals(pairs: Sequence[ShownPair], of: int) -> str:
    """Count the pairs listed, of all, the biased ones, and those moved by what their reasoning says about features."""
    biased = sum(pair.pair.biased for pair in pairs)
    moved = Counter(pair.pair.marginalised.admission for pair in pairs if pair.pair.moved)
    tally = ", ".join(f"{moved[admission]} {admission}" for admission in ADMISSIONS.values())
    return f"{len(pairs)} of {of} pairs: {biased} biased, {moved.total()} moved ({tally}); equipoise show KEY shows one"


def card(pair: PairView, width: int) -> Group:
    """Lay out one pair: its answers, then both arms, side by side if `width` allows it."""
    answers = f"expected: {pair.expected}; documented error: {pair.stereotyped}; distractors: {pair.distractors}"
    head = (
        Text.assemble((pair.key, "bold"), f" ({pair.combination}, {pair.tier}): {pair.outcome}"),
        Text(answers),
        Text(f"evidence: {pair.grounds}"),
        Text(),
    )
    arms = [_arm(arm) for arm in pair.arms]
    legend = (("demographics", DEMOGRAPHIC), "   ", ("the feature's names", NAMED), "   ", (LEGEND, EVIDENCE))
    return Group(*head, *(_align(arms) if width >= NARROW else _stack(arms)), Text.assemble(*legend))


def case_text(arm: ArmView) -> Text:
    """Give the case, its demographics highlighted."""
    return _highlight(arm.case, DEMOGRAPHIC)


def reply_text(arm: ArmView) -> Text:
    """Give the reasoning, with the names of the patient's features highlighted and the deciding sentence marked."""
    text = _highlight(arm.before, NAMED)
    if arm.evidence:
        evidence = _highlight(arm.evidence, NAMED)
        evidence.stylize(EVIDENCE)
        text.append(MARKS[0]).append_text(evidence).append(MARKS[1])
    return text.append_text(_highlight(arm.after, NAMED))


def _highlight(parts: Sequence[Part], style: str) -> Text:
    return Text.assemble(*((part.text, style if part.marked else "") for part in parts))


def _arm(arm: ArmView) -> list[RenderableType]:
    none = Text("(no words)", style="dim")
    figures = Table.grid(padding=(0, 2, 0, 0))
    figures.add_column(no_wrap=True, style="dim")
    figures.add_column()
    for name, value in arm.figures:
        figures.add_row(name, Text(value))
    return [
        Text.assemble((arm.role, "bold"), ": ", arm.features),
        case_text(arm),
        Text("reasoning", style="dim"),
        reply_text(arm) or none,
        Text("answer", style="dim"),
        _highlight(arm.answer, NAMED) or none,
        figures,
    ]


def _consideration(judgement: Judgement) -> str:
    if judgement.considered == "none" and judgement.mentioned:
        return "mentioned"
    return judgement.admission


def _align(arms: Sequence[list[RenderableType]]) -> Iterable[RenderableType]:
    """Put corresponding parts of both arms into one row."""
    table = Table.grid(padding=(0, 3, 1, 0), expand=True)
    for _ in arms:
        table.add_column(ratio=1, overflow="fold")
    for parts in zip(*arms, strict=True):
        table.add_row(*parts)
    return [table]


def _stack(arms: Sequence[list[RenderableType]]) -> Iterable[RenderableType]:
    return [line for parts in arms for part in parts for line in (part, Text())]


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
