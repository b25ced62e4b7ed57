"""`equipoise judge`: what the reasoning of any model's outputs does with a feature of the patient."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise import cache, params
from equipoise.judge.given import judge_rows, read_rows, unlisted
from equipoise.judge.lexicon import FOLDER, load_lexicon
from equipoise.records import DECIMALS
from equipoise.score import Score
from equipoise.stage import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from equipoise.judge.given import Asked, Judged

PATIENCE = 2.0
"""Seconds of work after which a progress bar is shown."""


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
        str | None, typer.Option("--judge", help="A judge of models/judges/.", show_default="that of params.yaml")
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
    # A progress bar takes over sys.stdout where standard error is a terminal; the rows must go to the real one.
    out = sys.stdout
    with _progress(shown=not (as_json and out.isatty())) as tell:
        judged = judge_rows(rows, lexicon=lexicon, probabilities=probabilities, settings=settings, progress=tell)
        if as_json:
            for one in judged:
                row = one._asdict() | {"probability": round(one.probability, DECIMALS)}
                typer.echo(json.dumps(row, ensure_ascii=False, allow_nan=False), file=out)
            return
        found = list(judged)
    _show(file, rows, found, name)


@contextmanager
def _progress(*, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Give the function that is told how many of how many rows are done; a bar comes only where the work takes long."""
    began = time.monotonic()
    with ExitStack() as stack:
        bar: list[Callable[[int, int], None]] = []

        def tell(done: int, total: int) -> None:
            if shown and not bar and done < total and time.monotonic() - began > PATIENCE:
                bar.append(stack.enter_context(progress("rows")))
            for move in bar:
                move(done, total)

        yield tell


def _show(file: Path, rows: Sequence[Asked], judged: Sequence[Judged], name: str) -> None:
    """Print one line for each row, then the totals."""
    from rich.console import Console
    from rich.table import Table

    from equipoise.showing.visible import visible

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
