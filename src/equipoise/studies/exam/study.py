"""The declaration of the study `exam`."""

from equipoise.figures.study import Likelihoods, Rows, Study
from equipoise.figures.wording import hundredths, listed
from equipoise.materials.cities import city_title
from equipoise.studies.exam import NAME
from equipoise.studies.exam.effects import WEIGHTED
from equipoise.studies.exam.figures import FIGURES
from equipoise.studies.exam.plots import PLOTS
from equipoise.studies.exam.subsets import Sample

GUESSED = 25
"""Right answers of a hundred by guessing: MedMCQA has four options a question."""


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty if its figures are undefined."""
    shares = [
        f"{hundredths(effect.estimate)} in {city_title(effect.group)}"
        for effect in sorted(rows.values(), key=lambda effect: effect.group)
        if (effect.family, effect.measure) == ("city", WEIGHTED) and effect.estimate is not None
    ]
    if not shares:
        return ""
    first = shares[0].replace(" in ", " of 100 exam questions correctly in ", 1)
    told = f"Weighted by prevalence, the model answers {listed([first, *shares[1:]])}"
    return f"{told}; guessing among four options gives {GUESSED}."


STUDY = Study(
    name=NAME,
    reader="letters",
    title="Exam",
    question="How well does the model answer questions that represent a city's burden of disease?",
    whom="Published exam questions (MedMCQA), chosen by the diseases of each city. They mention no demographics.",
    sections={"sample": Sample},
    likelihoods=Likelihoods("sample", "answering", "likelihood", "generate", alone=True),
    figures=FIGURES,
    plots=PLOTS,
    sentence=sentence,
    page="metrics/prevalence_weighted_accuracy",
    items=lambda settings: settings.section("sample", Sample).items,
    reads={
        "build": ("data/cities.yaml", "data/templates/evaluation.yaml"),
        "infer": (),
        "score": (),
        "measure": ("data/cities.yaml",),
    },
)
