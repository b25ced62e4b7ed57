"""Tests of our vignettes as a task of inspect, with its mock model; skipped where the extra is not installed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
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
    for one, other in zip(made["samples"], kept["samples"], strict=True):
        assert one.keys() == other.keys()
        assert logs._sample_values(one).keys() == logs._sample_values(other).keys()
        assert [sorted(message) for message in one["messages"]] == [sorted(message) for message in other["messages"]]


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
