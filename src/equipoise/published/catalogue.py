"""The catalogue of published figures, and the comparison of a recomputed figure with the published one.

The catalogue says what a source printed or released, where, and the verdict expected for our own figure. It has printed
figures and their places only: the data are outside the project.
"""

import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, StringConstraints, model_validator

from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import json_value, read_text
from equipoise.core.row import Frozen
from equipoise.core.yamlfile import load_yaml

Verdict = Literal["reproduced", "departs", "not printed"]

PRINTED = re.compile(
    r"(?P<relation>[<>]=?)?\s*(?P<sign>-?)(?P<digits>\d[\d,]*)(?P<decimals>\.\d+)?\s*(?P<percent>%)?", re.ASCII
)
BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EXACT = 1e-12
"""Allowance for a rounding half, which binary fractions would put beyond half a unit."""


class Quoted(NamedTuple):
    """A printed figure as a number: 16.2 % is 0.162 within 0.0005. `relation` is empty, or <, <=, >, >=."""

    relation: str
    value: float
    tolerance: float
    percent: bool


class Reference(NamedTuple):
    """A figure that others computed from the released data, and how far ours may be from it."""

    value: float
    tolerance: float


def read_printed(text: str) -> Quoted:
    """Read a figure as a paper prints it; raise ValueError for other text.

    The tolerance of a number is half a unit of its last place: "0.899" is 0.899 within 0.0005. A count is exact.
    """
    match = PRINTED.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"{text!r} is not a printed figure: give a number, optionally with < or > before it or % after it"
        )
    decimals = match["decimals"] or ""
    scale = 0.01 if match["percent"] else 1.0
    value = float(f"{match['sign']}{match['digits'].replace(',', '')}{decimals}") * scale
    rounded = bool(decimals or match["percent"]) and not match["relation"]
    tolerance = 0.5 * 10.0 ** -max(0, len(decimals) - 1) * scale if rounded else 0.0
    return Quoted(match["relation"] or "", value, tolerance, bool(match["percent"]))


def agrees(ours: float, quoted: Quoted) -> bool:
    """Whether a figure agrees with a printed figure, or is on the right side of a printed bound."""
    if quoted.relation:
        return BOUNDS[quoted.relation](ours, quoted.value)
    return abs(ours - quoted.value) <= quoted.tolerance + EXACT


def verdict(
    ours: float,
    *,
    paper: str | None = None,
    limit: str | None = None,
    reference: Reference | None = None,
    released: bool = False,
) -> Verdict:
    """Compare one figure with what was published.

    `departs` if it differs from the paper's (as printed), from the reference (beyond its tolerance), or breaks a limit;
    else `reproduced` if a paper printed it or its authors `released` the reference; else `not printed`.
    """
    if reference is not None and not abs(ours - reference.value) <= reference.tolerance + EXACT:
        return "departs"
    for printed in (paper, limit):
        if printed is not None and not agrees(ours, read_printed(printed)):
            return "departs"
    if paper is not None or (released and reference is not None):
        return "reproduced"
    return "not printed"


FILE = "anchors.yaml"
SIX_PLACES, FOUR_PLACES = 5.1e-7, 5.1e-5
"""Half a unit of the last decimal place, with room for a tie."""
NAMES = {
    "original_question": "original",
    "desensitized_question": "neutral",
    "desensitized": "neutral",
    "white|black": "race",
    "high_income|low_income": "ses",
    "male|female": "gender",
    "original_question|desensitized_question": "original_neutral",
    "original|desensitized": "original_neutral",
    "answer_counts_neutral": "letters",
    "ethnicity": "race",
    "SES": "ses",
}
"""Our names for the arms, pairs and attributes of released files."""
ENDS = ("low", "high")
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Values = dict[str, Any]


class Fetched(Frozen):
    """A file to fetch: its path here, and its GitHub repository, name there, commit and checksum."""

    path: Text
    repository: Text
    name: Text
    commit: Commit
    sha256: Sha256


class Source(Frozen):
    """The data of figures: the files needed, and why some of them cannot be fetched."""

    title: Text
    files: Annotated[tuple[Text, ...], Field(min_length=1)]
    unfetchable: Text | None = None


class Printed(Frozen):
    """One figure as it is printed (`paper`), or a bound that was set for it (`limit`)."""

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
            raise ValueError("give paper or limit, and not both")
        read_printed(self.paper or self.limit or "")
        return self


class Table(Frozen):
    """Figures whose ids begin with `id`, which are compared one by one with others of the same data.

    `against` says with which: figures that the authors released, or a second count of the released data, which was
    never printed. `values` are released figures that are in no file, `tolerance` their rounding; without values it is
    how far ours may be from those of expected.json, which are themselves drawn at random. `departs` lists exceptions to
    the expected verdict, with reasons.
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


class Catalogue(Frozen):
    """The file: sources by name, which is the first part of a figure's id, single figures and tables."""

    sources: dict[str, Source]
    fetch: tuple[Fetched, ...]
    printed: tuple[Printed, ...]
    tables: tuple[Table, ...]

    @model_validator(mode="after")
    def _names_known_sources(self) -> Self:
        ids = [entry.id for entry in self.printed] + [table.id for table in self.tables]
        if repeated := {name for name in ids if ids.count(name) > 1}:
            raise ValueError(f"duplicate id: {', '.join(sorted(repeated))}")
        for name in (*(entry.figure for entry in self.printed), *(table.id for table in self.tables)):
            if source_of(name) not in self.sources:
                raise ValueError(f"{name}: {source_of(name)} is not among the sources: add it")
        return self

    @model_validator(mode="after")
    def _says_what_cannot_be_fetched(self) -> Self:
        known = {file.path for file in self.fetch}
        for name, source in self.sources.items():
            if (source.unfetchable is None) != (set(source.files) <= known):
                raise ValueError(
                    f"sources.{name}: give unfetchable if, and only if, a file of the source is not under fetch"
                )
        return self

    def table_of(self, figure: str) -> Table | None:
        """Find the table of a figure: that with the longest id with which the figure's begins."""
        tables = [table for table in self.tables if f"{figure}/".startswith(f"{table.id}/")]
        return max(tables, key=lambda table: len(table.id), default=None)


def load_catalogue(data: Path) -> Catalogue:
    """Read `anchors.yaml` of the project's data folder; an error names the file and the field."""
    return load_yaml(data / FILE, Catalogue)


def source_of(figure: str) -> str:
    """Name the source of a figure."""
    return figure.split("/", maxsplit=1)[0]


def leaves(value: Any, prefix: str) -> Iterator[tuple[str, float]]:  # noqa: ANN401  (nested scalars)
    """List every number in nested mappings with its path; skip other values."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{prefix}/{name}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield prefix, value


def renamed(value: Any) -> Any:  # noqa: ANN401  (nested scalars)
    """Rename arms, pairs and attributes to our names, split compound keys, and name the ends of intervals."""
    if isinstance(value, list) and len(value) == len(ENDS):
        return dict(zip(ENDS, value, strict=True))
    if isinstance(value, dict):
        return {renamed_path(name): renamed(item) for name, item in value.items()}
    return value


def renamed_path(name: str) -> str:
    """Rename each part of a released figure's id to our name."""
    parts = name.removesuffix(".jsonl").split("/")
    return "/".join(NAMES.get(part, part) for part in parts)


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of one JSON object."""
    value = json_value(str(path), read_text(path))
    if not isinstance(value, dict):
        raise EquipoiseError(f"{path}: not a JSON object: give the file as it was released")
    return value
