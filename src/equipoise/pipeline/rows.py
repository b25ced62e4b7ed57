"""The rows of a run that the steps of several studies read, found to belong together."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from equipoise.backends.base import Cluster, Infer
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt, Response
from equipoise.core.row import Row
from equipoise.core.units import of_asked
from equipoise.core.yamlfile import load_yaml
from equipoise.figures.options import Measure
from equipoise.figures.responses import Asked, Noted, asked, note, require_answered
from equipoise.judge.errors import judge_errors
from equipoise.materials.questions import Item
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import study_of
from equipoise.stats.misclassification import ErrorCounts

R = TypeVar("R", bound=Row)
M = TypeVar("M", bound=BaseModel)
Follow = Callable[[Run, Sequence[Prompt], Sequence[Response]], Iterable[Prompt]]
"""Gives the prompts that follow from the replies to others."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of a run's study, as those of another run that it is compared with (`figures.comparison.Files`)."""

    run: Run

    def rows(self, name: str, kind: type[R]) -> list[R]:
        """Read the rows of one of the study's files; none where there is no such file."""
        file = self.run.folder / f"{name}.jsonl"
        return jsonl.read(file, kind) if file.is_file() else []

    def built(self, name: str, kind: type[R]) -> list[R]:
        """Read rows that `build` wrote, of the units that were asked."""
        return list(self.run.rows(name, kind)) if self.run.built(name).is_file() else []

    def shared(self, name: str, kind: type[M]) -> M | None:
        """Read a YAML file that studies share; None where there is none."""
        file = self.run.data / name
        return load_yaml(file, kind) if file.is_file() else None


def items_of(run: Run, name: str) -> list[Item]:
    """Read the questions of a study; a file without any is an EquipoiseError."""
    path = run.data / "items" / f"{name}.jsonl"
    rows = jsonl.read(path, Item)
    if not rows:
        message = f"{path}: no rows: import the items again (`equipoise import --help`), or name items: authored"
        raise EquipoiseError(message)
    return rows


def responses_of(run: Run) -> Iterator[Response]:
    """Read the responses, row by row."""
    return jsonl.each(run.responses, Response)


def cluster_of(run: Run) -> Cluster | None:
    """The Ray cluster that the judge's pairs are shared out over; None where this process judges them."""
    return run.settings.section("infer", Infer).cluster


def prompts_and_responses(run: Run) -> tuple[list[Asked], list[Noted]]:
    """Read the prompts and the responses of a study, without their texts, and refuse any that do not match."""
    file = run.built("prompts")
    prompts = list(of_asked(asked(file, jsonl.each(file, Prompt)), run.units))
    responses = noted(run, jsonl.each(run.responses, Response))
    require_answered(prompts, responses, run.responses)
    return prompts, responses


def noted(run: Run, responses: Iterable[Response]) -> list[Noted]:
    """Note the responses of a study."""
    free_text = study_of(run.study).free_text
    return [note(response, free_text=free_text) for response in responses]


def asked_and_followed(run: Run, follow: Follow) -> tuple[list[Asked], list[Noted]]:
    """Read the prompts and the responses of a study, with the prompts that followed from the replies."""
    file, saved = run.built("prompts"), jsonl.read(run.responses, Response)
    prompts, known, units = jsonl.read(file, Prompt), {one.key for one in saved}, run.units
    told = list(of_asked(prompts, units))
    missing = [one.key for one in told if one.key not in known]
    every = list(of_asked(asked(file, prompts if missing else [*prompts, *follow(run, told, saved)]), units))
    responses = noted(run, saved)
    require_answered(every, responses, run.responses)
    return every, responses


def contents(prompts: Iterable[Asked]) -> dict[str, bytes]:
    """Map the key of each prompt to the digest of what the model is given."""
    return {one.key: one.content for one in prompts}


def options_of(run: Run) -> Measure:
    """Read the section `measure` of params.yaml."""
    return run.settings.section("measure", Measure)


def errors_of(run: Run) -> ErrorCounts | None:
    """Read the judge's measured error, for which the silent bias rate is corrected."""
    return judge_errors(run.settings.judge, Path())
