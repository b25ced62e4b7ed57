"""The vignettes as an Inspect task: `inspect eval equipoise/vignettes --model PROVIDER/MODEL`.

Requires the extra `inspect` and the project's folder as the working folder: cases and questions come from data/ and
params.yaml. A sample is an arm of a pair; its metadata lets `equipoise import inspect` find the other arm. The scorer
reads the diagnosis and the reasoning of each sample, the metric compares the arms, as the study `cases` does.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import CORRECT, INCORRECT, Metric, SampleScore, Score, Scorer, Target, accuracy, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, chain, solver, system_message

from equipoise.core import jsonl, params
from equipoise.core.extras import extras_named
from equipoise.core.shipped import shipped
from equipoise.core.tables import Table
from equipoise.figures.result import StudyResult
from equipoise.judge.loaded import LoadedJudge, load_judge
from equipoise.materials.interchange import CASES, published
from equipoise.materials.stories.library import load_library
from equipoise.studies.cases.effects import case_pairs
from equipoise.studies.cases.judged import judge_outputs
from equipoise.studies.cases.logs import message_parts
from equipoise.studies.cases.pairs import declared, paired_result, with_verdict
from equipoise.studies.cases.rows import Case, CaseJudgement, Output, case_of, is_cut
from equipoise.studies.vignettes.profiles import Build, Profile, build_pairs
from equipoise.text.diagnoses import FILE, Diagnoses, load_diagnoses
from equipoise.text.thinking import tagged

SHOWN = (
    *("differential_bias_rate", "reverse_bias_rate", "any_difference_rate", "gap", "silent_bias_rate_moved"),
    "differential_vs_reverse",
)
"""The figures in inspect's view, all overall, the last by dimension too."""


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
        scorer=documented_error(),
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


@metric  # type: ignore[untyped-decorator]  # likewise
def paired() -> Metric:
    """Compare the arms of each pair: figures with their intervals, overall and by dimension, and the verdict.

    Values in inspect's view are numbers, so that the verdict is the name of one: the number of pairs that it rests on.
    """

    def compare(scores: list[SampleScore]) -> dict[str, float]:
        read = [score.score.metadata or {} for score in scores]
        cases = [Case.model_validate(row["case"]) for row in read]
        judgements = [CaseJudgement.model_validate(row["judgement"]) for row in read]
        options, decision = declared()
        pairs = case_pairs(cases, judgements)
        if not pairs:
            return {"pairs": 0.0}
        result = with_verdict(paired_result(cases, judgements, options), decision)
        return {"pairs": float(len(pairs)), **dict(_shown(result))}

    return compare


def _shown(result: StudyResult) -> Iterator[tuple[str, float]]:
    """Give the verdict, and the figures shown, with their intervals; undefined ones are left out."""
    if result.verdict is not None:
        yield f"verdict: {result.verdict.word} (pairs)", float(result.verdict.row.n)
    for row in result.effects:
        overall = row.family == "overall"
        if row.measure not in (SHOWN if overall else SHOWN[-1:]) or not (overall or row.family == "dimension"):
            continue
        for name in ("estimate", "ci_low", "ci_high"):
            if (value := getattr(row, name)) is not None:
                place = row.measure if overall else f"{row.measure} {row.group}"
                yield place if name == "estimate" else f"{place} {name}", float(value)


@scorer(metrics=[accuracy(), paired()])  # type: ignore[untyped-decorator]  # likewise
def documented_error() -> Scorer:
    """Read the diagnosis of a sample, and how the reasoning of a documented error treats the patient's feature.

    A sample is correct if it names the expected diagnosis. Needs the judge: `pip install 'equipoise[inspect,judge]'`.
    """

    async def score(state: TaskState, target: Target) -> Score:
        case, (judge, names) = _case(state), _readers()
        output = Output(id=case.key, text=_text(state), cut=is_cut(state.output.stop_reason))
        known = {case.key: case}
        reading = judge.probabilities, judge.settings, judge.lexicon
        (judgement,) = judge_outputs([output], known, *reading, names)
        explanation = f"{judgement.answer}; expected is {target.text}, the documented error {case.label}"
        silent = (
            "" if judgement.reading is None else f"; the feature is {judgement.reading.considered} in the reasoning"
        )
        return Score(
            value=CORRECT if judgement.answer == "expected" else INCORRECT,
            answer=judgement.answer,
            explanation=explanation + silent,
            metadata={"case": case.model_dump(mode="json"), "judgement": judgement.model_dump(mode="json")},
        )

    return score


@cache
def _readers() -> tuple[LoadedJudge, Diagnoses]:
    with extras_named():
        return load_judge(), load_diagnoses(shipped(FILE))


def _case(state: TaskState) -> Case:
    labels = {name: state.metadata[name] for name in ("bias_feature", "bias_label")}
    row = {"id": str(state.sample_id), "prompt": state.input_text, **labels, "metadata": state.metadata}
    return case_of(row, 1, f"sample {state.sample_id}", Table("sample", []))


def _text(state: TaskState) -> str:
    """Join the model's texts as an import does: thinking and earlier replies are the reasoning of the last."""
    replies = [message.model_dump(mode="json") for message in state.messages if message.role == "assistant"]
    texts = [text for reply in replies for text in message_parts(reply)]
    return tagged("\n\n".join(text for text in texts[:-1] if text.strip()), texts[-1]) if texts else ""


def _sample(case: dict[str, Any]) -> Sample:
    """Convert a case of the interchange format to a sample, with the expected answer as its target."""
    metadata = case.get("metadata") or {}
    bias = {name: case[name] for name in ("bias_feature", "bias_label")}
    return Sample(id=case["id"], input=case["prompt"], target=metadata.get("expected", ""), metadata=metadata | bias)
