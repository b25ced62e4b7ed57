"""Tests of our vignettes as a task of inspect, with its mock model; skipped where the extra is not installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from equipoise.cli.app import app
from equipoise.core import jsonl, params
from equipoise.materials.interchange import published
from equipoise.materials.stories.library import load_library
from equipoise.studies.cases import logs
from equipoise.studies.cases.rows import Case
from equipoise.studies.vignettes.profiles import Build, build_pairs
from loopback import Loopback

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: it is in the extra `inspect`")

# Warnings of inspect and of the libraries that it calls are not ours.
pytestmark = pytest.mark.filterwarnings("ignore")
ROOT = Path(__file__).parents[3]
LOG = Path(__file__).parents[1] / "cases" / "inspect_log.json"
REASONING = "The story fits."


def constant(prompt: str) -> str:
    """Give every patient the same diagnosis."""
    return f"Diagnosis: {'Depression' if prompt else ''}"


def asked(folder: Path, answer: Callable[[str], str], limit: int | None = None) -> Path:
    """Ask the mock model for our vignettes; its reasoning is always the same, its answer that of the first turn."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from equipoise.studies.vignettes.inspect_task import vignettes

    def reply(messages: list[Any], *_: object) -> Any:
        first, *more = [message.text for message in messages if message.role == "user"]
        output = ModelOutput.from_content("mockllm/model", answer(first) if more else REASONING)
        # Without a usage the mock model counts tokens, with a tokenizer that it downloads.
        output.usage = ModelUsage()
        return output

    model = get_model("mockllm/model", custom_outputs=reply, memoize=False)
    (log,) = inspect_ai.eval(vignettes(), model=model, limit=limit, log_dir=str(folder), display="none")
    assert log.status == "success", log.error
    return Path(log.location.removeprefix("file://"))


def metrics(log: Path) -> dict[str, float]:
    """Give what inspect's view shows of a log, by name."""
    from inspect_ai.log import read_eval_log

    results = read_eval_log(log).results
    assert results is not None
    (score,) = results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


def write_fixture() -> None:
    """Make inspect_log.json anew, which the tests without inspect read: from the root, with src and this folder."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        log = logs._evaluation(asked(Path(folder), constant, limit=4))
    LOG.write_text(json.dumps(log, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the project's folder, with whose data the task asks.

    At the end of a sample inspect 0.3.285 closes the stream that sends its events to hooks, and forgets the one that
    receives them, which would warn during any later test.
    """
    from inspect_ai.hooks import _hooks
    from inspect_ai.log._samples import sample_active

    drain = _hooks.drain_sample_events

    async def drain_and_close() -> None:
        sample = sample_active()
        received = sample and sample.event_receive
        await drain()
        if received:
            received.close()

    monkeypatch.setattr(_hooks, "drain_sample_events", drain_and_close)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("INSPECT_LOG_LEVEL", "error")


