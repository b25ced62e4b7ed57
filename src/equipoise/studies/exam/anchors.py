"""The published figures of examination questions by city and disease."""

from pathlib import Path

from equipoise.published.anchors import Anchors
from equipoise.published.catalogue import Reference
from equipoise.published.equilens import CITIES, SCORES, released_scores
from equipoise.studies.exam.medmcqa import QUESTIONS, medmcqa_figures, released_sizes


def released(folder: Path) -> dict[str, Reference]:
    """Read the released scores of every city, and the sizes of its question set by disease."""
    figures: dict[str, Reference] = {}
    for city in ("agnostic", *CITIES):
        figures |= released_scores(folder / SCORES.format(study="medmcqa", city=city), "medmcqa")
        figures |= released_sizes(folder / QUESTIONS.format(city=city), city)
    return figures


ANCHORS = Anchors({"medmcqa": medmcqa_figures}, released)
