"""The declaration of the study `questions`."""

from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE, Params
from equipoise.figures.study import Likelihoods, Rows, Study, value_of
from equipoise.figures.wording import more_or_fewer
from equipoise.materials import cities
from equipoise.models import registry
from equipoise.models.readiness import Machine
from equipoise.studies.questions import NAME
from equipoise.studies.questions.comparison import QuestionRows
from equipoise.studies.questions.figures import FIGURES
from equipoise.studies.questions.neutralize import Neutralize
from equipoise.studies.questions.plots import PLOTS
from equipoise.studies.questions.variants.agents import Perturb


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty if its figures are undefined."""
    effect = value_of(rows, "overall/all/group_effect")
    if effect is None:
        return ""
    return (
        f"Of 100 questions, the model would answer {more_or_fewer(effect)} correctly when the patient belongs to the "
        "privileged group and nothing else differs."
    )


def require(settings: Params, root: Path, _: Machine) -> None:
    """Refuse malformed cities, and an evaluator of attacks that is unknown or the model under test."""
    evaluator = settings.section("perturb", Perturb).evaluator
    if evaluator is not None:
        registry.load_entry(evaluator, root)
    if evaluator == settings.model:
        message = f"{FILE}: perturb.evaluator {evaluator} is the model under test: set it to null, which cross-fits it"
        raise EquipoiseError(message)
    cities.load_cities(root / cities.FILE)


def asks(settings: Params) -> dict[str, str]:
    """Say why the questions cannot be written again without a model, where one writes them or chooses among them."""
    chosen = settings.section("perturb", Perturb)
    if {chosen.generator, chosen.fuser} - {"rules", "replay"}:
        return {"build": "a model writes the variants (perturb.generator, perturb.fuser)"}
    return {"build": "a model chooses among attempts (perturb.attempts)"} if chosen.attempts > 1 else {}


STUDY = Study(
    name=NAME,
    reader="letters",
    title="Questions",
    question=(
        "Does accuracy on the same question drop for the unprivileged patient, and what does that mean for a city?"
    ),
    whom=(
        "Multiple-choice questions written for this project, each about patients of two groups, with a favourable "
        "and with an unfavourable background."
    ),
    sections={"neutralize": Neutralize, "perturb": Perturb},
    likelihoods=Likelihoods("perturb", "answering", "likelihood", "generate", alone=True),
    figures=FIGURES,
    plots=PLOTS,
    comparison=QuestionRows,
    faults=("violation_rate",),
    sentence=sentence,
    items=lambda settings: settings.items,
    larger="`dvc exp run -S neutralize.limit=0` asks all questions",
    asks=asks,
    reads={"build": ("data/lexicon",), "infer": (), "score": (), "measure": ("data/cities.yaml",)},
    requires=require,
)
