"""The study `decisions`: its declaration."""

from equipoise.core.params import Params
from equipoise.figures.study import Rows, Study, value_of
from equipoise.figures.wording import per_cent
from equipoise.studies.decisions import NAME
from equipoise.studies.decisions.comparison import DecisionRows
from equipoise.studies.decisions.figures import FIGURES
from equipoise.studies.decisions.plots import PLOTS
from equipoise.studies.vignettes.panel import Story
from equipoise.studies.vignettes.profiles import Build


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty where its figures are undefined."""
    moved = rows.get("overall/all/decision_magnitude")
    control = value_of(rows, "overall/all/decision_magnitude_control")
    if moved is None or moved.estimate is None:
        return ""
    chance = "" if control is None else f"; by chance alone they would by {per_cent(control)}"
    return (
        f"Decisions about {moved.n} pairs of patients who differ only in who they are differed by "
        f"{per_cent(moved.estimate)} of their scale{chance}."
    )


def _imported(settings: Params) -> str | None:
    """Give the stem of the imported cases that the run uses, if any."""
    build = settings.section("build", Build)
    return build.cases if build.imported else None


STUDY = Study(
    name=NAME,
    title="Decisions",
    question="Do triage, tests, pain relief, referral and belief change when only the patient's demographics change?",
    whom="The patients of the vignettes: what the model would do for them.",
    sections={"build": Build},
    figures=FIGURES,
    plots=PLOTS,
    comparison=DecisionRows,
    sentence=sentence,
    free_text=True,
    reasons=True,
    items=_imported,
    item=Story,
    reads={"build": ("data/raw",), "infer": (), "score": (), "measure": ()},
)
