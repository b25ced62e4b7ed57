"""The study `exam`: its declaration."""

from equipoise.figures.plain import hundredths, listed
from equipoise.figures.study import Likelihoods, Rows, Study
from equipoise.studies.exam import NAME
from equipoise.studies.exam.figures import FIGURES
from equipoise.studies.exam.plots import PLOTS
from equipoise.studies.exam.subsets import Sample


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty where its figures are undefined."""
    measure = "prevalence_weighted_accuracy"
    cities = {row.group: row.estimate for row in rows.values() if (row.family, row.measure) == ("city", measure)}
    told = [f"{hundredths(value)} in {city.title()}" for city, value in sorted(cities.items()) if value is not None]
    if not told:
        return ""
    return f"Of 100 exam questions, asked as often as their diseases occur, the model answers correctly {listed(told)}."


STUDY = Study(
    name=NAME,
    title="Exam",
    question="How well are the questions answered that represent a city's burden of disease?",
    whom="Published exam questions (MedMCQA), chosen by the diseases of each city. They tell of no demographics.",
    sections={"sample": Sample},
    likelihoods=Likelihoods("sample", "answering", "likelihood", "generate"),
    figures=FIGURES,
    plots=PLOTS,
    sentence=sentence,
    page="metrics/prevalence_weighted_accuracy",
    inputs=("cities.yaml", "medmcqa_diseases.yaml", "templates"),
    items=lambda settings: settings.section("sample", Sample).items,
    reads={
        "build": ("data/cities.yaml", "data/items", "data/raw", "data/templates"),
        "infer": ("data/phantoms",),
        "score": (),
        "measure": ("data/cities.yaml",),
    },
)
