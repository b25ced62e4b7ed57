"""The commands of the study: released probabilities scored, and the lists of first names imported."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from equipoise.core.errors import EquipoiseError
from equipoise.core.printing import NOT_DEFINED, AsJson, cell, plain_table, print_json, report, show, written
from equipoise.core.progress import progress
from equipoise.core.shipped import shipped
from equipoise.figures.options import Measure
from equipoise.studies.stigma import lin
from equipoise.studies.stigma.aggregate import noun_lexicon, short_lexicon
from equipoise.studies.stigma.effects import nested, stigma_effects
from equipoise.studies.stigma.library import SENTENCES, Gender, load_library
from equipoise.studies.stigma.names import fetch_names, load_names
from equipoise.studies.stigma.rows import Aggregation, Fill

FAMILIES = {
    "rq1_mental": "rq1: who has a mental illness",
    "rq1_control": "rq1: who has another condition",
    "rq1_difference": "rq1: disparity, mental illness less others",
    "rq2_mental": "rq2: towards whom with a mental illness",
    "rq2_control": "rq2: towards whom with another condition",
    "rq2_difference": "rq2: disparity, mental illness less others",
}
SHARES = {"female": "female", "male": "male", "unspecified": "other"}
"""Headings of the measures that are probabilities; in rq2 the third follows from the others."""


def score_stigma(
    *,
    rq1: Annotated[list[Path] | None, typer.Option(help="Probabilities for rq1 (CSV).", show_default=False)] = None,
    rq2: Annotated[list[Path] | None, typer.Option(help="Probabilities for rq2 (CSV).", show_default=False)] = None,
    steps: Annotated[list[Path] | None, typer.Option(help="Paths for rq2 (CSV).", show_default=False)] = None,
    tokens: Annotated[list[Path] | None, typer.Option(help="Log of predictions for rq1.", show_default=False)] = None,
    legacy: Annotated[
        bool, typer.Option("--legacy", help="Sum steps and tokens as published, including parts of words.")
    ] = False,
    names: Annotated[
        bool, typer.Option("--names", help="Also match first names in tokens (see equipoise import names).")
    ] = False,
    library: Annotated[Path, typer.Option(help="Folder of the study's files.")] = Path(SENTENCES),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score one model's released probabilities; compare mental with control conditions where both are given.

    Repeat an option to give several files. The conditions are read from the files.
    """
    known = load_library(shipped(library))
    wordings = lin.Wordings(known)
    aggregation: Aggregation = "legacy" if legacy else "words"
    nouns = noun_lexicon(known.words.nouns)
    short = short_lexicon(known.words.short, load_names(known.words.names) if names else None)
    given = [*(rq1 or []), *(rq2 or []), *(steps or []), *(tokens or [])]
    if not given:
        raise EquipoiseError("no file is given: name one with --rq1, --rq2, --steps or --tokens")
    if repeated := next((path for path in given if given.count(path) > 1), None):
        raise EquipoiseError(f"{repeated}: given twice: give it once")
    with progress("score"):
        tables = {
            **{path: lin.read_rq1(path, wordings) for path in rq1 or []},
            **{path: lin.read_rq2(path, wordings) for path in rq2 or []},
            **{path: lin.read_steps(path, wordings, nouns, aggregation) for path in steps or []},
            **{path: lin.read_tokens(path, wordings, short, aggregation) for path in tokens or []},
        }
        notes = refuse_duplicates(tables)
        fills = [fill for table in tables.values() for fill in table]
        metrics = nested(stigma_effects(fills, Measure()))
    if as_json:
        files = {str(path): len(table) for path, table in tables.items()}
        print_json({"files": files, "notes": notes, "metrics": metrics})
        return
    for family, groups in metrics.items():
        show(_stigma_table(family, groups), "")
    show(*(f"note: {note}" for note in notes))


def import_names(
    *,
    women: Annotated[
        Path | None, typer.Option(help="Read women's names from this file instead of downloading them.")
    ] = None,
    men: Annotated[
        Path | None, typer.Option(help="Read men's names from this file instead of downloading them.")
    ] = None,
    library: Annotated[Path, typer.Option(help="Folder of the study's files.")] = Path(SENTENCES),
    as_json: AsJson = False,
) -> None:
    """Import the lists of first names into .cache, downloaded or from local files, checked by their sha256."""
    given: dict[Gender, Path | None] = {"female": women, "male": men}
    lists = load_library(shipped(library)).words.names
    with progress("import"):
        fetched = fetch_names(lists, {gender: path for gender, path in given.items() if path is not None})
    counts = {fetched[gender]: len(names) for gender, names in load_names(lists).items()}
    report(written(counts), *(f"{path}: {count} names" for path, count in counts.items()), as_json=as_json)


def refuse_duplicates(tables: Mapping[Path, Sequence[Fill]]) -> list[str]:
    """Refuse files that are another model's or have the same values or sentences; note those that agree in part."""
    for path in tables:
        if truth := lin.wrong_name(path):
            raise EquipoiseError(f"{path}: wrong name: it holds {truth}: score it under its own name")
    notes = []
    for copy in lin.duplicates(tables):
        if copy.kind != "some":
            what = "is a byte copy of" if copy.kind == "bytes" else "holds the same values as"
            raise EquipoiseError(
                f"{copy.second}: {what} {copy.first}: one of them has a wrong name or is given twice; leave it out"
            )
        equal = f"{copy.equal} of {copy.rows} rows equal those of {copy.first}"
        notes.append(f"{copy.second}: {equal}: is it the same run?")
    owners: dict[str, Path] = {}
    for path, table in tables.items():
        for fill in table:
            if owners.setdefault(fill.key, path) != path:
                raise EquipoiseError(
                    f"{path}: {fill.key} is in {owners[fill.key]} too: score one model and run at a time"
                )
    return notes


def _stigma_table(family: str, groups: Any) -> Table:  # noqa: ANN401  (nested scalars)
    """Lay out a family with a row for each group of sentences; probabilities and their differences in per cent."""
    shares = [] if family.endswith("difference") else list(SHARES)[: 3 if family.startswith("rq1") else 2]
    columns = ("", "n", *(SHARES[share] for share in shares), "F - M", "95 % CI", "p", "Holm", "clustered", "d")
    table = plain_table(FAMILIES[family], columns)
    for group, measures in groups.items():
        gap, clustered = measures["disparity"], measures["disparity_clustered"]
        table.add_row(
            group,
            str(gap["n"]),
            *(f"{100 * measures[share]['estimate']:.1f}" for share in shares),
            cell(gap["estimate"], "+z.1f", 100),
            " ".join(cell(gap[end], "+z.1f", 100) for end in ("ci_low", "ci_high")) if "ci_low" in gap else NOT_DEFINED,
            _p(gap, "neg_log10_p"),
            _p(gap, "neg_log10_p_holm"),
            _p(clustered, "neg_log10_p"),
            cell(gap.get("d_pooled"), "+z.2f"),
        )
    return table


def _p(figures: Mapping[str, float], name: str) -> str:
    return f"{10 ** -figures[name]:.0e}" if name in figures else NOT_DEFINED
