"""`equipoise score stigma`: the figures of released probabilities of masked models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.printing import print_json
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.metrics.stigma import StigmaOptions, stigma_effects
from equipoise.metrics.stigma_summary import stigma_metrics
from equipoise.published.fetch import load_names
from equipoise.published.lin import Wordings, read_rq1, read_rq2, read_steps, read_tokens
from equipoise.published.lin_figures import duplicates, wrong_name
from equipoise.stigma.aggregate import noun_lexicon, short_lexicon
from equipoise.stigma.library import load_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from equipoise.stigma.rows import Fill
    from equipoise.stigma.settings import Aggregation

TITLES = {
    "rq1_mental": "rq1: who has a mental illness",
    "rq1_control": "rq1: who has another condition",
    "rq1_difference": "rq1: disparity, mental illness less others",
    "rq2_mental": "rq2: towards whom with a mental illness",
    "rq2_control": "rq2: towards whom with another condition",
    "rq2_difference": "rq2: disparity, mental illness less others",
}
SHARES = {"female": "female", "male": "male", "unspecified": "other"}
"""Measures that are probabilities, and their headings; in rq2 the third says nothing that the others do not."""
NOT_DEFINED = "-"


def score_stigma(
    *,
    rq1: Annotated[list[Path] | None, typer.Option(help="Probabilities of rq1, CSV.", show_default=False)] = None,
    rq2: Annotated[list[Path] | None, typer.Option(help="Probabilities of rq2, CSV.", show_default=False)] = None,
    steps: Annotated[list[Path] | None, typer.Option(help="Paths of rq2, CSV.", show_default=False)] = None,
    tokens: Annotated[list[Path] | None, typer.Option(help="Predictions of rq1, log.", show_default=False)] = None,
    legacy: Annotated[
        bool, typer.Option("--legacy", help="Sum steps and tokens as published, parts of words included.")
    ] = False,
    names: Annotated[
        bool, typer.Option("--names", help="Match first names in tokens too (equipoise import names).")
    ] = False,
    library: Annotated[Path, typer.Option(help="Folder of the study's files.")] = Path("data/stigma"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score one model's released probabilities; files of mental and of control conditions together are compared.

    Every option that names a file may be given again. Which conditions a file tells of is read from the file.
    """
    known = load_library(library)
    wordings = Wordings(known)
    aggregation: Aggregation = "legacy" if legacy else "words"
    nouns = noun_lexicon(known.words.nouns)
    short = short_lexicon(known.words.short, load_names(known.words.names) if names else None)
    given = [*(rq1 or []), *(rq2 or []), *(steps or []), *(tokens or [])]
    if not given:
        message = "no file is given: name one with --rq1, --rq2, --steps or --tokens"
        raise EquipoiseError(message)
    if repeated := next((path for path in given if given.count(path) > 1), None):
        message = f"{repeated}: is given twice: give it once"
        raise EquipoiseError(message)
    with progress("score"):
        tables = {
            **{path: read_rq1(path, wordings) for path in rq1 or []},
            **{path: read_rq2(path, wordings) for path in rq2 or []},
            **{path: read_steps(path, wordings, nouns, aggregation) for path in steps or []},
            **{path: read_tokens(path, wordings, short, aggregation) for path in tokens or []},
        }
        notes = refuse_duplicates(tables)
        fills = [fill for table in tables.values() for fill in table]
        metrics = stigma_metrics(stigma_effects(fills, StigmaOptions()))
    if as_json:
        files = {str(path): len(table) for path, table in tables.items()}
        print_json({"files": files, "notes": notes, "metrics": metrics})
        return
    from rich.console import Console

    console = Console()
    for family, groups in metrics.items():
        console.print(_table(family, groups), "")
    for note in notes:
        console.print(f"note: {note}", highlight=False)


def refuse_duplicates(tables: Mapping[Path, Sequence[Fill]]) -> list[str]:
    """Refuse files that are another model's or hold the same values or sentences; note those that agree in part."""
    for path in tables:
        if truth := wrong_name(path):
            message = f"{path}: has a wrong name: it holds {truth}: score it under its own name"
            raise EquipoiseError(message)
    notes = []
    for one in duplicates(tables):
        if one.kind != "some":
            what = "is a byte copy of" if one.kind == "bytes" else "holds the same values as"
            message = f"{one.second}: {what} {one.first}: one of them has a wrong name or is given twice; leave it out"
            raise EquipoiseError(message)
        notes.append(f"{one.second}: {one.equal} of {one.rows} rows equal those of {one.first}: is it the same run?")
    owners: dict[str, Path] = {}
    for path, table in tables.items():
        for fill in table:
            if owners.setdefault(fill.key, path) != path:
                message = f"{path}: {fill.key} stands in {owners[fill.key]} too: score one model and run at a time"
                raise EquipoiseError(message)
    return notes


def _table(family: str, groups: Any) -> Table:  # noqa: ANN401  (nested scalars)
    """Lay out one family, a group of sentences a row; probabilities and their differences in per cent."""
    from rich.table import Table

    table = Table(title=TITLES[family], title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    shares = [] if family.endswith("difference") else list(SHARES)[: 3 if family.startswith("rq1") else 2]
    for name in ("", "n", *(SHARES[share] for share in shares), "F - M", "95 % CI", "p", "Holm", "clustered", "d"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for group, measures in groups.items():
        gap, clustered = measures["disparity"], measures["disparity_clustered"]
        table.add_row(
            group,
            str(gap["n"]),
            *(f"{100 * measures[share]['estimate']:.1f}" for share in shares),
            f"{100 * gap['estimate']:+.1f}",
            f"{100 * gap['ci_low']:+.1f} {100 * gap['ci_high']:+.1f}" if "ci_low" in gap else NOT_DEFINED,
            _p(gap, "neg_log10_p"),
            _p(gap, "neg_log10_p_holm"),
            _p(clustered, "neg_log10_p"),
            f"{gap['d_pooled']:+.2f}" if "d_pooled" in gap else NOT_DEFINED,
        )
    return table


def _p(figures: Mapping[str, float], name: str) -> str:
    return f"{10 ** -figures[name]:.0e}" if name in figures else NOT_DEFINED
