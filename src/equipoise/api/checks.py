"""Checks of everything that people write, as by `equipoise check`."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from equipoise.core import jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.row import Row
from equipoise.figures.study import Checked
from equipoise.materials import cities
from equipoise.materials.questions import Item
from equipoise.models import registry
from equipoise.pipeline.check import require_sound
from equipoise.pipeline.steps import part
from equipoise.studies.registry import STUDIES

ITEMS = Path("data/items")
UNEDITED = re.compile(r"EDIT: [^\"|\n]*")
WRITTEN = ("models/*.yaml", "data/cities.yaml", "data/items/*", "data/raw/own/*.yaml", "data/features/*.yaml")
"""Where `equipoise new` writes."""
REGISTRIES: dict[str, tuple[str, Callable[[str, Path], object]]] = {
    "models": (registry.FOLDER, registry.load_entry),
    "judges": (registry.JUDGES, registry.load_judge_entry),
    "masked models": (registry.MASKED, registry.load_masked_entry),
}


def checked(progress: Callable[[int, int], object]) -> list[Checked]:
    """Read everything and list what is valid. The first fault is an EquipoiseError. `progress` gets (done, total)."""
    own = [module.checks for study in STUDIES if (module := part(study, "checks"))]
    parts = (_registries, *own, _items, _settings)
    valid: list[Checked] = []
    for number, read in enumerate(parts, start=1):
        valid += read(Path())
        progress(number, len(parts))
    return valid


def _registries(root: Path) -> Iterator[Checked]:
    for what, (folder, load) in REGISTRIES.items():
        names = registry.names(root / folder)
        for name in names:
            load(name, root)
        yield Checked(what, folder, len(names))


def _items(root: Path) -> Iterator[Checked]:
    for path in sorted((root / ITEMS).glob("*.jsonl")):
        yield Checked("items", path.as_posix(), sum(1 for _ in jsonl.each(path, _kind(path))))
    yield Checked("cities", cities.FILE.as_posix(), len(cities.load_cities(root / cities.FILE)))


def _kind(path: Path) -> type[Row]:
    """Find the kind of a file's rows from the first one: questions, unless it names a study with its own kind."""
    with path.open(encoding="utf-8", errors="replace") as rows:
        first = next(rows, "")
    return next((study.item for study in STUDIES.values() if study.item and f'"study": "{study.name}"' in first), Item)


def _settings(root: Path) -> Iterator[Checked]:
    settings = params.load(root / params.FILE)
    require_sound(settings, STUDIES, root)
    yield Checked("studies that are on", params.FILE.as_posix(), len(settings.studies))


def unedited() -> Iterator[str]:
    """Name the places that `equipoise new` marked for editing."""
    for path in sorted(path for pattern in WRITTEN for path in Path().glob(pattern)):
        try:
            lines = jsonl.read_text(path).splitlines()
        except EquipoiseError:  # a file of another kind in the folder
            continue
        for number, text in enumerate(lines, start=1):
            if mark := UNEDITED.search(text):
                yield f"{path.as_posix()}, line {number}: {mark.group().strip()}"
