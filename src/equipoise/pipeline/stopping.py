"""Which studies stop when their verdict is in, and what such a run depends on beside what `infer` does.

The code that scores and measures (`studies.sequential`) is imported by its name, so that it is no dependency of a study
that is asked as a whole: a changed margin, or a new figure, asks nothing anew.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from equipoise.core import code, jsonl
from equipoise.core.params import Params
from equipoise.figures.options import Decision
from equipoise.pipeline.run import Run
from equipoise.studies.vignettes.profiles import Build

MODULE = "equipoise.pipeline.sequential"
STOPPING: tuple[str, ...] = ("vignettes", "questions", "decisions")
"""The studies that can stop early, told in pairs.

All sentences of the stigma study stand in each of its prompts, so that fewer conditions would save none; the exam has
no verdict; and the judge reads the endpoint of openr1 after all replies.
"""
READ = ("decision", "measure", "score")
"""The sections of params.yaml that decide where a study stops."""


def is_stopped_early(run: Run) -> bool:
    """Whether a study stops when its verdict is in."""
    decision = run.settings.section("decision", Decision)
    endpoint = decision.endpoints.get(run.study)
    if not decision.sequential or run.study not in STOPPING or endpoint is None or endpoint.margin is None:
        return False
    return run.study == "questions" or run.settings.section("build", Build).design == "pair"


def sequential() -> ModuleType:
    """Load the code that stops a study."""
    return import_module(MODULE)


def depends_on(settings: Params, root: Path) -> str:
    """List the code that stops a study (`core.code.listing`), and its settings; nothing where none is to stop."""
    file = code.module_file(MODULE, root)
    if file is None or not settings.section("decision", Decision).sequential:
        return ""
    return (
        code.listing(code.closure(file, root), root)
        + jsonl.dumps({name: getattr(settings, name) for name in READ})
        + "\n"
    )
