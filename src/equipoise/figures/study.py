"""The declaration of a study: its question, settings, figures, plots, and the files that it reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from equipoise.core.errors import EquipoiseError
from equipoise.core.params import FILE, Params
from equipoise.core.row import Row
from equipoise.figures.comparison import RunRows
from equipoise.figures.effects import Effect
from equipoise.figures.figure import Figure
from equipoise.figures.plot import Plot
from equipoise.figures.size import Size
from equipoise.figures.views import Brief, CasesView
from equipoise.models.readiness import Machine

Rows = Mapping[str, Effect]
"""A study's defined effects by `family/group/measure`."""


def value_of(rows: Rows, key: str) -> float | None:
    """Find the estimate of a key, or None."""
    return rows[key].estimate if key in rows else None


class Checked(NamedTuple):
    """What is valid, its place, and its number of rows or files."""

    what: str
    where: str
    n: int


Reader = Literal["letters", "diagnoses", "written"]
"""What reads an answer from a text: a letter, the diagnosis of a saved output, or an answer of a case's set."""


class Likelihoods(NamedTuple):
    """A setting that needs likelihoods: `section.field` with `value`; with `other` it does not.

    `exact`: those of whole candidates, since the first token alone does not tell them apart.
    """

    section: str
    field: str
    value: str
    other: str
    exact: bool = False


def _nothing(*_: object) -> None:
    """Require nothing, and show nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """One study, as its folder declares it in `study.py`; `equipoise.studies.registry` collects them.

    Its steps are the functions `build`, `infer`, `score` and `measure` in the modules of these names beside `study.py`
    (`equipoise.pipeline.steps`). Optional modules are found by their names: `infer`, for a study whose prompts are not
    merely asked; `stopping`, for one that can stop early; `commands`, its commands; `checks`, what `equipoise check`
    reads; `anchors`, its published figures; `tables`, answers that `equipoise.compare` accepts.

    Attributes:
        name: The name of the folder, which is also that of the study in params.yaml and below `data/`.
        title: The name that readers see.
        question: What the study asks, in one sentence.
        whom: Whom it is about: one or two sentences for the report.
        sections: The sections of params.yaml that belong to the study, with their types.
        likelihoods: The setting, if any, under which it needs likelihoods.
        figures: Its headline figures, in the order in which they are shown.
        plots: Its plots, by the stem of their files.
        comparison: A run's rows of the study, and how two runs are compared; None if no figure is compared.
        faults: Measures that are 0 in a sound run.
        sentence: Says in one sentence what was found; empty where there was nothing to compare.
        brief: What those who decide ask first, in numbers; None for nothing.
        clearer: What asks the same with clearer evidence, for a model that cannot tell right from wrong; may be empty.
        page: The page of the documentation about its endpoint, below docs/ and without `.md`; empty for the page on
            verdicts.
        reader: What reads its written answers, if anything: `letters` or `diagnoses` (`equipoise.figures.reading`).
        free_text: Whether the model answers in sentences of its own; otherwise replies are letters, and often equal.
        reasons: Whether it reasons about each case in a turn of its own before it answers.
        saved_outputs: Whether it reads outputs saved elsewhere instead of asking a model.
        items: Gives the stem of the file in data/items that it reads, or None.
        item: The type of the rows in that file, where they are not multiple-choice questions.
        judged: Whether the judge of params.yaml reads its reasoning.
        judges: Names further judges of the registry that it uses.
        masked: Names the masked model of the registry that it asks, or None.
        asks: Names the stages (`build`, `score`) that only a model or a file of the user's own can repeat under some
            settings, each with the reason.
        reads: For each stage, the files and folders that it reads, apart from settings, files that settings name,
            and other stages' outputs.
        cases_view: Lays out a run's cases for the report, from the data folder and the settings; None for no cases. The
            report shows those of the first study that has any.
        requires: Refuses settings that cannot work, with an EquipoiseError; takes the settings, the
            project's root and the machine.
        sizes: Lists the sizes that the study can have for a verdict, smallest first, from the settings and the data
            folder; None where no setting makes it as large as a verdict needs.
    """

    name: str
    title: str
    question: str
    whom: str
    sections: Mapping[str, type[BaseModel]] = field(default_factory=dict)
    likelihoods: Likelihoods | None = None
    figures: tuple[Figure, ...] = ()
    plots: Mapping[str, Plot] = field(default_factory=dict)
    comparison: type[RunRows[Any]] | None = None
    faults: tuple[str, ...] = ()
    sentence: Callable[[Rows], str] = lambda _: ""
    brief: Callable[[Rows], Brief | None] = _nothing
    clearer: str = ""
    page: str = ""
    reader: Reader | None = None
    free_text: bool = False
    reasons: bool = False
    saved_outputs: bool = False
    items: Callable[[Params], str | None] = lambda _: None
    judged: bool = False
    judges: Callable[[Params], Sequence[str]] = lambda _: ()
    masked: Callable[[Params], str | None] = lambda _: None
    asks: Callable[[Params], Mapping[str, str]] = lambda _: {}
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    item: type[Row] | None = None
    cases_view: Callable[[Path, Params], CasesView | None] = _nothing
    requires: Callable[[Params, Path, Machine], object] = _nothing
    sizes: Callable[[Params, Path], Sequence[Size]] | None = None


def require_known(settings: Params, studies: Mapping[str, Study]) -> list[Study]:
    """Find the studies that params.yaml names; an unknown one is an EquipoiseError that lists the known ones."""
    if unknown := [name for name in settings.studies if name not in studies]:
        raise EquipoiseError(f"{FILE}: studies: no study {unknown[0]!r}: choose from {', '.join(studies)}")
    return [studies[name] for name in settings.studies]
