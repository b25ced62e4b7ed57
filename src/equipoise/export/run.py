"""The last run as every export reads it: its studies with their verdicts in words, its model, and its settings.

A verdict leaves this module as a sentence (`Assessment.claim`), and so does a component of it (`Assessment.sentence`):
with its words, interval, margin and reasons, never as a bare number.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from equipoise.core import jsonl, params, provenance
from equipoise.core.display import number
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.params import Params
from equipoise.figures.effects import Effect
from equipoise.figures.figure import Figure, headline_effects
from equipoise.figures.layout import read_result
from equipoise.figures.look import look
from equipoise.figures.needed import margin_words
from equipoise.figures.options import Decision, Measure
from equipoise.figures.result import UNBIASED, Part, StudyResult
from equipoise.figures.study import Study
from equipoise.models import registry
from equipoise.report.inputs import Input, every_input
from equipoise.report.opening import Opening, opening
from equipoise.report.page import identity
from equipoise.studies.registry import chosen

BY_DEVELOPER = "To be completed by the developer."
"""What a card or a checklist says where the run knows nothing."""
LIMITS = (
    "The figures describe these cases and this version of the model, not patients. The cases that ship are "
    "authored, and no clinician has reviewed them yet. A verdict of no bias holds for the declared figures and margins "
    "alone."
)
"""What every export says beside a verdict."""
STATES = {"within": "Within its margin", "beyond": "Biased beyond its margin", "open": "Undecided"}
"""The words for the state of a component; only all components, with what else a verdict needs, amount to no bias."""


class Assessment(NamedTuple):
    """A study and what was measured.

    `opening` has its state and its sentences as the report has them, `look` says that the run is too small for a
    verdict of no bias, `rows` are its headline figures, and `level` is the confidence level of the verdict's intervals.
    """

    study: Study
    result: StudyResult
    opening: Opening
    look: str
    rows: list[tuple[Figure, Effect]]
    level: float

    @property
    def state(self) -> str:
        """The verdict's words, or that there is none."""
        return self.opening.state

    @property
    def claim(self) -> str:
        """The verdict in full: its words and reasons, its figure with interval, and its margin."""
        verdict = self.result.verdict
        if verdict is None:
            return f"No verdict: the endpoint has no margin. {self.opening.sentence}"
        return " ".join(filter(None, [self.look, verdict.sentence]))

    @property
    def parts(self) -> Sequence[Part]:
        """The components of the endpoint; none without a verdict."""
        return () if self.result.verdict is None else self.result.verdict.parts

    def sentence(self, part: Part) -> str:
        """Write a component as a sentence: its state, its figure with interval and n, its margin, and the reason.

        For a component within its margin, in a study without a verdict of no bias, it says that this alone shows
        nothing.
        """
        figure, row = part.figure, part.row
        shown = "; ".join(filter(None, [estimate(row), interval(row, self.level), f"n = {row.n}"]))
        reason = f" {part.reason[0].upper()}{part.reason[1:]}." if part.reason else ""
        if part.state == "within" and self.state != UNBIASED:
            reason = f" Alone this shows nothing, the study's verdict is: {self.state}."
        margin = margin_words(figure, part.component)
        return f"{STATES[part.state]}: {figure.title}: {shown}; margin {margin}.{reason}"


class Run(NamedTuple):
    """The last run.

    `made` is the time at which it was made, in UTC; None where it was not made here. `now` is the time of the export,
    `alpha` is 1 − the level of the figures' intervals.
    """

    root: Path
    data: Path
    settings: Params
    title: str
    manifest: Manifest
    studies: list[Assessment]
    inputs: list[Input]
    alpha: float
    made: datetime | None
    commit: str | None
    now: datetime

    @property
    def intended_use(self) -> str:
        """What the model is meant for, as params.yaml states it; empty where it does not."""
        return self.settings.intended_use or ""

    @property
    def version(self) -> str:
        """The model's origin and revision."""
        return f"{self.manifest.repo}, {self.manifest.revision}"

    @property
    def date(self) -> datetime:
        """When the run was made; the time of the export where that is not known."""
        return self.made or self.now


def read_run(data: Path, root: Path, now: datetime | None = None) -> Run:
    """Read the last run: `data` has its rows, and `root` its params.yaml and its registries.

    Raises:
        EquipoiseError: There is no run, its model is not the one that params.yaml names, or a file is malformed.
    """
    settings = params.load(root / params.FILE)
    file = data / "manifest.json"
    if not file.is_file():
        raise EquipoiseError(f"{file}: there is no run to export: run `dvc repro`, or restore one with `make pull`")
    manifest = jsonl.read_one(file, Manifest)
    if manifest.model != settings.model:
        other = f"the last run is one of {manifest.model}, and {params.FILE} names {settings.model}"
        raise EquipoiseError(f"{other}: run `dvc repro`, or name the model of the run")
    options, decision = settings.section("measure", Measure), settings.section("decision", Decision)
    decided = decision.applied(options)
    page = root / "report/index.html"
    made = provenance.read(page.with_name(provenance.FILE), identity(jsonl.read_text(page)) if page.is_file() else "")
    return Run(
        root=root,
        data=data,
        settings=settings,
        title=registry.load_entry(settings.model, root).title,
        manifest=manifest,
        studies=[_assess(study, read_result(data, study, decision), decided) for study in chosen(settings)],
        inputs=every_input(manifest, settings, root),
        alpha=options.alpha,
        made=None if made is None else datetime.fromisoformat(made.date),
        commit=None if made is None else made.commit,
        now=now or datetime.now(UTC),
    )


def _assess(study: Study, result: StudyResult, options: Measure) -> Assessment:
    level = (result.verdict and result.verdict.level) or 1 - options.alpha
    rows = headline_effects(result.effects, study.figures)
    return Assessment(study, result, opening(study, result, options), look(study, result, options), rows, level)


def estimate(row: Effect) -> str:
    """Write an estimate, or the word `undefined`."""
    return "undefined" if row.estimate is None else number(row.estimate)


def interval(row: Effect, level: float) -> str:
    """Write an interval with its level; empty where there is none."""
    return f"{row.interval} ({100 * level:g} % interval)" if row.interval else ""
