"""Recorded results: one small file for each model and version, `results/NAME@REVISION.json`.

dvc.lock and metrics/ hold one run, so that two branches with a model each conflict in them; recorded results lie side
by side. A file has what was found (the run's metrics files, with their verdicts), and what it was found with: settings,
hashes of code, cases and rows as in dvc.lock, inputs, model, judge, and the record of the machine (`Made`).
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from equipoise.compare.leaderboard import VERDICT, Cell, Run, figure, is_figures
from equipoise.compare.revisions import NOTHING, relative
from equipoise.core import jsonl
from equipoise.core.params import Name
from equipoise.core.provenance import Made
from equipoise.core.row import Frozen, StudyName, Text
from equipoise.figures.result import BIASED, UNBIASED, UNDECIDED
from equipoise.studies.registry import BOARD, FIGURES, TITLES

FOLDER = Path("results")
SHORT, LONGEST = 12, 40
"""Characters of a hash, and the most of any revision, in the name of a file."""
HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
HASHED = re.compile(r"src|stages|data/code|data/\w+/(built|\w+\.jsonl)")
"""Dependencies and outputs whose hash is recorded: the code, and the cases and rows of each study."""
WIDTH = 100
"""Characters of a line of the file that holds a whole object."""
CELL = TypeAdapter(Cell)
WORDS = (BIASED, UNBIASED, UNDECIDED)
"""The words of a verdict, in the order of the first table."""


def _figures(metrics: dict[str, Any]) -> dict[str, Any]:
    """Refuse metrics files that the leaderboard could not show."""
    for study, table in metrics.items():
        if not is_figures(table):
            raise ValueError(f"{study}: not a table of figures")
        told = table.get(VERDICT, {"is": UNDECIDED})
        if not isinstance(told, dict) or told.get("is") not in WORDS:
            raise ValueError(f"{study}: field verdict.is is none of {', '.join(WORDS)}")
    for headline in BOARD:
        try:
            CELL.validate_python(figure(headline, metrics))
        except (AttributeError, TypeError, ValidationError) as error:
            raise ValueError(f"{headline.name}: not a figure") from error
    return metrics


class Model(Frozen):
    """The model of a result: its name in the registry, and what its manifest says of it."""

    name: Name
    title: Text
    backend: Text
    repo: Text
    revision: Text
    licence: Text
    weights: dict[str, str] = {}
    provider: Text | None = None
    versions: dict[str, str] = {}


class Record(Frozen):
    """One result file.

    `metrics` has the metrics file of each study, with its verdict but not what the README says of it, and `settings`
    the whole params.yaml. `judge` and `drawing` are the rows of the report's tables on the judge, and on sampling and
    seeds. `inputs` maps what the run read to its sha256, None where it has none: each folder below `data/` by that of
    its files' hashes, other files by their own. `hashes` are those of dvc.lock, MD5 of the code (`src`, `stages`, and
    `data/code` for what the stages use of it), and of each study's cases (`data/STUDY/built`) and rows. `made` is None
    for a run that was not made here.
    """

    form: Literal[1] = Field(alias="schema")
    model: Model
    judge: dict[str, str]
    drawing: dict[str, str]
    settings: dict[str, Any]
    metrics: Annotated[dict[StudyName, dict[str, Any]], AfterValidator(_figures)]
    inputs: dict[str, str | None]
    hashes: dict[str, str]
    made: Made | None

    @property
    def file(self) -> Path:
        """The path of the file, from the project's root."""
        return FOLDER / f"{self.model.name}@{_short(self.model)}.json"

    def equals(self, other: "Record") -> bool:
        """Whether two results of a model have the same figures, by the same settings."""
        return (self.metrics, self.settings) == (other.metrics, other.settings)

    def written(self) -> str:
        """Lay the file out, with sorted keys, so that equal results give equal bytes."""
        return _laid_out(self.model_dump(mode="json", by_alias=True)) + "\n"


