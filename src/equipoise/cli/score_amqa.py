"""`equipoise score amqa`: the figures of files of released answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.printing import print_json
from equipoise.core.progress import progress
from equipoise.metrics.answered import arms_of
from equipoise.metrics.skew import label_skew
from equipoise.published import amqa
from equipoise.published.amqa import CONTROL, score_released

if TYPE_CHECKING:
    from rich.table import Table

    from equipoise.metrics.answered import Answered

TITLES = {"race": "white black", "ses": "high low income", "gender": "male female", CONTROL: "original neutral"}


def score_amqa(
    files: Annotated[list[Path], typer.Argument(help="Released answers, JSONL.", metavar="FILE…", show_default=False)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a file.")] = False,
    items: Annotated[
        str | None, typer.Option(help="Items (JSONL or parquet) whose ids the files must have, in place of 0 to 800.")
    ] = None,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score each file over the questions that it has.")
    ] = False,
) -> None:
    """Score answers in AMQA's or FairMedPrompt's released form, every file over the same questions."""
    tables = {str(path): amqa.read_answers(path) for path in files}
    if allow_incomplete:
        amqa.require_same_gold(tables)
    else:
        wanted = [amqa.question_id(item.key) for item in amqa.read_items(items)] if items else amqa.complete_ids()
        amqa.require_same_questions(tables, wanted)
    with progress("score"):
        scored = score_released(tables, amqa.released_name)
    if as_json:
        for one in scored:
            print_json(one)
        return
    from rich.console import Console

    console = Console()
    for one, table in zip(scored, tables.values(), strict=True):
        console.print(_table(one))
        if skewed := _skews(table):
            console.print(f"label skew: {skewed} of the answers would have to change their letter: look at the parsing")


def _skews(table: list[Answered]) -> str:
    """Name every arm whose letters are spread as no careful reading would spread them, and how far."""
    gold = [row.gold for row in table]
    skews = {arm: label_skew([row.letters[arm] for row in table], gold) for arm in arms_of(table)}
    return ", ".join(f"{amqa.released_name(arm)} {skew.distance:.0%}" for arm, skew in skews.items() if skew.alarm)


def _table(scored: dict[str, Any]) -> Table:
    """Lay out one file, a pair a row; shares and differences in per cent of the questions."""
    from rich.table import Table

    n, unparsed = scored["n"], sum(scored["unparsed"].values())
    title = f"{scored['file']}\n{n} questions, {unparsed} of {n * 8} answers unparsed (counted as wrong)"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("pair", "right, %", "gap", "95 % CI", "alone", "p exact", "p Holm", "differ"):
        table.add_column(name, justify="left" if name == "pair" else "right", no_wrap=True)
    for name, pair in scored["pairs"].items():
        first, second = pair["both"] + pair["only_privileged"], pair["both"] + pair["only_unprivileged"]
        table.add_row(
            TITLES[name],
            f"{100 * first / n:.1f} {100 * second / n:.1f}",
            f"{100 * pair['gap']:+.1f}",
            f"{100 * pair['ci_low']:+.1f} {100 * pair['ci_high']:+.1f}",
            f"{pair['only_privileged']} {pair['only_unprivileged']}",
            f"{pair['p_exact']:.1e}",
            f"{pair['p_holm']:.1e}",
            f"{100 * pair['letters_differ'] / n:.1f}",
        )
    return table
