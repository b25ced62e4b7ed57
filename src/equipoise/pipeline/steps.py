"""The steps of a study, which stages load by name.

Stage STAGE of study STUDY runs the module STAGE of the folder `studies/STUDY`, so that a change of one study's code
reruns only that study; `equipoise.pipeline.depends` lists the code of each for DVC.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    # For its type alone: a stage that measures nothing is not to depend on statistics.
    from equipoise.figures.study import Study

STAGES = ("build", "infer", "score", "measure")
"""The stages that each study has, in their order."""
STOPPING = "stopping"
"""The module of a study that can stop early."""
SEQUENTIAL = "equipoise.pipeline.sequential"
ASKING = "equipoise.pipeline.infer"


def name_of(study: str, module: str) -> str:
    """Write the full name of a module in a study's folder."""
    return f"equipoise.studies.{study}.{module}"


def step(study: str, stage: str) -> Callable[..., Any]:
    """Load the function that a stage runs for a study; without a module `infer`, its prompts are asked as they are."""
    module = part(study, stage) if stage == "infer" else import_module(name_of(study, stage))
    function: Callable[..., Any] = getattr(module, stage) if module else import_module(ASKING).answer
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
