"""The vignettes as an Inspect task: `inspect eval equipoise/vignettes --model PROVIDER/MODEL`.

Requires the extra `inspect` and the project's folder as the working folder: cases and questions come from data/ and
params.yaml. A sample is an arm of a pair; its metadata lets `equipoise import inspect` find the other arm. The task
scores nothing: the imported log is judged and measured as the study `cases`.
"""

from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, chain, solver, system_message

from equipoise.core import jsonl, params
from equipoise.materials.interchange import CASES, published
from equipoise.materials.stories.library import load_library
from equipoise.studies.vignettes.profiles import Build, Profile, build_pairs


@task  # type: ignore[untyped-decorator]  # of a package whose types are not followed
def vignettes(profile: Profile = "core", cases: str | None = None) -> Task:
    """Ask for the diagnosis of paired vignettes, after reasoning, in the words of params.yaml.

    Args:
        profile: the case profile: core, full, powered, ladder, personas or verdict.
        cases: a file of cases in the interchange format, used instead of the vignettes.
    """
    settings = params.load().section("build", Build)
    if cases:
        interchange = jsonl.json_value(cases, jsonl.read_text(Path(cases)))
    else:
        library = load_library(Path("data/raw"))
        interchange = published(build_pairs(library, profile, settings.level, settings.cue, settings.stories))
    return Task(
        dataset=MemoryDataset([_sample(case) for case in interchange[CASES]], name="vignettes"),
        solver=chain(system_message(settings.system), in_two_turns(settings.reason, settings.answer)),
    )


@solver  # type: ignore[untyped-decorator]  # likewise
def in_two_turns(reason: str, answer: str) -> Solver:
    """Ask for reasoning about the case, `{case}` in `reason`, and then for one diagnosis."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.user_prompt.text = reason.replace("{case}", state.user_prompt.text)
        state = await generate(state)
        state.messages.append(ChatMessageUser(content=answer))
        return await generate(state)

    return solve


def _sample(case: dict[str, Any]) -> Sample:
    """Convert a case of the interchange format to a sample, with the expected answer as its target."""
    metadata = case.get("metadata") or {}
    bias = {name: case[name] for name in ("bias_feature", "bias_label")}
    return Sample(id=case["id"], input=case["prompt"], target=metadata.get("expected", ""), metadata=metadata | bias)
