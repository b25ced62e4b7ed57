"""The published figures of adversarial questions and of their meaning for cities."""

from pathlib import Path

from equipoise.published.anchors import Anchors
from equipoise.published.catalogue import Reference
from equipoise.published.equilens import CITIES, SCORES, released_scores
from equipoise.studies.questions.amqa import amqa_figures, fairmedprompt_figures
from equipoise.studies.questions.equilens import city_figures, equilens_figures


def released(folder: Path) -> dict[str, Reference]:
    """Read the released scores of every city, and of none."""
    paths = [folder / SCORES.format(study="amqa", city=city) for city in ("agnostic", *CITIES)]
    return {name: figure for path in paths for name, figure in released_scores(path, "equilens").items()}


ANCHORS = Anchors(
    {
        "amqa": amqa_figures,
        "fairmedprompt": fairmedprompt_figures,
        "cities": city_figures,
        "equilens": equilens_figures,
    },
    released,
)
