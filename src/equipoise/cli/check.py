"""`equipoise check`: whether everything that people write is valid, before any stage runs."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from equipoise.cli import printing
from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import progress
from equipoise.core.row import Row
from equipoise.judge import lexicon
from equipoise.materials import cities
from equipoise.materials.questions import Item
from equipoise.materials.stories.library import load_library
from equipoise.models import registry
from equipoise.pipeline.check import require_sound
from equipoise.studies.openr1.rows import OpenR1Item
from equipoise.studies.registry import STUDIES
from equipoise.studies.stigma.library import load_library as load_sentences
from equipoise.studies.stigma.study import SENTENCES as STIGMA
from equipoise.studies.vignettes.panel import Story, load_panel
from equipoise.studies.vignettes.profiles import build_pairs

DATA = Path("data")
KINDS: dict[str, type[Row]] = {"openr1": OpenR1Item, "decisions": Story}
"""The rows of a file of items by their study, where they are not questions."""
UNEDITED = re.compile(r"EDIT: [^\"|\n]*")
WRITTEN = ("models/*.yaml", "data/cities.yaml", "data/items/*", "data/raw/own/*.yaml", "data/features/*.yaml")
"""Where `equipoise new` writes."""


class Checked(NamedTuple):
    """What is valid, where it is, and how many rows or files there are."""

    what: str
    where: str
    n: int


def check(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: what was checked, and notes.")
    ] = False,
) -> None:
    """Check settings, models, cases, questions, cities, words and sentences, without running anything.

    The first fault is one line that names file, row and fix, and exit code 1. What is left to edit is noted.
    """
    found: list[Checked] = []
    with progress("check") as move:
        for number, part in enumerate(PARTS, start=1):
            found += part()
            move(number, len(PARTS))
    notes = list(_unedited())
    if as_json:
        printing.print_json({"checked": [one._asdict() for one in found], "notes": notes})
        return
    table = printing.plain_table(None, ("valid", "in", "n"), left=2, gap=2)
    for one in found:
        table.add_row(one.what, one.where, str(one.n))
    printing.show(table, *(f"note: {note}" for note in notes))


def _registries() -> Iterator[Checked]:
    loaders: dict[str, tuple[str, Callable[[str, Path], object]]] = {
        "models": (registry.FOLDER, registry.load_entry),
        "judges": (registry.JUDGES, registry.load_judge_entry),
        "masked models": (registry.MASKED, registry.load_masked_entry),
    }
    for what, (folder, load) in loaders.items():
        names = registry.names(Path(folder))
        for name in names:
            load(name, Path())
        yield Checked(what, folder, len(names))


def _vignettes() -> Iterator[Checked]:
    library = load_library(DATA / "raw")
    for name in registry.names(Path(registry.FOLDER)):
        if isinstance(entry := registry.load_entry(name, Path()), registry.PhantomEntry):
            registry.require_dimensions(name, entry, library.dimensions)
    rows = build_pairs(library, "full")
    yield Checked("stories", "data/raw", len(library.presentations))
    yield Checked("pairs", "data/raw", len(library.pairs))
    yield Checked("vignettes of the profile full", "data/raw", len(rows))
    yield Checked("groups of the panel", "data/raw/panel.yaml", len(load_panel(DATA / "raw")))
    lexicon.load_lexicon(Path(lexicon.FOLDER))
    yield Checked("lexicons of features", lexicon.FOLDER, len(list(Path(lexicon.FOLDER).glob("*.yaml"))))


def _questions() -> Iterator[Checked]:
    for path in sorted((DATA / "items").glob("*.jsonl")):
        yield Checked("items", path.as_posix(), sum(1 for _ in jsonl.each(path, _kind(path))))
    yield Checked("cities", cities.FILE.as_posix(), len(cities.load_cities()))


def _kind(path: Path) -> type[Row]:
    """Tell by its first row what a file of items holds; questions, unless the row is of another study."""
    with path.open(encoding="utf-8", errors="replace") as rows:
        first = next(rows, "")
    return next((kind for study, kind in KINDS.items() if f'"study": "{study}"' in first), Item)


def _settings() -> Iterator[Checked]:
    yield Checked("conditions of the study of stigma", STIGMA, len(load_sentences(Path(STIGMA)).conditions))
    settings = params.load()
    require_sound(settings, STUDIES, Path())
    yield Checked("studies that are on", params.FILE.as_posix(), len(settings.studies))


PARTS = (_registries, _vignettes, _questions, _settings)


def _unedited() -> Iterator[str]:
    """Name the places that `equipoise new` marked for editing."""
    for path in sorted(path for pattern in WRITTEN for path in Path().glob(pattern)):
        try:
            lines = jsonl.read_text(path).splitlines()
        except EquipoiseError:  # a file of another kind in the folder
            continue
        for number, text in enumerate(lines, start=1):
            if found := UNEDITED.search(text):
                yield f"{path.as_posix()}, line {number}: {found.group().strip()}"
