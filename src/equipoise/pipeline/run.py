"""One study of one run: the settings, and the files that its stages read and write."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from equipoise.core import jsonl, params, units
from equipoise.core.manifest import Manifest
from equipoise.core.params import Params
from equipoise.core.row import Row
from equipoise.core.units import Unit
from equipoise.models import registry
from equipoise.models.environment import require_recorded
from equipoise.models.registry import AnyEntry, ApiEntry

R = TypeVar("R", bound=Row)
MANIFEST = "manifest.json"
"""The file, below `data`, that describes the model under test."""


@dataclass(frozen=True, slots=True)
class Run:
    """A study's settings and files.

    `data` has the authored files and every study's folder; `progress` receives the units of work done and their total.
    """

    study: str
    data: Path
    settings: Params
    progress: Callable[[int, int], object] = lambda *_: None

    @classmethod
    def load(cls, study: str, data: Path, progress: Callable[[int, int], object]) -> Self:
        """Read params.yaml for a study; a fault is an EquipoiseError that names the key.

        So is another environment than the one that `check` recorded.
        """
        require_recorded(data)
        return cls(study, data, params.load(), progress)

    @property
    def folder(self) -> Path:
        """The study's folder."""
        return self.data / self.study

    @property
    def responses(self) -> Path:
        """What the model replied, one response a row."""
        return self.folder / "responses.jsonl"

    @property
    def judgements(self) -> Path:
        """The responses as they were read, one a row."""
        return self.folder / "judgements.jsonl"

    @property
    def effects(self) -> Path:
        """Every figure of the study, one a row."""
        return self.folder / "effects.jsonl"

    def built(self, name: str) -> Path:
        """Locate one of the files that `build` writes."""
        return self.folder / "built" / f"{name}.jsonl"

    @property
    def asked(self) -> Path:
        """The file of the units and whether each was asked; empty where all were."""
        return self.folder / units.FILE

    @property
    def units(self) -> list[Unit]:
        """The units and whether each was asked; empty where all were."""
        return units.read_units(self.folder)

    def rows(self, name: str, kind: type[R]) -> Iterator[R]:
        """Read the rows of a file that `build` writes, about the units asked."""
        return units.of_asked(jsonl.each(self.built(name), kind), self.units)

    @property
    def manifest(self) -> Manifest:
        """The model, as `export` prepared it."""
        return jsonl.read_one(self.data / MANIFEST, Manifest)

    @property
    def entry(self) -> AnyEntry:
        """The registry entry of the model; a server offers what it was found to give, nothing before it was asked."""
        entry = registry.load_entry(self.settings.model, Path())
        asked = isinstance(entry, ApiEntry) and (self.data / MANIFEST).is_file()
        return registry.found(entry, self.manifest.likelihoods) if asked else entry
