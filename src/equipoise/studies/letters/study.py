"""The declaration of the study `letters`."""

from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE, Params
from equipoise.figures.options import Decision
from equipoise.figures.study import Rows, Study, value_of
from equipoise.figures.wording import per_cent
from equipoise.judge.passages import MANNERS
from equipoise.judge.rubric import require_reader
from equipoise.models.readiness import Machine
from equipoise.studies.letters import NAME
from equipoise.studies.letters.comparison import LetterRows
from equipoise.studies.letters.figures import FIGURES
from equipoise.studies.letters.plots import PLOTS
from equipoise.studies.letters.rows import Letters
from equipoise.studies.vignettes.profiles import Build


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty where its figures are undefined."""
    left, rate = rows.get("overall/all/omission_difference"), value_of(rows, "overall/all/omission_rate")
    if left is None or left.estimate is None or rate is None:
        return ""
    own_over_other = rows.get("overall/all/found_over_other")
    if own_over_other is None or own_over_other.ci_low is None or own_over_other.ci_low <= 0:
        return (
            "Letters told no more of their own case than of another: what they leave out says nothing about patients."
        )
    more = "more" if left.estimate >= 0 else "fewer"
    return (
        f"Letters left out {per_cent(rate)} of the facts of their case; over {left.n} pairs, those about marginalised "
        f"patients left out {per_cent(abs(left.estimate))} {more} than those about privileged ones."
    )


def require(settings: Params, root: Path, _: Machine) -> None:
    """Refuse a reader that reads no facts, a panel, and early stopping: the endpoint is read from all letters."""
    require_reader(settings.section("letters", Letters).reader, root, MANNERS)
    if NAME not in settings.studies:
        return
    if settings.section("build", Build).design != "pair":
        raise EquipoiseError(f"{FILE}: build.design: letters are about pairs: set it to pair, or leave letters out")
    if settings.section("decision", Decision).sequential:
        raise EquipoiseError(f"{FILE}: decision.sequential: letters are read after all of them: set it to false")


STUDY = Study(
    name=NAME,
    title="Letters",
    question="What does a letter leave out, soften or doubt when only the patient's demographics change?",
    whom="The patients of the vignettes: what a letter to the next doctor says of them.",
    sections={"build": Build, "letters": Letters},
    figures=FIGURES,
    plots=PLOTS,
    comparison=LetterRows,
    sentence=sentence,
    page="metrics/letters",
    free_text=True,
    asks=lambda _: {"score": "a reader finds the facts in the letters (letters.reader)"},
    judges=lambda settings: [settings.section("letters", Letters).reader],
    reads={"build": ("data/raw",), "infer": (), "score": ("data/lexicon/stigmatising.yaml",), "measure": ()},
    requires=require,
)
