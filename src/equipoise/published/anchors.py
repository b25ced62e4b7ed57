"""The comparison with every published figure: our value, the published one, and the verdict.

Studies compute the figures of their own sources (`anchors.py` in their folders). Those that belong to no study (the
letter parser, the choice of examination questions, the influence of concepts) are computed here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from equipoise.core.errors import EquipoiseError
from equipoise.core.tables import M, json_rows, rows_of, valid
from equipoise.published.catalogue import (
    SIX_PLACES,
    Catalogue,
    Printed,
    Reference,
    Table,
    Verdict,
    leaves,
    read_json,
    read_printed,
    renamed,
    source_of,
    verdict,
)
from equipoise.published.influence import influence_figures
from equipoise.text.letters import read_letter
from equipoise.text.neutral.lexicon import load_lexicon
from equipoise.text.neutral.neutralize import select

Figures = Mapping[str, float]
EXCEPTION: Verdict = "departs"
"""The verdict expected for a figure that its table lists as an exception."""
EXPECTED = "expected.json"
"""The file of the second count, which was made outside the project."""
SECTIONS = {"fsd_legacy_silent_bias": "fsd", "city_closed_form_amqa_d2": "cities"}
"""Our names for its sections."""
SMALL = {"p": 1e-6, "p_exact": 1e-9, "p_chi2_cc": 1e-9}
"""Relative tolerance of p-values, which are given in full."""
GRADED = ("mixtral-8x7b-instruct-v0.1", "meditron-7b")
SELECTION = "amqa/selection.jsonl"


@dataclass(frozen=True, slots=True)
class Anchors:
    """Published sources whose figures are computed in one place.

    Attributes:
        figures: By source, the function that computes our figures by id, from the folder of published data and the
            project's data folder.
        released: Reads the figures that others released, by id, from the folder of published data.
    """

    figures: Mapping[str, Callable[[Path, Path], Figures]]
    released: Callable[[Path], Mapping[str, Reference]] = lambda _: {}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: `paper` as printed, `released` as computed by others from the data; each may be None.

    `limit` is a bound for a figure with neither. `tolerance` is how far ours may be from the paper's, else from the
    released one. `table` is its entry in the catalogue.
    """

    id: str
    source: str
    table: str
    place: str
    what: str
    paper: str | None
    limit: str | None
    released: float | None
    ours: float
    tolerance: float
    verdict: Verdict
    expect: Verdict
    note: str

    @property
    def as_expected(self) -> bool:
        """Whether the catalogue expects the verdict."""
        return self.verdict == self.expect


@dataclass(frozen=True, slots=True)
class Compared:
    """All rows, printed figures first, and the first missing file of each source that is incomplete."""

    rows: tuple[Row, ...]
    missing: dict[str, str]


def compare(
    folder: Path,
    data: Path,
    catalogue: Catalogue,
    anchors: Sequence[Anchors],
    progress: Callable[[int, int], object] = lambda *_: None,
) -> Compared:
    """Compute the figures of every complete source, and compare them with the published ones.

    `progress` receives the number of sources done and their total.

    Raises:
        EquipoiseError: There are no data, or the catalogue or the data name a source or figure that is not computed.
    """
    figures_of = {name: function for group in anchors for name, function in group.figures.items()}
    if unknown := catalogue.sources.keys() - figures_of.keys():
        raise EquipoiseError(
            f"{min(unknown)}: nothing computes the figures of this source: name one of {', '.join(figures_of)}"
        )
    computed: dict[str, Figures] = {}
    missing: dict[str, str] = {}
    for number, (name, source) in enumerate(catalogue.sources.items(), start=1):
        absent = next((path for path in source.files if not (folder / path).exists()), None)
        if absent is None:
            computed[name] = figures_of[name](folder, data)
        else:
            missing[name] = absent
        progress(number, len(catalogue.sources))
    if not computed:
        raise EquipoiseError(
            f"{folder}: none of the published data is here ({missing[min(missing)]} and others): correct the path"
        )
    ours = {name: value for figures in computed.values() for name, value in figures.items()}
    known = references(folder, catalogue, anchors)
    if lacking := [name for name in known if source_of(name) in computed and name not in ours]:
        raise EquipoiseError(
            f"{lacking[0]}: no figure is computed for it ({len(lacking)} in all): correct its name, or compute it"
        )
    rows = [
        _printed(entry, ours, known, catalogue) for entry in catalogue.printed if source_of(entry.figure) in computed
    ]
    for name, value in ours.items():
        table = catalogue.table_of(name)
        if name in known and table is None:
            raise EquipoiseError(f"{name}: no table of the catalogue holds it: add one")
        if name in known and table is not None:
            rows.append(_released(name, value, known[name], table))
    return Compared(tuple(rows), missing)


def unexpected(rows: tuple[Row, ...]) -> list[Row]:
    """List the rows whose verdict is not the expected one."""
    return [row for row in rows if not row.as_expected]


