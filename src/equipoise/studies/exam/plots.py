"""The plots of the study, with the functions that lay out its effects as rows."""

from collections.abc import Sequence
from typing import get_args

from equipoise.figures.effects import Effect
from equipoise.figures.plot import Plot, Row, figure, select, undefined_row, words
from equipoise.materials.cities import city_title
from equipoise.materials.questions import Disease
from equipoise.studies.exam.effects import WEIGHTED

DISEASES: dict[str, str] = {
    **{disease: words(disease) for disease in get_args(Disease)},
    "dementia_neuro": "dementia, neurology",
}
WHOLE = {"accuracy": "all questions", WEIGHTED: "weighted by prevalence"}


def disease_rows(effects: Sequence[Effect]) -> list[Row]:
    """Lay out bars of the accuracy of valid answers by disease, then over all diseases, one bar for each city."""
    bars = [(label, "disease", f"/{disease}", "accuracy") for disease, label in DISEASES.items()]
    bars += [(label, "city", "", measure) for measure, label in WHOLE.items()]
    rows = [
        {**figure(effect), "group": label, "series": city_title(effect.group.removesuffix(end)), "panel": "MedMCQA"}
        for label, family, end, measure in bars
        for effect in select(effects, family, measure)
        if effect.group.endswith(end)
    ]
    return rows or [undefined_row(group=WHOLE["accuracy"], series="no city", panel="MedMCQA")]


PLOTS: dict[str, Plot] = {
    "diseases": Plot(
        layout=disease_rows,
        template="bars",
        title="Accuracy by disease and city, with {level} Wilson intervals (guessing among four options: 0.25)",
        x_label="share of valid answers that are right",
    ),
}
