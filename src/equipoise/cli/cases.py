"""`equipoise cases`: what the authored cases cover, and which floors of their design they miss."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from equipoise.cli import printing
from equipoise.core import jsonl
from equipoise.core.shipped import shipped
from equipoise.core.visible import visible
from equipoise.materials.questions import Item
from equipoise.materials.stories.library import Library, load_library
from equipoise.studies.vignettes.coverage import Coverage, Covered, Decisions, coverage, misread_in, missed, told_of
from equipoise.studies.vignettes.profiles import Planned, Profile, planned
from equipoise.text.diagnoses import FILE, load_diagnoses


def cases(
    *,
    profile: Annotated[Profile, typer.Option(help="Whose pairs are counted.")] = "core",
    data: Annotated[Path, typer.Option(help="Folder of the authored cases and items.", metavar="FOLDER")] = Path(
        "data"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: all counts.")] = False,
) -> None:
    """Print what the cases of a profile cover: by dimension, group told of, grade and stories; decisions by family.

    Exit code 1 where a floor of the design is missed, or where a wording of an answer would be read as another one,
    with a line for each.
    """
    library = load_library(shipped(data / "raw"))
    pairs = planned(library, profile)
    items = sum(1 for _ in jsonl.each(shipped(data / "items" / "authored.jsonl"), Item))
    found = coverage(library, pairs, items)
    if as_json:
        printing.print_json(found.model_dump())
    else:
        printing.show(
            _table(library, profile, pairs), "", _decisions(profile, found), "", *_totals(found, profile, pairs)
        )
    diagnoses = load_diagnoses(shipped(FILE))
    lines = [*missed(library, found, profile, pairs), *misread_in(library, diagnoses)]
    for line in lines:
        typer.echo(visible(f"missed: {line}"), err=True)
    if lines:
        raise typer.Exit(1)


def _table(library: Library, profile: Profile, pairs: Sequence[Planned]) -> Table:
    columns = ("dimension", "group told of", "pairs", "stories", "A", "B", "C")
    table = printing.plain_table(f"Pairs of {profile} that vary one dimension", columns, left=2, gap=2)
    last = ""
    for one in told_of(library, pairs):
        dimension = f"{one.dimension}, reverse" if one.reverse else one.dimension
        table.add_row("" if dimension == last else dimension, one.group, *_cells(one.covered))
        last = dimension
    return table


def _decisions(profile: Profile, found: Coverage) -> Table:
    columns = ("decisions", "pairs", "stories", "A", "B", "C")
    table = printing.plain_table(f"Decisions about the pairs of {profile}", columns, left=1, gap=2)
    for family, covered in found.decisions.items():
        table.add_row(family, *_cells(covered))
    return table


def _cells(covered: Covered | Decisions) -> tuple[str, ...]:
    return tuple(map(str, covered.model_dump().values()))


def _totals(found: Coverage, profile: Profile, pairs: Sequence[Planned]) -> tuple[str, ...]:
    graded = [parts.tested.evidence.grade for _, _, parts in pairs]
    grades = ", ".join(f"{graded.count(grade)} of grade {grade}" for grade in ("A", "B", "C"))
    library = f"{found.stories} stories, {found.mirrors} mirrors, {found.stubs} stubs, {found.ladder} at three levels"
    decided = f"{found.decided} with three decisions or more"
    return f"{profile}: {len(pairs)} pairs, {grades}", f"library: {library}, {decided}; {found.items} items"
