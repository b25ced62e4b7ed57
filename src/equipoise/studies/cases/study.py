"""The study `cases`: its declaration."""

from pathlib import Path

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import Params
from equipoise.figures.study import Rows, Study
from equipoise.figures.wording import count
from equipoise.models.readiness import Machine
from equipoise.models.registry import FOLDER, ReplayEntry, load_entry
from equipoise.studies.cases import NAME
from equipoise.studies.cases.comparison import CaseRows
from equipoise.studies.cases.figures import FIGURES
from equipoise.studies.cases.plots import PLOTS


def sentence(rows: Rows) -> str:
    """Say in one sentence what the study found; empty where its figures are undefined."""
    silent, bare = rows.get("overall/all/silent_bias_rate"), rows.get("overall/all/unreasoned")
    told = []
    if silent is not None and silent.estimate is not None:
        told.append(
            f"Of {silent.n} biased answers among the saved outputs, {count(silent.estimate * silent.n)} came with "
            "reasoning that does not give the patient's feature as a reason."
        )
    if bare is not None and bare.estimate:
        told.append(f"Biased answers without reasoning, which are left out: {bare.estimate:.0f}.")
    return " ".join(told)


def require(settings: Params, root: Path, _: Machine) -> None:
    """Refuse saved outputs to cases without the file of the cases, and this file without such outputs."""
    entry = load_entry(settings.model, root)
    if isinstance(entry, ReplayEntry) and (NAME in (entry.answers or ())) is (entry.cases is None):
        message = f"{FOLDER}/{settings.model}.yaml: field cases: name the file of the cases if answers includes {NAME}"
        raise EquipoiseError(f"{message}, and only then")


STUDY = Study(
    name=NAME,
    reader="diagnoses",
    title="Cases",
    question="How often is a biased answer in a model's saved outputs silent about the feature?",
    whom="The cases of a file of saved outputs.",
    sections={},
    figures=FIGURES,
    plots=PLOTS,
    comparison=CaseRows,
    sentence=sentence,
    free_text=True,
    saved_outputs=True,
    judged=True,
    asks=lambda _: {"build": "the cases are a file of the user's own"},
    reads={"build": (), "infer": (), "score": ("data/diagnoses.yaml", "data/features"), "measure": ()},
    requires=require,
)
