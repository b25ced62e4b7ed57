"""Read the four authored files into a library whose every reference resolves.

This is the one place that reads `data/raw/*.yaml`; a fault in a file is reported in one line that names the file, the
row, the field and the fix.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Frozen
from equipoise.core.yamlfile import read_yaml
from equipoise.vignettes import design
from equipoise.vignettes.compose import Parts, misfit
from equipoise.vignettes.schema import Contrast, Dimension, Pair, Persona, Presentation, Setting

FILES = {
    "personas.yaml": ("personas",),
    "presentations.yaml": ("presentations",),
    "contrasts.yaml": ("dimensions", "settings", "contrasts"),
    "pairs.yaml": ("pairs",),
}
"""The authored files, and the lists of rows that each holds."""

_FIXES = {
    "missing": "add it",
    "extra_forbidden": "remove it, or correct its spelling",
    "string_type": "write text (put numbers and yes/no in quotes)",
    "string_too_short": "write some text",
    "string_pattern_mismatch": "use lower-case letters, digits and single hyphens",
    "too_short": "add the rows that are missing",
}

A = TypeVar("A", bound=Frozen)


@dataclass(frozen=True)
class Library:
    """The authored rows by id, each mapping in the order of its file; `dimensions` gives the canonical order."""

    personas: dict[str, Persona]
    presentations: dict[str, Presentation]
    dimensions: dict[str, Dimension]
    settings: dict[str, Setting]
    contrasts: dict[str, Contrast]
    pairs: dict[str, Pair]

    def parts(self, pair: Pair) -> Parts:
        """The rows that a planned pair refers to, its contrasts in canonical order; KeyError for an unknown id."""
        order = list(self.dimensions)
        contrasts = sorted((self.contrasts[name] for name in pair.contrasts), key=lambda c: order.index(c.dimension))
        return Parts(
            presentation=self.presentations[pair.presentation],
            persona=self.personas[pair.persona],
            setting=self.settings[pair.setting],
            contrasts=tuple(contrasts),
            stereotype=pair.stereotype,
        )


def load_library(folder: Path) -> Library:
    """Read and check the four files of `folder`; EquipoiseError names the first fault found."""
    return check_library({name: read_yaml(folder / name) for name in FILES}, folder)


def check_library(files: Mapping[str, Any], folder: Path) -> Library:
    """Check the plain values of the four files, given by file name; `folder` serves only to name them in an error."""
    for file, names in FILES.items():
        _check_shape(files[file], names, folder / file)

    def parse(file: str, name: str, model: type[A]) -> dict[str, A]:
        return _parse(files[file][name], model, where=f"{folder / file}: {name}")

    library = Library(
        personas=parse("personas.yaml", "personas", Persona),
        presentations=parse("presentations.yaml", "presentations", Presentation),
        dimensions=parse("contrasts.yaml", "dimensions", Dimension),
        settings=parse("contrasts.yaml", "settings", Setting),
        contrasts=parse("contrasts.yaml", "contrasts", Contrast),
        pairs=parse("pairs.yaml", "pairs", Pair),
    )
    design.check_panel(library.personas.values(), str(folder / "personas.yaml"))
    design.check_dimensions(library.dimensions.values(), str(folder / "contrasts.yaml"))
    _check_references(library, folder)
    _check_pairs(library, folder)
    planned = [(pair, [c.dimension for c in library.parts(pair).contrasts]) for pair in library.pairs.values()]
    design.check_plan(planned, str(folder / "pairs.yaml"))
    return library


def _check_shape(content: object, names: tuple[str, ...], path: Path) -> None:
    if not isinstance(content, dict) or set(content) != set(names):
        found = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        message = f"{path}: the top level must hold exactly the keys {', '.join(names)}, not {found}; correct the keys"
        raise EquipoiseError(message)
    for name in names:
        if not isinstance(content[name], list) or not content[name]:
            message = f"{path}: {name} must be a list with at least one row; add the rows as '- id: …'"
            raise EquipoiseError(message)


def _parse(rows: list[Any], model: type[A], where: str) -> dict[str, A]:
    parsed: dict[str, A] = {}
    for index, row in enumerate(rows):
        name = row.get("id") if isinstance(row, dict) else None
        place = f"{where}[{index}]" + (f" ({name})" if name is not None else "")
        try:
            instance = model.model_validate(row)
        except ValidationError as error:
            message = f"{place}: {_fault(error.errors())}"
            raise EquipoiseError(message) from error
        if name in parsed:
            message = f"{place}: field id: the id {name!r} is used twice; give each row an id of its own"
            raise EquipoiseError(message)
        parsed[str(name)] = instance
    return parsed


def _fault(errors: list[ErrorDetails]) -> str:
    first = errors[0]
    field = ".".join(map(str, first["loc"]))
    text = f"field {field}: " if field else ""
    if first["type"] == "value_error":  # our own rules carry their fix
        text += first["msg"].removeprefix("Value error, ")
    else:
        text += f"{first['msg']}; {_FIXES.get(first['type'], 'correct the value')}"
    return text + (f" (and {len(errors) - 1} more faults in this row)" if len(errors) > 1 else "")


def _check_references(library: Library, folder: Path) -> None:
    def check(field: str, names: Iterable[str], known: Collection[str]) -> None:
        for name in names:
            if name not in known:
                nearest = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join(known)}"
                message = f"{field}: unknown id {name!r}; {hint}"
                raise EquipoiseError(message)

    for contrast in library.contrasts.values():
        place = f"{folder / 'contrasts.yaml'}: contrasts ({contrast.id}): field"
        check(f"{place} dimension", [contrast.dimension], library.dimensions)
    for presentation in library.presentations.values():
        place = f"{folder / 'presentations.yaml'}: presentations ({presentation.id}): field"
        check(f"{place} settings", presentation.settings, library.settings)
        check(f"{place} stereotypes", presentation.stereotypes, library.dimensions)
        for dimension, stereotype in presentation.stereotypes.items():
            of_dimension = [contrast.id for contrast in library.contrasts.values() if contrast.dimension == dimension]
            check(f"{place} stereotypes.{dimension}.contrasts", stereotype.contrasts, of_dimension)
    known: Mapping[str, Collection[str]] = {
        "presentation": library.presentations,
        "persona": library.personas,
        "setting": library.settings,
        "stereotype": library.dimensions,
    }
    for pair in library.pairs.values():
        place = f"{folder / 'pairs.yaml'}: pairs ({pair.id}): field"
        for field, ids in known.items():
            check(f"{place} {field}", [getattr(pair, field)], ids)
        check(f"{place} contrasts", pair.contrasts, library.contrasts)


def _check_pairs(library: Library, folder: Path) -> None:
    for pair in library.pairs.values():
        if reason := misfit(library.parts(pair)):
            message = f"{folder / 'pairs.yaml'}: pairs ({pair.id}): {reason}; choose parts that fit"
            raise EquipoiseError(message)
