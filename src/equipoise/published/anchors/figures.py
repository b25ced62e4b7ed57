"""Our own recomputation of every figure: one function a source, by the name that the catalogue gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.published.anchors.answers import amqa_figures, city_figures, fairmedprompt_figures
from equipoise.published.anchors.cities import equilens_figures, medmcqa_figures
from equipoise.published.anchors.language import fsd_figures, parser_figures, selection_figures
from equipoise.published.anchors.stigma import lin_figures, recursion_figures, token_figures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from equipoise.published.anchors.catalogue import Catalogue

Figures = dict[str, float]

SOURCES: dict[str, Callable[[Path, Path], Figures]] = {
    "amqa": amqa_figures,
    "fairmedprompt": fairmedprompt_figures,
    "cities": city_figures,
    "equilens": equilens_figures,
    "medmcqa": medmcqa_figures,
    "lin": lin_figures,
    "recursion": recursion_figures,
    "tokens": token_figures,
    "fsd": fsd_figures,
    "parser": parser_figures,
    "selection": selection_figures,
}
"""Each takes the folder of anchors and the project's data folder, and gives figures by id."""


def compute(
    folder: Path,
    data: Path,
    catalogue: Catalogue,
    progress: Callable[[int, int], object] = lambda done, total: None,  # noqa: ARG005  (names for the caller)
) -> tuple[dict[str, Figures], dict[str, str]]:
    """Compute the figures of every source whose files are all there; give the first missing file of the others.

    `progress` is told how many of how many sources are done.

    Raises:
        EquipoiseError: The catalogue names a source that nothing computes.
    """
    if unknown := catalogue.sources.keys() - SOURCES.keys():
        message = f"{min(unknown)}: nothing computes the figures of this source: name one of {', '.join(SOURCES)}"
        raise EquipoiseError(message)
    found: dict[str, Figures] = {}
    missing: dict[str, str] = {}
    for number, (name, source) in enumerate(catalogue.sources.items(), start=1):
        absent = next((path for path in source.files if not (folder / path).exists()), None)
        if absent is None:
            found[name] = SOURCES[name](folder, data)
        else:
            missing[name] = absent
        progress(number, len(catalogue.sources))
    return found, missing
