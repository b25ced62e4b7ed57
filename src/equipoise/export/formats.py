"""The registry of formats, which alone names them all: a new one is a module beside this file, and a line here."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from equipoise.core.errors import EquipoiseError
from equipoise.export import bibtex, cards, croissant, eee, hazard, junit, pictures, tables, tripod
from equipoise.export.run import Run


class Format(NamedTuple):
    """A format: what it is, and the function that lays a run out as files, by their names within a folder."""

    summary: str
    files: Callable[[Run], Mapping[str, str] | Mapping[str, bytes]]


FORMATS: Mapping[str, Format] = {
    "junit": Format("JUnit XML, for continuous integration", junit.files),
    "eee": Format("Every Eval Ever 0.3, for shared stores of results", eee.files),
    "hf": Format("results and a model-card section for the Hugging Face Hub", cards.hub_files),
    "chai": Format("CHAI's Applied Model Card 0.2", cards.chai_files),
    "croissant": Format("Croissant 1.0 for the cases, with the files", croissant.files),
    "tripod": Format("the checklist TRIPOD-LLM", tripod.files),
    "hazard": Format("rows for a DCB0129 hazard log", hazard.files),
    "latex": Format("tables in LaTeX", tables.latex_files),
    "png": Format("tables and plots as PNG", pictures.png_files),
    "pdf": Format("tables and plots as PDF", pictures.pdf_files),
    "bibtex": Format("BibTeX for Equipoise and the run", bibtex.files),
}
"""Every format by name, in the order in which they are listed."""


def find_format(name: str) -> Format:
    """Give the format of a name; an unknown one is an EquipoiseError that lists them."""
    if name not in FORMATS:
        raise EquipoiseError(f"no format {name!r}: choose from {', '.join(FORMATS)}")
    return FORMATS[name]
