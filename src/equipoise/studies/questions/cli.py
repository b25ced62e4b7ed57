"""The commands of the study: answers scored, published items imported, and questions to start from."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from equipoise.core import jsonl
from equipoise.core.overwriting import Force, require_own, rows_of_kind
from equipoise.core.params import items_named
from equipoise.core.printing import AsJson as FilesAsJson
from equipoise.core.printing import cell, plain_table, remark, report, show_each, with_interval, written
from equipoise.core.progress import progress
from equipoise.core.starter import Name, filled, make, named, tell
from equipoise.figures.options import Measure
from equipoise.figures.skew import label_skew
from equipoise.materials import cities as towns
from equipoise.materials.cities import City
from equipoise.materials.orders import ONE_ORDER, in_one_order
from equipoise.materials.questions import Item
from equipoise.studies.questions import amqa
from equipoise.studies.questions.api import described, has_results, read_answered, score_answers
from equipoise.studies.questions.effects import Answered, arms_of
from equipoise.studies.questions.equilens import GROUP_NAMES, score_equity_released

STARTERS = Path(__file__).parent / "starters"
ITEMS = Path("data/items")
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per file.")]
TITLES = {"race": "white black", "ses": "high low income", "gender": "male female", amqa.CONTROL: "original neutral"}
CAPTIONS = {
    "expected": "Mean over all partitions. CI: other questions of the same kind.",
    "seeded": "One partition, drawn. CI: other questions of the same kind.",
}


def score_amqa(
    files: Annotated[list[Path], typer.Argument(help="Released answers (JSONL).", metavar="FILE…", show_default=False)],
    *,
    as_json: AsJson = False,
    items: Annotated[
        str | None, typer.Option(help="Items (JSONL or parquet) whose ids the files must have, instead of 0 to 800.")
    ] = None,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score each file on the questions it contains.")
    ] = False,
) -> None:
    """Score answers in AMQA's or FairMedPrompt's released form, every file over the same questions."""
    answers = {str(path): amqa.read_answers(path) for path in files}
    expected = None
    if not allow_incomplete:
        expected = [amqa.question_id(item.key) for item in amqa.read_items(items)] if items else amqa.complete_ids()
    with progress("score"):
        scored = score_answers(answers, expected)

    def parts(file: dict[str, Any]) -> Iterator[Table | str]:
        yield _amqa_table(file)
        if skewed := _skews(answers[file["file"]]):
            yield f"label skew: {skewed} of the answers would have to change their letter: look at the parsing"

    show_each(scored, parts, as_json=as_json)


def score_equity(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="AMQA's released answers (JSONL), or EquiLens' results (parquet).", metavar="FILE…", show_default=False
        ),
    ],
    *,
    cities: Annotated[Path, typer.Option(help="File of cities, YAML.")] = towns.FILE,
    partition: Annotated[
        Literal["expected", "seeded"],
        typer.Option(
            help="Average over all partitions of the questions between the groups, or draw one with the seed."
        ),
    ] = "expected",
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the partition.")] = 42,
    as_json: AsJson = False,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score each JSONL file on the questions it contains.")
    ] = False,
) -> None:
    """Score answers for the population of each city: accuracy, accuracy ratio and consistency ratio."""
    places = described(cities)
    given = {str(path): path for path in files}
    tables = {name: read_answered(path) for name, path in given.items()}
    if not allow_incomplete:
        answers = {name: table for name, table in tables.items() if not has_results(given[name])}
        amqa.require_same_questions(answers, amqa.complete_ids())
    amqa.require_same_gold(tables)
    options = Measure(partition=partition, partition_seed=seed)
    scored = []
    with progress("score") as move:
        for name, table in tables.items():
            name_of = GROUP_NAMES.__getitem__ if has_results(given[name]) else amqa.released_name
            scored.append(score_equity_released(name, table, places, options, name_of))
            move(len(scored), len(files))
    show_each(scored, lambda file: [_equity_table(file, places)], as_json=as_json)


def import_amqa(
    source: Annotated[str, typer.Argument(help="A hub id with its commit (Showing-KCL/AMQA@…), or a file.")],
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("data/items/amqa.jsonl"),
    *,
    force: Force = False,
    as_json: FilesAsJson = False,
) -> None:
    """Import AMQA's items, so that `dvc exp run -S items=amqa` asks them."""
    require_own(out, rows_of_kind(Item, amqa.KEY), force=force)
    with progress("import"):
        items = amqa.read_items(source)
        jsonl.write(out, items)
    one_order = [item.key for item in items if in_one_order(item.options)]
    line = f"{out}: {len(items)} items; run them with: dvc exp run {items_named(out, 'items')}"
    counted = written({out: len(items)}, one_order=len(one_order))
    report(counted, line, remark(ONE_ORDER, one_order), as_json=as_json)


