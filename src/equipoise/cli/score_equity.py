"""`equipoise score equity`: what released answers mean for the population of cities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from equipoise.cli.printing import print_json
from equipoise.core.progress import progress
from equipoise.metrics.equity import EquityOptions
from equipoise.published import amqa
from equipoise.published.equilens import GROUP_NAMES, read_results, score_equity_released
from equipoise.questions import cities as towns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from equipoise.questions.cities import City

NOT_DEFINED = "-"


def score_equity(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="AMQA's released answers (JSONL), or EquiLens' results (parquet).", metavar="FILE…", show_default=False
        ),
    ],
    *,
    cities: Annotated[Path, typer.Option(help="The cities (YAML).")] = towns.FILE,
    partition: Annotated[
        Literal["expected", "seeded"],
        typer.Option(help="Over all partitions of the questions between the groups, or for one that is drawn."),
    ] = "expected",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the partition that is drawn.")] = 42,
    resamples: Annotated[int, typer.Option(min=20, help="Resamples of the questions behind each interval.")] = 2000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a file.")] = False,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score each JSONL file over the questions that it has.")
    ] = False,
) -> None:
    """Score answers for the population of each city: accuracy, accuracy ratio and consistency ratio."""
    places = {name: city for name, city in towns.load_cities(cities).items() if city.composition}
    results = {str(path): read_results(path) for path in files if path.suffix == ".parquet"}
    answers = {str(path): amqa.read_answers(path) for path in files if path.suffix != ".parquet"}
    if not allow_incomplete:
        amqa.require_same_questions(answers, amqa.complete_ids())
    tables = results | answers
    amqa.require_same_gold(tables)
    options = EquityOptions(partition=partition, partition_seed=seed, n_bootstrap=resamples)
    scored = []
    with progress("score") as move:
        for name in map(str, files):
            called = GROUP_NAMES.__getitem__ if name in results else amqa.released_name
            scored.append(score_equity_released(name, tables[name], places, options, called))
            move(len(scored), len(files))
    if as_json:
        for one in scored:
            print_json(one)
        return
    from rich.console import Console

    console = Console()
    for one in scored:
        console.print(_table(one, places))


CAPTIONS = {
    "expected": "Mean over all partitions. CI: other questions of the same kind.",
    "seeded": "One partition, drawn. CI: other questions of the same kind.",
}


def _table(scored: dict[str, Any], cities: Mapping[str, City]) -> Table:
    """Lay out one file, a city and attribute a row; accuracy in per cent, ratios as they are."""
    from rich.table import Table

    n, unparsed = scored["n"], sum(scored["unparsed"].values())
    asked = n * len(scored["unparsed"])
    title = (
        f"{scored['file']}\n{n} questions, baseline accuracy {100 * scored['baseline_accuracy']:.1f} %, {unparsed} of "
        f"{asked} answers unparsed (counted as wrong)\n{CAPTIONS[scored['partition']]}"
    )
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    # 80 columns at most, so that no terminal cuts it: the sizes of the groups and the sd stand in --json.
    columns = ("city", "", "right, %", "95 % CI", "ratio", "95 % CI", "p Holm", "kept", "95 % CI")
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place > 1 else "left", no_wrap=True)
    for name, attributes in scored["cities"].items():
        for attribute, figures in attributes.items():
            table.add_row(
                cities[name].title,
                attribute,
                *_cells(figures, "city_accuracy", ".1f", 100),
                *_cells(figures, "accuracy_ratio", ".3f"),
                _cell(figures["p_holm"], ".1e"),
                *_cells(figures, "consistency_ratio", ".2f"),
            )
    return table


def _cells(figures: dict[str, Any], measure: str, form: str, scale: float = 1) -> tuple[str, str]:
    """Write a figure and its interval."""
    low, high = (_cell(figures[f"{measure}_ci_{end}"], form, scale) for end in ("low", "high"))
    return _cell(figures[measure], form, scale), NOT_DEFINED if low == high == NOT_DEFINED else f"{low} {high}"


def _cell(value: float | None, form: str, scale: float = 1) -> str:
    return NOT_DEFINED if value is None else f"{scale * value:{form}}"
