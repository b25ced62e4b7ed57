"""Tests of `equipoise import inspect`, `import lm-eval` and `import csv`, and of the how-to page on logs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli.app import app
from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.models import registry
from equipoise.models.registry import ReplayEntry

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/howto/logs.md").read_text(encoding="utf-8")
CSV = [
    *("import", "csv", "data/examples/log.csv", "--name", "mine", "--map", "pair=case", "--map", "role=patient"),
    *("--map", "bias_feature=patient", "--map", "expected=correct", "--privileged", "office worker"),
]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with what the commands read."""
    for name in ("params.yaml", "data/examples", "data/features", "data/diagnoses.yaml", "models/judges", "judge"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(arguments: list[str]) -> str:
    """Run a command; its output."""
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_log_becomes_a_model(project: Path) -> None:
    """The entry answers the study of cases, and the command counts pairs and says how to measure them."""
    shown = run([*CSV, "--title", "Some model"])
    entry = registry.load_entry("mine", project)

    assert isinstance(entry, ReplayEntry)
    assert (entry.title, entry.answers) == ("Some model, saved outputs", ("cases",))
    assert "4 outputs to 4 cases" in shown
    assert "\n2 pairs\n" in shown
    assert "dvc exp run -S model=mine -S 'studies=[cases]'" in shown


def test_an_imported_log_is_scored_as_pairs() -> None:
    """In one of the two pairs of the example, only the homeless patient gets the stereotyped answer."""
    run(CSV)
    files = ["score", "silent", "data/replays/mine.jsonl", "--cases", "data/cases/mine.jsonl"]
    scored, shown = json.loads(run([*files, "--json"])), run(files)

    assert scored["pairs"]["overall"]["all"]["differential_bias_rate"]["estimate"] == 0.5
    assert scored["pairs"]["overall"]["all"]["reverse_bias_rate"]["estimate"] == 0
    assert "2 pairs: differential bias rate 0.500" in shown
    assert "no paired figure" not in shown
    # One biased answer is too few for a verdict on silence.
    assert scored["interpretation"] == "insufficient"


def test_the_json_object_names_files_and_pairs() -> None:
    """With --json one object has the files written, the outputs given and the pairs."""
    value = json.loads(run([*CSV, "--json"]))

    assert value == {
        "written": {"models/mine.yaml": 1, "data/replays/mine.jsonl": 4, "data/cases/mine.jsonl": 4},
        "model": "mine",
        "given": 4,
        "pairs": 2,
    }


def test_a_fault_writes_nothing(project: Path) -> None:
    """A log that lacks a field leaves no file behind."""
    done = CliRunner().invoke(app, CSV[:5], catch_exceptions=False)

    assert done.exit_code == 1
    assert "data/examples/log.csv, row 1: field bias_feature is missing" in done.output
    assert sorted(path.name for path in (project / "models").iterdir()) == ["judges"]
    assert not (project / "data/cases").exists()


def test_a_pair_that_lacks_an_arm_is_a_single_case(project: Path) -> None:
    """The command counts the pairs that lack an arm, and keeps their case."""
    rows = (ROOT / "data/examples/log.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (project / "log.csv").write_text("".join(rows[:-1]), encoding="utf-8")
    shown = run(["import", "csv", "log.csv", *CSV[3:]])

    assert "1 pairs; 1 pairs lack an arm and count as single cases" in shown
    assert len([*jsonl.each(project / "data/replays/mine.jsonl", Response)]) == 3


def test_a_dimension_without_words_is_named() -> None:
    """The import notes a dimension for which the judge has no words, with the one that may be meant."""
    shown = run([*CSV, "--set", "dimension=hosing"])

    assert "dimension 'hosing': did you mean 'housing'? it has no data/features/hosing.yaml, so the judge" in shown
    assert "data/features" not in run([*CSV, "--set", "dimension=housing"])


def test_a_rate_without_answers_has_no_interval(project: Path) -> None:
    """Where no answer is biased, the table leaves the interval empty instead of writing dashes for its limits."""
    rows = (ROOT / "data/examples/log.csv").read_text(encoding="utf-8")
    fair = rows.replace("Diagnosis: Alcohol intoxication", "Diagnosis: Hypoglycaemia")
    (project / "log.csv").write_text(fair, encoding="utf-8")
    run(["import", "csv", "log.csv", *CSV[3:]])
    shown = run(["score", "silent", "data/replays/mine.jsonl", "--cases", "data/cases/mine.jsonl"])

    assert "no influence found" in shown
    assert "- to -" not in shown


def test_the_commands_of_the_page_run() -> None:
    """Every command of docs/howto/logs.md works on the examples, in the order of the page.

    Not so the import of a log that `inspect eval` has just written (tests/cases/test_inspect_task.py runs it), and
    the comparison of revisions, which the folder does not have.
    """
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE.replace("\\\n", ""), re.DOTALL))
    commands = re.findall(r"^equipoise (.+)$", blocks, re.MULTILINE)
    known = [line for line in commands if not line.startswith(("import inspect", "compare"))]

    assert (len(commands), len(known)) == (5, 3)
    for command in known:
        assert run(shlex.split(command))
