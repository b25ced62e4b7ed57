"""The steps of a study, which stages load by name, and the list of their code for DVC.

Stage STAGE of study STUDY runs the module STAGE of the folder `studies/STUDY`, so that a change of one study's code
reruns only that study. `equipoise.core.code` cannot see modules that are loaded by name in a stage's script; `modules`
lists them all, and `check` writes their code into `data/code/STAGE/STUDY.txt`.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from equipoise.core import jsonl
from equipoise.core.code import module_file
from equipoise.core.params import Params
from equipoise.figures.options import Decision
from equipoise.figures.study import Study

STAGES = ("build", "infer", "score", "measure")
"""The stages that each study has, in their order."""
STOPPING = "stopping"
"""The module of a study that can stop early."""
DECIDING = ("decision", "measure", "score")
"""The sections of params.yaml that decide where a study stops."""
SEQUENTIAL = "equipoise.pipeline.sequential"
"""The code that stops a study."""


def name_of(study: str, module: str) -> str:
    """Write the full name of a module in a study's folder."""
    return f"equipoise.studies.{study}.{module}"


def step(study: str, stage: str) -> Callable[..., Any]:
    """Load the function that a stage runs for a study."""
    function: Callable[..., Any] = getattr(import_module(name_of(study, stage)), stage)
    return function


def study_of(name: str) -> Study:
    """Load the declaration of one study; `equipoise.studies.registry` has all of them."""
    study: Study = import_module(name_of(name, "study")).STUDY
    return study


def part(study: str, module: str) -> ModuleType | None:
    """Load an optional module of a study; None if the study does not have it."""
    name = name_of(study, module)
    return import_module(name) if find_spec(name) else None


def stopping_of(study: str) -> ModuleType | None:
    """Load the module `stopping` of a study; None if the study cannot stop early."""
    return part(study, STOPPING)


def modules(stage: str, study: str, settings: Params, root: Path) -> Iterator[str]:
    """Name every module that a stage loads by name for a study, given the project's root."""
    yield name_of(study, stage)
    if stage in {"infer", "measure"} and module_file(name_of(study, STOPPING), root):
        yield name_of(study, STOPPING)
    if stage == "measure":
        yield name_of(study, "study")
    if stage == "infer" and settings.section("decision", Decision).sequential:
        yield SEQUENTIAL
        yield from (name_of(study, module) for module in ("score", "measure", "study"))


def own_settings(study: Study, settings: Params) -> dict[str, Any]:
    """Give the settings that a study is built and scored by: the items that it reads, and its sections."""
    items = study.items(settings)
    return ({} if items is None else {"items": items}) | {name: settings.values(name) for name in study.sections}


def depends_on(stage: str, study: Study, settings: Params, stages: Path) -> tuple[list[Path], str]:
    """List the files that a stage starts from: its script in `stages`, and the modules that it loads by name.

    The second value has the settings that decide where a study stops, or is empty if it does not stop early.
    """
    root = Path()
    names = list(modules(stage, study.name, settings, root))
    files = [path for name in names if (path := module_file(name, root)) is not None]
    decide = {name: settings.values(name) for name in DECIDING} if SEQUENTIAL in names else None
    return [stages / f"{stage}.py", *files], "" if decide is None else jsonl.dumps(decide) + "\n"
