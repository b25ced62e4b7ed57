"""The frozen plan of a run: what was declared before the first prompt, and in what a run departs from it.

`data/plan/frozen.json` has, for each study, the endpoint with its margins, a digest of what `build` writes (cases,
variants and prompts), and how many there are; for all of them the model and the level of decisions. Its digest is short
enough to print, publish or sign. The date is that of the machine's clock: only a publication of the digest proves it.
"""

from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import unit_of
from equipoise.core.params import Params
from equipoise.core.prompts import Prompt
from equipoise.core.row import Frozen, StudyName, Text
from equipoise.figures.options import Decision, Measure
from equipoise.pipeline import steps
from equipoise.pipeline.run import Run

FOLDER = "plan"
FILE = f"{FOLDER}/frozen.json"
LIMITS = ("margin", "within_groups", "floors")
"""The fields of an endpoint, and of its components and bounds, that say how large a difference may be."""
Count = Annotated[int, Field(ge=0)]


class StudyPlan(Frozen):
    """What a study is to measure: its endpoint, a digest of its rows, and how many units and prompts it has.

    `prompts` leaves out those that follow from replies.
    """

    endpoint: dict[str, Any] | None
    digest: Text
    units: Count
    prompts: Count

    @classmethod
    def of(cls, run: Run) -> Self:
        """Describe a study that `build` has written."""
        declared = run.settings.section("decision", Decision).endpoints.get(run.study)
        keys = [prompt.key for prompt in jsonl.each(run.built("prompts"), Prompt)]
        built = {path.name: jsonl.sha256(path) for path in sorted((run.folder / "built").glob("*.jsonl"))}
        return cls(
            endpoint=None if declared is None else declared.model_dump(mode="json"),
            digest=jsonl.digest(built),
            units=len({unit_of(key) for key in keys}),
            prompts=len(keys),
        )

    def departures(self, other: Self) -> Iterator[str]:
        """Name the aspects in which another description differs."""
        for name, limits in (("endpoint", False), ("margins", True)):
            if _part(self.endpoint, limits=limits) != _part(other.endpoint, limits=limits):
                yield name
        if self.digest != other.digest:
            yield "cases"
        if (self.units, self.prompts) != (other.units, other.prompts):
            yield "size"


class FrozenPlan(Frozen):
    """The plan of a run: its date in UTC, the model, how decisions are made, and the plan of each study."""

    form: Literal[1] = Field(default=1, alias="schema")
    date: Text
    model: Text
    level: dict[str, Any]
    studies: dict[StudyName, StudyPlan]

    @property
    def digest(self) -> str:
        """The sha256 of the plan's canonical text."""
        return jsonl.digest(self.model_dump(mode="json", by_alias=True))

    def departures(self, run: Run) -> tuple[str, ...]:
        """Name the aspects in which the run of a study departs from the plan, sorted; empty where it follows it."""
        planned = self.studies.get(run.study)
        aspects = ["model"] if run.settings.model != self.model else []
        aspects += ["level"] if level_of(run.settings) != self.level else []
        return tuple(sorted([*aspects, *(["study"] if planned is None else planned.departures(StudyPlan.of(run)))]))


def plan_of(settings: Params, data: Path) -> FrozenPlan:
    """Make the plan of the settings, whose cases are built in a temporary folder.

    Raises EquipoiseError for a study whose prompts the model of the settings has answered in `data`.
    """
    studies = {}
    for name in settings.studies:
        with TemporaryDirectory() as folder, redirect_stdout(StringIO()):
            run = Run(name, Path(folder), settings)
            for path in data.iterdir():
                if path.name != name:
                    (run.data / path.name).symlink_to(path.resolve())
            steps.step(name, "build")(run)
            studies[name] = StudyPlan.of(run)
        if _is_answered(Run(name, data, settings), studies[name]):
            message = f"{data / name / 'responses.jsonl'}: {settings.model} has answered these prompts of {name}"
            raise EquipoiseError(f"{message}: a plan is frozen before the first one; plan other cases")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return FrozenPlan(date=now, model=settings.model, level=level_of(settings), studies=studies)


def _is_answered(run: Run, plan: StudyPlan) -> bool:
    """Whether the folder of a run has the responses of its model to the cases of a plan."""
    if not run.responses.is_file() or not run.built("prompts").is_file() or run.manifest.model != run.settings.model:
        return False
    return run.responses.stat().st_size > 0 and StudyPlan.of(run).digest == plan.digest


def read_plan(data: Path) -> FrozenPlan | None:
    """Read the frozen plan in the data folder; None without one. A malformed file is an EquipoiseError."""
    path = data / FILE
    return jsonl.read_one(path, FrozenPlan) if path.is_file() else None


def level_of(settings: Params) -> dict[str, Any]:
    """Give the level of the deciding intervals, and how a study stops early."""
    decision = settings.section("decision", Decision)
    applied = decision.applied(settings.section("measure", Measure))
    return {"alpha": applied.alpha, "sequential": decision.sequential, "seed": decision.seed}


def departures(run: Run) -> tuple[str, ...]:
    """Name the aspects in which a study's run departs from the frozen plan; empty if in none, or without a plan."""
    plan = read_plan(run.data)
    return () if plan is None else plan.departures(run)


def _part(value: Any, *, limits: bool) -> Any:  # noqa: ANN401  (any JSON value)
    """Give the limits of an endpoint alone, or all else of it."""
    if not isinstance(value, dict):
        return None if limits else value
    inner = {name: _part(nested, limits=limits) for name, nested in value.items() if name not in LIMITS}
    return inner | ({name: value[name] for name in LIMITS if name in value} if limits else {})
