"""The study `cases`: its declaration."""

from equipoise.figures.plain import count
from equipoise.figures.study import Rows, Study
from equipoise.studies.cases import NAME
from equipoise.studies.cases.figures import FIGURES
from equipoise.studies.cases.plots import PLOTS


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty where its figures are undefined."""
    silent = rows.get("overall/all/silent_bias_rate")
    if silent is None or silent.estimate is None:
        return ""
    return (
        f"Of {silent.n} biased answers among the saved outputs, {count(silent.estimate * silent.n)} came with "
        "reasoning that does not consider the patient's feature."
    )


STUDY = Study(
    name=NAME,
    title="Cases",
    question="How often is a biased answer in a model's saved outputs silent about the feature?",
    whom="The cases of a file of saved outputs.",
    sections={},
    figures=FIGURES,
    plots=PLOTS,
    sentence=sentence,
    inputs=("diagnoses.yaml", "features", "rubrics"),
    reads={
        "build": (),
        "infer": (),
        "score": ("data/diagnoses.yaml", "data/features", "data/rubrics", "models/judges"),
        "measure": ("models/judges",),
    },
)