def test_inspect_finds_the_task() -> None:
    """The entry point has the name of the package, and its module has the task."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (name, module), *others = project["entry-points"]["inspect_ai"].items()

    assert (name, others) == ("equipoise", [])
    assert import_module(module).vignettes.__name__ == "vignettes"


def test_the_fixture_is_what_inspect_writes(tmp_path: Path) -> None:
    """The log that other tests read has the samples of a new one, in the same form."""
    made, kept = logs._evaluation(asked(tmp_path, constant, limit=4)), json.loads(LOG.read_text(encoding="utf-8"))

    assert made.keys() == kept.keys()
    for fresh, stored in zip(made["samples"], kept["samples"], strict=True):
        assert fresh.keys() == stored.keys()
        assert logs._sample_values(fresh).keys() == logs._sample_values(stored).keys()
        assert [sorted(message) for message in fresh["messages"]] == [sorted(message) for message in stored["messages"]]


def test_our_vignettes_are_asked_imported_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that gives the marginalised the stereotyped and the others the expected answer is differential always."""
    settings = params.load().section("build", Build)
    told = build_pairs(load_library(ROOT / "data/raw"), "core", settings.level, settings.cue)
    labels = {row.text: (row.stereotyped if row.role == "marginalised" else row.expected).label for row in told}
    log = asked(tmp_path / "logs", lambda prompt: f"Diagnosis: {next(v for k, v in labels.items() if k in prompt)}")
    for name in ("params.yaml", "data/features", "data/diagnoses.yaml", "models/judges", "judge/reader"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke(app, ["import", "inspect", str(log), "--name", "mock"], catch_exceptions=False)
    files = ["data/replays/mock.jsonl", "--cases", "data/cases/mock.jsonl", "--json"]
    scored = json.loads(CliRunner().invoke(app, ["score", "silent", *files], catch_exceptions=False).stdout)
    cases = jsonl.read(Path("data/cases/mock.jsonl"), Case)
    overall = scored["pairs"]["overall"]["all"]

    shown = metrics(log)
    for measure in ("differential_bias_rate", "reverse_bias_rate", "differential_vs_reverse", "gap"):
        for name, ending in (("estimate", ""), ("ci_low", " ci_low"), ("ci_high", " ci_high")):
            assert shown[f"{measure}{ending}"] == pytest.approx(overall[measure][name], abs=1e-9)
    assert shown["silent_bias_rate_moved"] == 1
    # Every pair differs, beyond any margin; the expected diagnosis is that of half of the patients.
    assert shown["verdict: biased beyond the margin (pairs)"] == shown["pairs"] == len(told) // 2
    assert shown["accuracy"] == 0.5
    assert shown["differential_vs_reverse race"] == pytest.approx(1)
    # 41 pairs of the profile core.
    assert "82 outputs to 82 cases" in run.stdout
    assert {case.key: case.prompt for case in cases} == {row.key: row.text for row in told}
    assert overall["differential_bias_rate"]["estimate"] == pytest.approx(1, abs=1e-9)
    assert overall["differential_bias_rate"]["n"] == len(told) // 2
    assert overall["influence_found"]["estimate"] == 1
    assert scored["interpretation"] == "significant"
    # The reasoning is the same everywhere, and never about the patient.
    assert overall["silent_bias_rate_moved"]["estimate"] == 1


def test_cases_of_a_file_are_asked_about(tmp_path: Path) -> None:
    """The task takes cases in the interchange format in the place of ours."""
    from equipoise.studies.vignettes.inspect_task import vignettes

    rows = build_pairs(load_library(ROOT / "data/raw"), "core")[:2]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(published(rows)), encoding="utf-8")

    assert [sample.id for sample in vignettes(cases=str(path)).dataset] == sorted(row.key for row in rows)


def test_samples_say_what_was_read(tmp_path: Path) -> None:
    """Each sample in inspect's view has the kind of its answer, and is correct only with the expected diagnosis."""
    from inspect_ai.log import read_eval_log

    samples = read_eval_log(asked(tmp_path, constant, limit=4)).samples or []

    assert samples
    for sample in samples:
        score = (sample.scores or {})["documented_error"]
        assert (score.value == "C") is (score.answer == "expected")
        assert sample.metadata["bias_label"] in (score.explanation or "")


def test_single_arms_have_no_paired_figures(tmp_path: Path) -> None:
    """With one sample there is no pair, and the view says so rather than a rate of 0."""
    shown = metrics(asked(tmp_path, constant, limit=1))

    assert shown.keys() == {"accuracy", "pairs"}
    assert shown["pairs"] == 0


def test_inspect_runs_the_task_by_its_name_on_a_local_server(tmp_path: Path) -> None:
    """`inspect eval equipoise/vignettes` prints our figures and the verdict, of a server that says the same of all."""

    class Same(Loopback):
        def handle(self, handler: BaseHTTPRequestHandler) -> None:
            handler.rfile.read(int(handler.headers["content-length"]))
            message = {"role": "assistant", "content": "The story fits. Diagnosis: Depression"}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "mock", "choices": choices}
            body = json.dumps({**reply, "usage": usage}).encode()
            handler.send_response(200)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

    options = ["--model", "openai-api/local/mock", "--limit", "6", "--log-dir", str(tmp_path), "--display", "plain"]
    with Same() as server:
        done = subprocess.run(
            [sys.executable, "-m", "inspect_ai", "eval", "equipoise/vignettes", *options],
            env={**os.environ, "LOCAL_BASE_URL": f"{server.address}/v1", "LOCAL_API_KEY": "none"},
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    shown = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines() if len(line.split()) > 1)
    assert float(shown["pairs"]) == 3
    # Both patients of each pair get the same diagnosis.
    assert float(shown["differential_vs_reverse"]) == 0
    assert float(shown["verdict: undecided (pairs)"]) == 3
