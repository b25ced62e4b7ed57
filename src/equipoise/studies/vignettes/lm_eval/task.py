"""What `equipoise_vignettes.yaml` refers to: the pairs as documents, the reading of a reply, and the paired figures.

A document is an arm of a pair, whose reasoning and diagnosis are asked for in one turn, since the harness has no
second. Cases and questions are those of params.yaml, in a checkout or as the package ships them. Answers are read from
the text; the reasoning is not judged, which `equipoise import lm-eval` does with the samples of the run.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import nan
from typing import Any

from equipoise.core import params
from equipoise.core.shipped import shipped
from equipoise.figures.result import StudyResult
from equipoise.materials.interchange import CASES, published
from equipoise.materials.stories.library import load_library
from equipoise.studies.cases.effects import case_pairs
from equipoise.studies.cases.judged import read_output
from equipoise.studies.cases.pairs import declared, paired_result, with_verdict
from equipoise.studies.cases.rows import Case, CaseJudgement, Output, cases_of
from equipoise.studies.vignettes.profiles import Build, build_pairs
from equipoise.text.diagnoses import FILE, Diagnoses, load_diagnoses

Read = tuple[str, str]
"""The id of a case, and the kind of the answer that was read."""
UNANSWERED = "unanswered"
"""The kind of a reply without words, which holds no answer."""
SPLIT = "test"
CUES = ("bias_feature", "bias_label")
KEPT = ("pair", "role", "dimension", "story", "expected", "synonyms", "expected_synonyms")
"""Metadata of a document, by which `equipoise import lm-eval` finds its pair."""


def documents() -> list[dict[str, Any]]:
    """List the arms of the pairs of the profile core, with the question about each."""
    settings = _settings()
    rows = []
    for case in _cases():
        question = settings.reason.replace("{case}", case["prompt"])
        kept = {name: case["metadata"][name] for name in KEPT if case["metadata"].get(name) is not None}
        about = {name: case[name] for name in CUES} | {name: _listed(value) for name, value in kept.items()}
        rows.append({"id": case["id"], "question": f"{settings.system}\n\n{question}\n\n{settings.answer}", **about})
    return rows


def dataset(**_: object) -> dict[str, Any]:
    """Give the documents as a data set of one split; the harness passes what the task's metadata say."""
    from datasets import Dataset

    return {SPLIT: Dataset.from_list(documents())}


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Read one reply: whether it names the expected diagnosis, and for each paired figure the case and the kind."""
    given, _ = read_output(results[0], _known()[doc["id"]], _names())
    kind = UNANSWERED if given.kind == "unparsed" and Output(doc["id"], results[0]).broken else given.kind
    paired = ("differential_bias_rate", "reverse_bias_rate", "differential_vs_reverse", "pairs", "verdict")
    names = (*paired, *(f"differential_vs_reverse_{end}" for end in ("ci_low", "ci_high")))
    return {"expected_rate": float(given.kind == "expected"), **dict.fromkeys(names, (doc["id"], kind))}


def differential_bias_rate(read: Sequence[Read]) -> float:
    """Share of pairs in which only the marginalised patient gets the documented error."""
    return _figure(read, "differential_bias_rate")


def reverse_bias_rate(read: Sequence[Read]) -> float:
    """Share of pairs in which only the privileged patient gets it."""
    return _figure(read, "reverse_bias_rate")


def differential_vs_reverse(read: Sequence[Read]) -> float:
    """Difference of the two."""
    return _figure(read, "differential_vs_reverse")


def ci_low(read: Sequence[Read]) -> float:
    """Lower limit of its interval."""
    return _figure(read, "differential_vs_reverse", "ci_low")


def ci_high(read: Sequence[Read]) -> float:
    """Upper limit of its interval."""
    return _figure(read, "differential_vs_reverse", "ci_high")


def n_pairs(read: Sequence[Read]) -> int:
    """Count the pairs with both arms."""
    return len(case_pairs(_known().values(), _judged(read)))


def verdict(read: Sequence[Read]) -> str:
    """Give the verdict in its words: it is not a number."""
    conclusion = _result(tuple(read)).verdict
    return "none" if conclusion is None else conclusion.word


def _figure(read: Sequence[Read], measure: str, field: str = "estimate") -> float:
    row = _result(tuple(read)).effect(f"overall/all/{measure}")
    value = None if row is None else getattr(row, field)
    return nan if value is None else float(value)


@cache
def _result(read: tuple[Read, ...]) -> StudyResult:
    options, decision = declared()
    return with_verdict(paired_result(_known().values(), _judged(read), options), decision)


def _judged(read: Sequence[Read]) -> list[CaseJudgement]:
    empty: dict[str, Any] = {"answer": "unparsed", "unanswered": True}
    return [
        CaseJudgement.model_validate({"key": key, **(empty if kind == UNANSWERED else {"answer": kind})})
        for key, kind in read
    ]


def _listed(value: Any) -> Any:  # noqa: ANN401  (any field of a case)
    return list(value) if isinstance(value, tuple) else value


@cache
def _settings() -> Build:
    return params.load(shipped(params.FILE)).section("build", Build)


@cache
def _cases() -> list[dict[str, Any]]:
    settings = _settings()
    rows = build_pairs(load_library(shipped("data/raw")), "core", settings.level, settings.cue)
    cases: list[dict[str, Any]] = published(rows)[CASES]
    return cases


@cache
def _known() -> dict[str, Case]:
    return {case.key: case for case in cases_of(_cases(), shipped("data/raw"))}


@cache
def _names() -> Diagnoses:
    return load_diagnoses(shipped(FILE))
