"""The catalogue of published figures: what a source printed or released, where, and what is expected of our own.

It holds printed figures and their places alone. The data lie outside the project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from equipoise.core.yamlfile import load_yaml
from equipoise.published.anchors.verdict import Verdict, read_printed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "anchors.yaml"
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Values = dict[str, Any]


class Entry(BaseModel):
    """A part of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fetched(Entry):
    """A file that can be fetched: where it comes to lie, its repository on GitHub and name there, commit and hash."""

    path: Text
    repository: Text
    name: Text
    commit: Commit
    sha256: Sha256


class Source(Entry):
    """Data that figures come from: the files needed, and why those that cannot be fetched cannot."""

    title: Text
    files: Annotated[tuple[Text, ...], Field(min_length=1)]
    unfetchable: Text | None = None


class Printed(Entry):
    """One figure as it is printed, or, where none is, a bound that was set for it (`limit`)."""

    id: Text
    figure: Text
    place: Text
    what: Text
    paper: Text | None = None
    limit: Text | None = None
    expect: Verdict
    note: str = ""

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        if (self.paper is None) == (self.limit is None):
            message = "give paper or limit, and not both"
            raise ValueError(message)
        read_printed(self.paper or self.limit or "")
        return self


class Table(Entry):
    """Figures that are compared one by one with others of the same data: all whose id begins with `id`.

    `against` says whose: figures that the authors released, or a second count of the released data, which nobody
    printed. `values` are released ones that no file at hand has, `tolerance` their rounding. `departs` names those of
    which another verdict is expected, with the reason.
    """

    id: Text
    place: Text
    what: Text
    against: Literal["release", "recount"]
    expect: Verdict
    note: str = ""
    values: Values = {}
    tolerance: Annotated[float, Field(ge=0)] = 0.0
    departs: dict[str, Text] = {}


class Catalogue(Entry):
    """The file: sources by name, which is the first part of a figure's id, single figures and tables."""

    sources: dict[str, Source]
    fetch: tuple[Fetched, ...]
    printed: tuple[Printed, ...]
    tables: tuple[Table, ...]

    @model_validator(mode="after")
    def _names_known_sources(self) -> Self:
        ids = [one.id for one in self.printed] + [one.id for one in self.tables]
        if repeated := {one for one in ids if ids.count(one) > 1}:
            message = f"id more than once: {', '.join(sorted(repeated))}"
            raise ValueError(message)
        for name in (*(one.figure for one in self.printed), *(one.id for one in self.tables)):
            if source_of(name) not in self.sources:
                message = f"{name}: {source_of(name)} is none of the sources: add it"
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _says_what_cannot_be_fetched(self) -> Self:
        known = {one.path for one in self.fetch}
        for name, source in self.sources.items():
            if (source.unfetchable is None) != (set(source.files) <= known):
                message = (
                    f"sources.{name}: unfetchable belongs to a source with files that are not under fetch: mend it"
                )
                raise ValueError(message)
        return self

    def table_of(self, figure: str) -> Table | None:
        """Find the table of a figure: of those whose id it begins with, the longest."""
        holding = [one for one in self.tables if f"{figure}/".startswith(f"{one.id}/")]
        return max(holding, key=lambda one: len(one.id), default=None)


def load_catalogue(data: Path) -> Catalogue:
    """Read `anchors.yaml` of the project's data folder; a fault names the file and the field."""
    return load_yaml(data / FILE, Catalogue)


def source_of(figure: str) -> str:
    """Name the source of a figure."""
    return figure.split("/", maxsplit=1)[0]


def leaves(value: Any, prefix: str) -> Iterator[tuple[str, float]]:  # noqa: ANN401  (nested scalars)
    """Give every number of nested mappings with the path that leads to it; other values are passed over."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{prefix}/{name}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield prefix, value
