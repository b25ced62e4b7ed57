"""The registry of studies: the one place that names them all.

A new study is a folder beside this file, a line here, its sections of params.yaml, and a page of the documentation
(docs/howto/add-study.md).
"""

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import Params
from equipoise.figures.figure import Figure
from equipoise.figures.study import Study, require_known
from equipoise.studies.cases.study import STUDY as CASES
from equipoise.studies.decisions.study import STUDY as DECISIONS
from equipoise.studies.exam.study import STUDY as EXAM
from equipoise.studies.letters.study import STUDY as LETTERS
from equipoise.studies.openr1.study import STUDY as OPENR1
from equipoise.studies.questions.study import STUDY as QUESTIONS
from equipoise.studies.stigma.study import STUDY as STIGMA
from equipoise.studies.vignettes.study import STUDY as VIGNETTES

STUDIES: dict[str, Study] = {
    study.name: study for study in (VIGNETTES, QUESTIONS, EXAM, STIGMA, DECISIONS, LETTERS, OPENR1, CASES)
}
"""Every study by name, in the order in which they are reported."""
TITLES: dict[str, str] = {name: study.title for name, study in STUDIES.items()}
FIGURES: tuple[Figure, ...] = tuple(figure for study in STUDIES.values() for figure in study.figures)
"""Every headline figure, in the order in which they are shown."""
BOARD: tuple[Figure, ...] = tuple(figure for figure in FIGURES if figure.board)
"""Columns of the leaderboard and cards of the report."""


def find_study(name: str) -> Study:
    """Give the study of a name; an unknown one is an EquipoiseError that lists them."""
    if name not in STUDIES:
        raise EquipoiseError(f"no study {name!r}: choose one of {', '.join(STUDIES)}")
    return STUDIES[name]


def chosen(settings: Params) -> list[Study]:
    """Give the studies that params.yaml names, in its order; an unknown one is an EquipoiseError."""
    return require_known(settings, STUDIES)
