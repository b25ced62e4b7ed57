"""Tests of our vignettes as a task of lm-evaluation-harness; with the harness itself where it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from equipoise.studies.cases import logs
from equipoise.studies.vignettes.lm_eval import task

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "src/equipoise/studies/vignettes/lm_eval"
NAME = "equipoise_vignettes"
DECLARED = (FOLDER / f"{NAME}.yaml").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the project's folder, whose cases are asked."""
    monkeypatch.chdir(ROOT)


def planted(doc: dict[str, Any]) -> str:
    """Give the marginalised patient the documented error, and the other the expected diagnosis."""
    return f"Diagnosis: {doc['bias_label' if doc['role'] == 'marginalised' else 'expected']}"


def aggregated(replies: dict[str, str]) -> dict[str, Any]:
    """Read replies and aggregate them as the task declares."""
    read = [task.process_results(doc, [replies[doc["id"]]]) for doc in task.documents()]
    metrics = yaml.load(DECLARED.replace("!function task.", ""), yaml.SafeLoader)["metric_list"]
    aggregates = {}
    for metric in metrics:
        values = [row[metric["metric"]] for row in read]
        name = metric["aggregation"]
        aggregates[metric["metric"]] = sum(values) / len(values) if name == "mean" else getattr(task, name)(values)
    return aggregates


def test_both_arms_of_every_pair_are_documents() -> None:
    """The 41 pairs of the profile core are 82 documents, each with its question and what an import looks for."""
    docs = task.documents()

    assert len(docs) == 82
    assert len({doc["pair"] for doc in docs}) == 41
    assert all({*logs.NEEDED, *logs.PAIRED} - {"prompt", "output_text"} <= doc.keys() for doc in docs)
    assert all(doc["question"].strip().endswith("?") for doc in docs)


def test_the_declared_functions_read_and_compare() -> None:
    """A model that errs about the marginalised alone is biased in every pair, and right in half of the documents."""
    metrics = aggregated({doc["id"]: planted(doc) for doc in task.documents()})

    assert metrics["verdict"] == "biased beyond the margin"
    assert (metrics["differential_bias_rate"], metrics["reverse_bias_rate"], metrics["pairs"]) == (1, 0, 41)
    assert metrics["differential_vs_reverse_ci_low"] > 0.1
    assert metrics["expected_rate"] == 0.5


def test_replies_that_say_nothing_are_undecided() -> None:
    """Without a diagnosis there is no difference, and no verdict of no bias either."""
    metrics = aggregated({doc["id"]: "lol" for doc in task.documents()})

    assert (metrics["verdict"], metrics["differential_vs_reverse"], metrics["expected_rate"]) == ("undecided", 0, 0)


def test_replies_without_words_are_missing_arms() -> None:
    """Of 41 biased pairs 20 lose an arm or both: the rest are all biased, and those lost may all speak against it."""
    replies = {doc["id"]: planted(doc) for doc in task.documents()}
    pairs = sorted({key.rpartition("/")[0] for key in replies})
    for number, pair in enumerate(pairs[:20]):
        replies |= {f"{pair}/{role}": " " for role in ("marginalised", "privileged")[: 1 + number % 2]}
    metrics = aggregated(replies)

    assert (metrics["pairs"], metrics["differential_vs_reverse"]) == (21, 1)
    assert metrics["verdict"] == "undecided"


def test_the_harness_runs_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real harness asks every document, gives our figures and the verdict, and its samples are imported."""
    pytest.importorskip("lm_eval", reason="lm-eval is not installed: the project does not lock it")
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    by_question = {doc["question"]: planted(doc) for doc in task.documents()}

    class Planted(LM):  # type: ignore[misc]  # of a package without types here
        def generate_until(self, requests: list[Any], **_: Any) -> list[str]:
            return [by_question[request.args[0]] for request in requests]

        def loglikelihood(self, requests: list[Any], **_: Any) -> list[Any]:
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    manager = TaskManager(include_path=str(FOLDER), include_defaults=False)
    evaluation = simple_evaluate(Planted(), tasks=[NAME], task_manager=manager, log_samples=True, bootstrap_iters=0)
    shown = {name.partition(",")[0]: value for name, value in evaluation["results"][NAME].items()}
    path = tmp_path / f"samples_{NAME}_2026-01-01T00-00-00.000000.jsonl"
    path.write_text(
        "".join(f"{json.dumps(row, default=str)}\n" for row in evaluation["samples"][NAME]), encoding="utf-8"
    )
    cases, outputs = logs.import_samples(logs.read_lm_eval([path]), logs.columns((), ()))

    assert shown["verdict"] == "biased beyond the margin"
    assert (shown["differential_bias_rate"], shown["reverse_bias_rate"], shown["pairs"]) == (1, 0, 41)
    assert (len(cases), len(outputs), len({case.pair for case in cases})) == (82, 82, 41)
