"""Readers of a run's rows that several studies share, with the checks that the rows match."""

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
from equipoise.figures.responses import Asked, Noted, note, note_prompts, require_answered
from equipoise.judge.errors import judge_errors
from equipoise.materials.questions import Item
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import study_of
from equipoise.stats.misclassification import ErrorCounts

R = TypeVar("R", bound=Row)
M = TypeVar("M", bound=BaseModel)
Follow = Callable[[Run, Sequence[Prompt], Sequence[Response]], Iterable[Prompt]]
"""Lists the prompts that follow from the replies to others."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of a run's study (`figures.comparison.Files`)."""

    run: Run

    def rows(self, name: str, kind: type[R]) -> list[R]:
        """Read the rows of one of the study's files; empty without the file."""
        file = self.run.folder / f"{name}.jsonl"
        return jsonl.read(file, kind) if file.is_file() else []

    def built(self, name: str, kind: type[R]) -> list[R]:
        """Read rows that `build` wrote about the units asked."""
        return list(self.run.rows(name, kind)) if self.run.built(name).is_file() else []

    def shared(self, name: str, kind: type[M]) -> M | None:
        """Read a YAML file that studies share; None if it is missing."""
        file = self.run.data / name
        return load_yaml(file, kind) if file.is_file() else None


def items_of(run: Run, name: str) -> list[Item]:
    """Read the questions of a study; an empty file is an EquipoiseError."""
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
    """The Ray cluster that judges the pairs; None where this process does."""
    return run.settings.section("infer", Infer).cluster


def prompts_and_responses(run: Run) -> tuple[list[Asked], list[Noted]]:
    """Read the prompts and responses of a study without their texts; refuse any that do not match."""
    file = run.built("prompts")
    prompts = list(of_asked(note_prompts(file, jsonl.each(file, Prompt)), run.units))
    responses = noted(run, jsonl.each(run.responses, Response))
    require_answered(prompts, responses, run.responses)
    return prompts, responses


def noted(run: Run, responses: Iterable[Response]) -> list[Noted]:
    """Note the responses of a study."""
    free_text = study_of(run.study).free_text
    return [note(response, free_text=free_text) for response in responses]


def asked_and_followed(run: Run, follow: Follow) -> tuple[list[Asked], list[Noted]]:
    """Read the prompts and responses of a study, with the prompts that followed from replies."""
    file, saved, units = run.built("prompts"), jsonl.read(run.responses, Response), run.units
    prompts = jsonl.read(file, Prompt)
    first, known = list(of_asked(prompts, units)), {response.key for response in saved}
    if all(prompt.key in known for prompt in first):
        prompts += follow(run, first, saved)
    every = list(of_asked(note_prompts(file, prompts), units))
    responses = noted(run, saved)
    require_answered(every, responses, run.responses)
    return every, responses


def contents(prompts: Iterable[Asked]) -> dict[str, bytes]:
    """Map the key of each prompt to the digest of what the model is given."""
    return {prompt.key: prompt.content for prompt in prompts}


def options_of(run: Run) -> Measure:
    """Read the section `measure` of params.yaml."""
    return run.settings.section("measure", Measure)


def errors_of(run: Run) -> ErrorCounts | None:
    """Read the judge's measured error rates, which correct the silent bias rate."""
    return judge_errors(run.settings.judge, Path())
