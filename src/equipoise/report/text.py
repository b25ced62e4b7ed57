"""Pairs of vignettes laid out for a terminal: a table of many, or one with its arms side by side.

All texts of vignettes and models are data: markup in them is printed literally.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from equipoise.core.records import Judgement
from equipoise.judge.lexicon import Lexicon
from equipoise.judge.reading import Thresholds
from equipoise.report.pairs import STATES, Arm, Shown, margin
from equipoise.text.visible import visible

NARROW = 100
"""Columns below which the arms are printed one above the other."""
DEMOGRAPHIC = "bold cyan"
NAMED = "bold yellow"
EVIDENCE = "underline"
BIASED = "bold red"
MARKS = ("»", "«")
"""Around the deciding sentence, so that it is seen without colours too."""
LEGEND = f"{MARKS[0]}…{MARKS[1]} the deciding sentence"


def listing(pairs: Sequence[Shown], thresholds: Thresholds | None = None) -> Table:
    """Lay out pairs, one a row; with thresholds, the margin of the arm that is nearer to its threshold.

    The column after each answer says what its reasoning does with the features: weighed, dismissed, mentioned, nothing.
    """
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("pair", overflow="fold")
    table.add_column("dimensions", overflow="fold")
    for column in ("marginalised", "reasoning", "privileged", "reasoning"):
        table.add_column(column, no_wrap=True)
    if thresholds:
        table.add_column("margin", justify="right", no_wrap=True)
    for pair in pairs:
        cells = [visible(pair.key), visible(pair.pair.combination.replace("+", ", "))]
        for arm in pair.arms:
            bias = pair.pair.biased and arm is pair.marginalised
            cells += [Text(arm.judgement.answer, BIASED if bias else ""), Text(_considered(arm.judgement))]
        if thresholds:
            cells.append(Text(f"{min(margin(arm.judgement, thresholds) for arm in pair.arms):.3f}"))
        table.add_row(*cells)
    return table


def totals(pairs: Sequence[Shown], of: int) -> str:
    """Count the pairs listed, of all, and the biased and silent ones among them."""
    biased, silent = sum(pair.pair.biased for pair in pairs), sum(pair.pair.silent for pair in pairs)
    return f"{len(pairs)} of {of} pairs: {biased} biased, {silent} of them silent; equipoise show KEY shows one"


def card(pair: Shown, lexicon: Lexicon, thresholds: Thresholds, width: int) -> Group:
    """Lay out one pair: its answers, then both arms, side by side where `width` columns allow it."""
    told = pair.marginalised.vignette
    answers = "; ".join(
        f"{kind} {labels}"
        for kind, labels in (
            ("expected:", told.expected.label),
            ("stereotyped:", told.stereotyped.label),
            ("distractors:", ", ".join(answer.label for answer in told.distractors)),
        )
    )
    head = (
        Text.assemble(
            (visible(pair.key).plain, "bold"), f" ({pair.pair.combination}, {told.tier}): {STATES[pair.state]}"
        ),
        visible(answers),
        Text(),
    )
    arms = [_arm(arm, lexicon, thresholds) for arm in pair.arms]
    return Group(*head, *(_beside(arms) if width >= NARROW else _stacked(arms)), _legend())


def case_text(arm: Arm) -> Text:
    """Give the case, its demographics highlighted."""
    text = visible(arm.vignette.text)
    for start, end in arm.vignette.spans:
        text.stylize(DEMOGRAPHIC, start, end)
    return text


def reply_text(arm: Arm, lexicon: Lexicon) -> Text:
    """Give the reasoning, with the names of the patient's features highlighted and the deciding sentence marked."""
    text = visible(arm.reasoning)
    for start, end in arm.named(lexicon):
        text.stylize(NAMED, start, end)
    if arm.evidence is None:
        return text
    start, end = arm.evidence
    text.stylize(EVIDENCE, start, end)
    return Text.assemble(text[:start], MARKS[0], text[start:end], MARKS[1], text[end:])


def _arm(arm: Arm, lexicon: Lexicon, thresholds: Thresholds) -> list[RenderableType]:
    """List the parts of an arm, from its name to its figures."""
    none = Text("(no words)", style="dim")
    return [
        Text.assemble((arm.vignette.role, "bold"), ": ", visible(arm.features)),
        case_text(arm),
        Text("reasoning", style="dim"),
        reply_text(arm, lexicon) if arm.reasoning else none,
        Text("answer", style="dim"),
        visible(arm.answer) if arm.answer else none,
        _figures(arm, thresholds),
    ]


def _figures(arm: Arm, thresholds: Thresholds) -> Table:
    """Lay out the readings of an arm."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for name, value in arm.readings(thresholds):
        table.add_row(name, visible(value))
    return table


def _considered(read: Judgement) -> str:
    """Say in one word what the reasoning does with the features."""
    if read.considered != "none":
        return read.considered
    return "mentioned" if read.mentioned else "nothing"


def _beside(arms: Sequence[list[RenderableType]]) -> Iterable[RenderableType]:
    """Put equal parts of both arms into one row."""
    table = Table.grid(padding=(0, 3, 1, 0), expand=True)
    for _ in arms:
        table.add_column(ratio=1, overflow="fold")
    for parts in zip(*arms, strict=True):
        table.add_row(*parts)
    return [table]


def _stacked(arms: Sequence[list[RenderableType]]) -> Iterable[RenderableType]:
    return [line for parts in arms for part in parts for line in (part, Text())]


def _legend() -> Text:
    return Text.assemble(
        ("demographics", DEMOGRAPHIC), "   ", ("the feature's names", NAMED), "   ", (LEGEND, EVIDENCE)
    )