def references(folder: Path, catalogue: Catalogue, anchors: Sequence[Anchors]) -> dict[str, Reference]:
    """Read all figures to compare with, by id: those of tables, of the second count and of released files."""
    known: dict[str, Reference] = {}
    for table in catalogue.tables:
        known |= {name: Reference(value, table.tolerance) for name, value in leaves(table.values, table.id)}
    if (folder / EXPECTED).exists():
        known |= {
            name: _recounted(name, value, catalogue.table_of(name))
            for name, value in _expected(folder / EXPECTED, catalogue)
        }
    for group in anchors:
        known |= group.released(folder)
    return known


class Graded(BaseModel):
    """A response with the released flag that says whether its letter is right."""

    response: str
    options: dict[str, str]
    gold: str
    is_correct: bool


class Selected(BaseModel):
    """An examination question, and whether AMQA kept it."""

    kept: bool
    question: str
    options: dict[str, str]


def released_rows(path: Path, kind: type[M]) -> list[M]:
    """Read a released file of one kind of rows; an error names the row."""
    fix = "give the file as it was released"
    return [valid(kind, row, where, fix) for where, row in rows_of(path, fix.removeprefix("give "), json_rows)]


def parser_figures(folder: Path, _data: Path) -> dict[str, float]:
    """Compute how often our reading of the letter agrees with the released flag, as `parser/<model>/…`."""
    figures: dict[str, float] = {}
    for model in GRADED:
        rows = released_rows(folder / f"parser/{model}.jsonl", Graded)
        agreeing = [(read_letter(row.response, row.options).letter == row.gold) == row.is_correct for row in rows]
        figures |= {f"parser/{model}/n": len(rows), f"parser/{model}/agreement": sum(agreeing) / len(rows)}
    return figures


def selection_figures(folder: Path, data: Path) -> dict[str, float]:
    """Compute how well our choice of examination questions agrees with AMQA's, as `selection/…`."""
    lexicon = load_lexicon(data / "lexicon")
    kept: dict[bool, list[bool]] = {True: [], False: []}
    for row in released_rows(folder / SELECTION, Selected):
        kept[row.kept].append(select(row.question, row.options, lexicon) is None)
    if not all(kept.values()):
        raise EquipoiseError(f"{folder / SELECTION}: all rows have one value of kept: give the file as it was released")
    sensitivity = sum(kept[True]) / len(kept[True])
    specificity = 1 - sum(kept[False]) / len(kept[False])
    return {
        "selection/n": len(kept[True]) + len(kept[False]),
        "selection/sensitivity": sensitivity,
        "selection/specificity": specificity,
        "selection/balanced_accuracy": (sensitivity + specificity) / 2,
    }


SHARED = Anchors({"parser": parser_figures, "selection": selection_figures, "walk_the_talk": influence_figures})
"""The sources that belong to no study."""


def _printed(entry: Printed, ours: Mapping[str, float], known: Mapping[str, Reference], catalogue: Catalogue) -> Row:
    figure = entry.figure
    if figure not in ours:
        raise EquipoiseError(f"{entry.id}: no figure {figure} is computed: correct its name in the catalogue")
    value, reference, table = ours[figure], known.get(figure), catalogue.table_of(figure)
    return Row(
        id=entry.id,
        source=source_of(figure),
        table=entry.id,
        place=entry.place,
        what=entry.what,
        paper=entry.paper,
        limit=entry.limit,
        released=None if reference is None else reference.value,
        ours=value,
        tolerance=read_printed(entry.paper or entry.limit or "").tolerance,
        verdict=verdict(
            value,
            paper=entry.paper,
            limit=entry.limit,
            reference=reference,
            released=table is not None and table.against == "release",
        ),
        expect=entry.expect,
        note=entry.note,
    )


def _released(name: str, value: float, reference: Reference, table: Table) -> Row:
    rest = name.removeprefix(f"{table.id}/")
    return Row(
        id=name,
        source=source_of(name),
        table=table.id,
        place=table.place,
        what=rest.replace("/", ", ").replace("_", " "),
        paper=None,
        limit=None,
        released=reference.value,
        ours=value,
        tolerance=reference.tolerance,
        verdict=verdict(value, reference=reference, released=table.against == "release"),
        expect=EXCEPTION if rest in table.departs else table.expect,
        note=table.departs.get(rest, ""),
    )


def _expected(path: Path, catalogue: Catalogue) -> Iterator[tuple[str, float]]:
    """List the numbers of the second count under our names, for the sources in the catalogue."""
    for section, value in read_json(path).items():
        if (name := SECTIONS.get(section, section)) in catalogue.sources:
            yield from leaves(renamed(value), name)


def _recounted(name: str, value: float, table: Table | None) -> Reference:
    if table is not None and table.tolerance and not table.values:
        return Reference(value, table.tolerance)
    if isinstance(value, int):
        return Reference(value, 0)
    relative = SMALL.get(name.rsplit("/", maxsplit=1)[-1])
    return Reference(value, SIX_PLACES if relative is None else relative * abs(value))
