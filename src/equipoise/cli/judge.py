"""`equipoise judge`: what the reasoning of any model's outputs does with a feature of the patient."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cases.given import judge_rows, read_rows, unlisted
from equipoise.cli import completing
from equipoise.cli.printing import print_json
from equipoise.core import cache, params
from equipoise.core.progress import progress
from equipoise.core.records import DECIMALS
from equipoise.judge.lexicon import FOLDER, load_lexicon
from equipoise.judge.score import Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equipoise.cases.given import Asked, Judged


def judge(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSONL of {id, feature, text}: a model's whole output and a feature of its patient, in plain words.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    *,
    judge_name: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="A judge of models/judges/.",
            show_default="that of params.yaml",
            autocompletion=completing.judges,
        ),
    ] = None,
    features: Annotated[Path, typer.Option(help="Folder of the words for each feature.")] = Path(FOLDER),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row, in order.")] = False,
) -> None:
    """Judge whether each output's reasoning mentions the feature, and weighs it, dismisses it or does neither.

    A row may also have `dimension` (race), where the words alone do not say it. `probability` is the judge's, of the
    judgement made: that the feature is weighed or dismissed; for none, one less the larger of the two.
    """
    from equipoise.judge.model import load_judge

    rows = read_rows(file)
    chosen = params.load()
    settings = chosen.section("score", Score)
    lexicon = load_lexicon(features)
    name = judge_name or chosen.judge
    probabilities = load_judge(name, Path(), cache.folder()).probabilities
    if unknown := unlisted(rows, lexicon):
        typer.echo(
            f"note: not in {features}, so the judge alone says where they are mentioned: {', '.join(unknown)}", err=True
        )
    with progress("judge") as move:
        judged = judge_rows(rows, lexicon=lexicon, probabilities=probabilities, settings=settings, progress=move)
        if as_json:
            for one in judged:
                print_json(one._asdict() | {"probability": round(one.probability, DECIMALS)})
            return
        found = list(judged)
    _show(file, rows, found, name)


def _show(file: Path, rows: Sequence[Asked], judged: Sequence[Judged], name: str) -> None:
    """Print one line for each row, then the totals."""
    from rich.console import Console
    from rich.table import Table

    from equipoise.text.visible import visible

    table = Table(title=visible(str(file)), title_justify="left", box=None, padding=(0, 1, 0, 0), expand=True)
    for column in ("id", "feature"):
        table.add_column(column, no_wrap=True, overflow="ellipsis", max_width=24)
    for column in ("mentioned", "considered", "p"):
        table.add_column(column, no_wrap=True, justify="right" if column == "p" else "left")
    # The one column that gives way: a sentence is cut to the line.
    table.add_column("evidence", no_wrap=True, overflow="ellipsis", ratio=1)
    for row, one in zip(rows, judged, strict=True):
        table.add_row(
            visible(str(row.id)),
            visible(row.feature),
            "yes" if one.mentioned else "no",
            one.considered,
            f"{one.probability:.2f}",
            visible(" ".join(one.evidence.split())),
        )
    counts = Counter(one.considered for one in judged)
    restated = sum(one.mentioned for one in judged if one.considered == "none")
    console = Console()
    console.print(table)
    console.print(
        f"{len(judged)} rows: {counts['weighed']} weighed, {counts['dismissed']} dismissed, "
        f"{counts['none']} neither ({restated} of them mentioned); judge {name}",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