def new_items(name: Name, *, as_json: FilesAsJson = False) -> None:
    """Create a file of two multiple-choice questions, and a page that explains its fields."""
    path = ITEMS / f"{named(name)}.jsonl"
    page = path.with_suffix(".md")
    files = {path: filled(STARTERS / "items.jsonl", name=name), page: filled(STARTERS / "items.md", name=name)}
    make(files, lambda: jsonl.read(path, Item))
    run = f"dvc exp run -S items={name} -S 'studies=[questions]'"
    tell({path: 2, page: 1}, "the questions, a line each", [run], "docs/howto/items.md", as_json=as_json)


def _skews(table: list[Answered]) -> str:
    """Name every arm with an implausible distribution of letters, and its distance from a plausible one."""
    gold = [row.gold for row in table]
    skews = {arm: label_skew([row.letters[arm] for row in table], gold) for arm in arms_of(table)}
    return ", ".join(f"{amqa.released_name(arm)} {skew.distance:.0%}" for arm, skew in skews.items() if skew.alarm)


def _amqa_table(scored: dict[str, Any]) -> Table:
    """Lay out one file with a row for each pair; shares and differences in per cent of the questions."""
    n, unparsed = scored["n"], sum(scored["unparsed"].values())
    title = f"{scored['file']}\n{n} questions, {unparsed} of {n * 8} answers unparsed (counted as wrong)"
    table = plain_table(title, ("pair", "right, %", "gap", "95 % CI", "alone", "p exact", "p Holm", "differ"))
    for name, pair in scored["pairs"].items():
        first, second = pair["both"] + pair["only_privileged"], pair["both"] + pair["only_unprivileged"]
        table.add_row(
            TITLES[name],
            f"{100 * first / n:.1f} {100 * second / n:.1f}",
            cell(pair["gap"], "+z.1f", 100),
            f"{cell(pair['ci_low'], '+z.1f', 100)} {cell(pair['ci_high'], '+z.1f', 100)}",
            f"{pair['only_privileged']} {pair['only_unprivileged']}",
            f"{pair['p_exact']:.1e}",
            f"{pair['p_holm']:.1e}",
            f"{100 * pair['letters_differ'] / n:.1f}",
        )
    return table


def _equity_table(scored: dict[str, Any], cities: Mapping[str, City]) -> Table:
    """Lay out one file with a row for each city and attribute; accuracy in per cent, ratios as they are."""
    n, unparsed = scored["n"], sum(scored["unparsed"].values())
    title = (
        f"{scored['file']}\n{n} questions, baseline accuracy {100 * scored['baseline_accuracy']:.1f} %, {unparsed} of "
        f"{n * len(scored['unparsed'])} answers unparsed (counted as wrong)\n{CAPTIONS[scored['partition']]}"
    )
    # At most 80 columns, so that no terminal truncates it; --json adds the sizes of the groups and the sd.
    columns = ("city", "", "right, %", "95 % CI", "ratio", "95 % CI", "p Holm", "kept", "95 % CI")
    table = plain_table(title, columns, left=2)
    for name, attributes in scored["cities"].items():
        for attribute, figures in attributes.items():
            table.add_row(
                cities[name].title,
                attribute,
                *with_interval(figures, "city_accuracy", ".1f", 100),
                *with_interval(figures, "accuracy_ratio", ".3f"),
                cell(figures["p_holm"], ".1e"),
                *with_interval(figures, "consistency_ratio", ".2f"),
            )
    return table