class Recorded(NamedTuple):
    """A result with the path of its file."""

    path: Path
    record: Record

    @property
    def run(self) -> Run:
        """The result as a run of the leaderboard; one whose date is not known counts as oldest."""
        made, model = self.record.made, self.record.model
        # DVC gives the local time without a zone.
        date = datetime.fromisoformat(made.date).astimezone() if made else datetime.min  # noqa: DTZ901
        return Run(
            name=self.path.stem,
            revision=(made and made.commit) or "",
            created=date.replace(tzinfo=None),
            params={**self.record.settings, "model": model.name},
            title=model.title,
            metrics=self.record.metrics,
        )


def read_all(root: Path) -> list[Recorded]:
    """Read the recorded results of a project; a malformed file is an EquipoiseError that names the file and field."""
    paths = [path.relative_to(root) for path in sorted((root / FOLDER).glob("*.json"))]
    return [Recorded(path, jsonl.parse(path.as_posix(), jsonl.read_text(root / path), Record)) for path in paths]


class Beside(NamedTuple):
    """A recorded result in the table that `equipoise results` and the README begin with.

    `studies` has the verdict of each study that has one, and its primary figure.
    """

    model: str
    title: str
    studies: dict[str, tuple[str, Cell]]


def besides(root: Path) -> list[Beside]:
    """Lay out the recorded results for the first table: phantoms, whose bias is known, then models by title.

    Phantoms are ordered by their verdict, bias first.
    """
    rows = {}
    for result in read_all(root):
        model = result.record.model
        studies = {
            study: (table[VERDICT]["is"], figure(known[0], result.record.metrics))
            for study in TITLES
            if VERDICT in (table := result.record.metrics.get(study, {}))
            and (known := [each for each in FIGURES if each.name == _primary(result.record.settings, study)])
        }
        planted = model.backend == "phantom"
        first = next(iter(studies.values()), (UNDECIDED,))[0]
        place = not planted, WORDS.index(first) if planted else 0, model.title, model.name
        rows[place] = Beside(model.name, model.title, studies)
    return [rows[key] for key in sorted(rows)]


def _primary(settings: Mapping[str, Any], study: str) -> str:
    """Name the first figure of a study's endpoint in the settings of a result, which may be of another version."""
    declared: Any = settings
    for name in ("decision", "endpoints", study, "figure"):
        declared = declared.get(name) if isinstance(declared, dict) else None
    return f"{study}.{declared}"


def hashes(repo: Any) -> dict[str, str]:  # noqa: ANN401  (DVC has no types)
    """Give the hashes that dvc.lock has of the code, and of the cases and rows of each study."""
    items = [item for stage in repo.index.stages for item in (*stage.deps, *stage.outs)]
    digests = {relative(repo, item): str(item.hash_info.value) for item in items}
    return {path: value for path, value in sorted(digests.items()) if HASHED.fullmatch(path) and value != NOTHING}


def _laid_out(value: Any, margin: str = "") -> str:  # noqa: ANN401  (any JSON value)
    """Write a JSON value with sorted keys; an object that does not fit in a line has a line for each of its names."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, dict) or len(margin) + len(text) <= WIDTH:
        return text
    parts = (f"{margin} {json.dumps(name)}: {_laid_out(value[name], f'{margin} ')}" for name in sorted(value))
    return "{\n" + ",\n".join(parts) + f"\n{margin}}}"


def _short(model: Model) -> str:
    """Write a model's revision so that it can be part of a file's name, and still tells versions apart."""
    # For a folder of this machine, the weights are the version.
    revision = jsonl.digest(model.weights) if model.revision == "local" else model.revision
    if HASH.fullmatch(revision):
        return revision[:SHORT]
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", revision)[:LONGEST].strip("-.")
    return safe if safe == revision else f"{safe}-{jsonl.digest(revision)[:8]}"
