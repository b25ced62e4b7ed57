"""The commands of the study: what its cases cover, new pairs and dimensions, and cases for other tools."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.overwriting import Force, require_own
from equipoise.core.printing import AsJson, plain_table, print_json, report, show, written
from equipoise.core.shipped import shipped
from equipoise.core.starter import DASHED, Name, filled, make, named, tell
from equipoise.core.visible import visible
from equipoise.judge import lexicon
from equipoise.materials.interchange import is_published, published
from equipoise.materials.questions import Item
from equipoise.materials.stories.library import OWN, Library, load_library
from equipoise.materials.vignette import Vignette
from equipoise.studies.vignettes.coverage import Coverage, Evidenced, Tally, by_group, coverage, misreadings, shortfalls
from equipoise.studies.vignettes.profiles import PlannedPair, Profile, build_pairs, profile_pairs
from equipoise.text.diagnoses import FILE, load_diagnoses

STARTERS = Path(__file__).parent / "starters"
RAW = Path("data/raw")
OWN_CASES = "dvc exp run -S build.profile=full -S 'studies=[vignettes]'"
"""The command that runs the cases of the project's own, which the profile `full` has."""
PERSONAS = {"persona": "p24", "other": "p23"}
"""Patients of the starters: a woman of 58 and a man of 68."""


def cases(
    *,
    profile: Annotated[Profile, typer.Option(help="Case profile to summarise.")] = "core",
    data: Annotated[Path, typer.Option(help="Folder with the authored cases and items.", metavar="FOLDER")] = Path(
        "data"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: all counts.")] = False,
) -> None:
    """Print what the cases of a profile cover: by dimension, patient group, grade and story; decisions by family.

    Grade A needs a paper that compares the group with others and names the error; how many do each is printed too.

    The exit code is 1 if the cases fall short of a minimum in the design, or if a wording of an answer would be read as
    another answer; each fault is printed on its own line.
    """
    library = load_library(shipped(data / "raw"))
    pairs = profile_pairs(library, profile)
    items = sum(1 for _ in jsonl.each(shipped(data / "items" / "authored.jsonl"), Item))
    covered = coverage(library, pairs, items)
    if as_json:
        print_json(covered.model_dump())
    else:
        show(_table(library, profile, pairs), "", _decisions(profile, covered), "", *_totals(covered, profile))
    diagnoses = load_diagnoses(shipped(FILE))
    lines = [*shortfalls(library, covered, profile, pairs), *misreadings(library, diagnoses)]
    for line in lines:
        typer.echo(visible(f"missed: {line}"), err=True)
    if lines:
        raise typer.Exit(1)


def new_pair(name: Name, *, as_json: AsJson = False) -> None:
    """Create a file with a story and a pair of vignettes that tells it."""
    path = RAW / OWN / f"{named(name, DASHED)}.yaml"
    make({path: filled(STARTERS / "pair.yaml", name=name, **PERSONAS)}, _check_library)
    runs = [OWN_CASES, f"equipoise show {name}-01"]
    tell({path: 2}, "the story, its answers, the evidence", runs, "docs/howto/pair.md", as_json=as_json)


def new_dimension(name: Name, *, as_json: AsJson = False) -> None:
    """Create a dimension: its contrast, a story, two pairs, and the words by which a judge finds it."""
    words, own = Path(lexicon.FOLDER) / f"{named(name)}.yaml", RAW / OWN / f"{name}.yaml"
    plain = name.replace("_", " ")
    values = {"id": name.replace("_", "-"), "title": plain.capitalize(), "subject": plain, **PERSONAS}
    files = {
        own: filled(STARTERS / "dimension.yaml", name=name, **values),
        words: filled(STARTERS / "features.yaml", name=name, **values),
    }

    def check() -> None:
        lexicon.load_lexicon(words.parent)
        _check_library()

    make(files, check)
    edits = "the contrast, the story and its evidence, the expressions"
    tell({own: 5, words: 1}, edits, [OWN_CASES], "docs/howto/dimension.md", as_json=as_json)


def _check_library() -> None:
    build_pairs(load_library(RAW), "full")


def export_vignettes(
    out: Annotated[Path, typer.Argument(help="File to write (JSON).", metavar="OUT", show_default=False)],
    vignettes: Annotated[Path, typer.Option(help="Our vignettes, as the build stage writes them.")] = Path(
        "data/vignettes/built/vignettes.jsonl"
    ),
    *,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write our vignettes as cases of the interchange format, one arm per case."""
    if out.suffix != ".json":
        raise EquipoiseError(f"{out}: the interchange format is one JSON object: name a file that ends in .json")
    require_own(out, is_published, force=force)
    rows = jsonl.read(vignettes, Vignette)
    jsonl.write_json(out, published(rows))
    report(written({out: len(rows)}), f"{out}: {len(rows)} cases from {vignettes}", as_json=as_json)


def _table(library: Library, profile: Profile, pairs: Sequence[PlannedPair]) -> Table:
    columns = ("dimension", "patient group", "pairs", "stories", "A", "B", "C")
    table = plain_table(f"Pairs of {profile} that vary one dimension", columns, left=2, gap=2)
    last = ""
    for row in by_group(library, pairs):
        dimension = f"{row.dimension}, reverse" if row.reverse else row.dimension
        table.add_row("" if dimension == last else dimension, row.group, *_cells(row.tally))
        last = dimension
    return table


def _decisions(profile: Profile, covered: Coverage) -> Table:
    columns = ("decisions", "pairs", "stories", "A", "B", "C")
    table = plain_table(f"Decisions about the pairs of {profile}", columns, left=1, gap=2)
    for family, tally in covered.decisions.items():
        table.add_row(family, *_cells(tally))
    return table


def _cells(tally: Tally) -> tuple[str, ...]:
    return tuple(map(str, tally.model_dump().values()))


def _totals(covered: Coverage, profile: Profile) -> tuple[str, ...]:
    pairs, library = covered.evidence["pairs"], covered.evidence["library"]
    counted = (
        f"{covered.stories} stories, {covered.mirrors} mirrors, {covered.stubs} stubs, {covered.ladder} at three levels"
    )
    decided = f"{covered.decided} with three decisions or more"
    return (
        f"{profile}: {pairs.n} pairs, {_grades(pairs)}",
        f"library: {counted}, {decided}; {covered.items} items",
        f"evidence in the library: {library.n} documented errors, {_grades(library)}",
    )


def _grades(rows: Evidenced) -> str:
    """Write the counts of grades, and of what grade A needs."""
    grades = f"{rows.grade_a} of grade A, {rows.grade_b} of grade B, {rows.grade_c} of grade C"
    return (
        f"{grades}; {rows.comparison} with a comparison group, {rows.error_named} that name the error, {rows.both} both"
    )
