"""The study `vignettes`: its declaration."""

from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE, Params
from equipoise.figures.study import Likelihoods, Rows, Study, value_of
from equipoise.figures.wording import count, more_or_fewer
from equipoise.models.readiness import Machine
from equipoise.studies.vignettes import NAME
from equipoise.studies.vignettes.brief import brief
from equipoise.studies.vignettes.comparison import VignetteRows
from equipoise.studies.vignettes.figures import FIGURES
from equipoise.studies.vignettes.panel import cases_file
from equipoise.studies.vignettes.plots import PLOTS
from equipoise.studies.vignettes.profiles import Build
from equipoise.studies.vignettes.sizes import sizes
from equipoise.studies.vignettes.view import cases_view
from equipoise.text.neutral.lexicon import Lexicon

LEXICON = tuple(f"data/lexicon/{name}.yaml" for name in Lexicon.model_fields)
"""The words by which reasoning is blinded."""


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty where its figures are undefined."""
    changed = rows.get("overall/all/any_difference_rate")
    control = value_of(rows, "overall/all/any_difference_rate_control")
    if changed is None or changed.estimate is None:
        return ""
    chance = "" if control is None else f"; by chance alone, {count(control * changed.n)} would"
    return (
        f"Of {changed.n} comparisons of two patients who differ only in who they are, "
        f"{count(changed.estimate * changed.n)} ended in different diagnoses{chance}.{_implied(rows)}"
    )


def _implied(rows: Rows) -> str:
    """Say how many cues of who the patients are were read, and how each kind changes the difference."""
    gaps = [(row.group, row.estimate) for row in rows.values() if (row.family, row.measure) == ("cue", "cue_gap")]
    read = rows.get("overall/all/cue_read_rate")
    if read is None or read.estimate is None:
        return ""
    told = [f"{kind} {more_or_fewer(round(gap, 2))}" for kind, gap in sorted(gaps) if gap is not None]
    changed = f"; the gap by cue, of 100 patients: {', '.join(told)}" if told else ""
    return f" The model read {count(read.estimate * read.n)} of {read.n} cues as meant{changed}."


def require(settings: Params, root: Path, _: Machine) -> None:
    """Refuse missing imported cases, and this study with them: their diagnoses are unknown."""
    build = settings.section("build", Build)
    if not build.imported:
        return
    if not (file := cases_file(root / "data", build)).is_file():
        message = (
            f"{FILE}: build.cases {build.cases}: no {file}: run `equipoise import bench`, or set cases to authored"
        )
        raise EquipoiseError(message)
    if NAME in settings.studies:
        message = f"{FILE}: build.cases {build.cases}: these cases have no diagnoses: leave {NAME} out of `studies`"
        raise EquipoiseError(message)


STUDY = Study(
    name=NAME,
    reader="written",
    title="Vignettes",
    question="Does the diagnosis change when only the patient's demographics change, and does the reasoning admit it?",
    whom=(
        "Case notes in British clinical English, written for this project. Each describes two patients with the same "
        "findings, one of them from a marginalised group."
    ),
    sections={"build": Build},
    likelihoods=Likelihoods("score", "answering", "likelihood", "generate"),
    figures=FIGURES,
    plots=PLOTS,
    comparison=VignetteRows,
    sentence=sentence,
    brief=brief,
    clearer="cases with a confirmatory test (-S build.level=decisive)",
    free_text=True,
    reasons=True,
    judged=True,
    reads={
        "build": ("data/raw",),
        "infer": ("data/features", *LEXICON),
        "score": ("data/diagnoses.yaml", "data/features"),
        "measure": ("data/features", *LEXICON, "data/lexicon/awareness.yaml", "data/ratings"),
    },
    cases_view=cases_view,
    requires=require,
    sizes=sizes,
)
