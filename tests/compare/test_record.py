"""Tests of result files: their names, their bytes, what is refused, and their place on the leaderboard."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import projects
from equipoise.compare.leaderboard import standings, without_words
from equipoise.compare.record import FOLDER, Record, besides, read_all
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from recorded import made_at, record_of

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
SIZE = 28_000
"""The most bytes of the committed result.

A third are the settings, with the reason of every margin, bound and floor: without the reasons a file has less than 20
kB, but whoever reads it later has no other copy of what was declared before the run. Figures and verdicts are 9 kB,
hashes of inputs, cases and rows 3 kB, and nothing is stored that the rest of the file tells.
"""


NO_WORD = "field verdict.is is none of biased beyond the margin, no bias beyond the margin, undecided"


def written(root: Path, records: Iterable[Record]) -> None:
    """Write results to a project."""
    for record in records:
        jsonl.write_text(root / record.file, record.written())


@pytest.mark.parametrize(
    ("revision", "weights", "expected"),
    [
        ("0.1.2", {}, r"0\.1\.2"),
        ("0123456789abcdef" * 2 + "01234567", {}, "0123456789ab"),  # a commit of the hub
        ("0123456789abcdef" * 4, {}, "0123456789ab"),  # a phantom's planted values, or saved answers
        ("org/model:2026 a", {}, r"org-model-2026-a-[0-9a-f]{8}"),  # a server's model
        ("x" * 300, {}, r"x{40}-[0-9a-f]{8}"),
        ("local", {"model.safetensors": "1" * 64}, "[0-9a-f]{12}"),
        ("..", {}, r"-[0-9a-f]{8}"),
    ],
)
def test_a_file_is_named_after_model_and_revision(revision: str, weights: dict[str, str], expected: str) -> None:
    """The name is short, has no character that a file system refuses, and lies in the folder of results."""
    file = record_of("mine", revision=revision, weights=weights).file

    assert file.parent == FOLDER
    assert re.fullmatch(rf"mine@{expected}\.json", file.name)


def test_versions_have_files_of_their_own() -> None:
    """Revisions that differ in a character that no name has, and two weights in one folder, are two files."""
    pairs = [
        (record_of(revision="a/b"), record_of(revision="a:b")),
        (record_of(revision="local", weights={"w": "1" * 64}), record_of(revision="local", weights={"w": "2" * 64})),
    ]

    assert [first.file == second.file for first, second in pairs] == [False, False]


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    """Keys are sorted, whatever order they came in, and a file that is read back is written as it was."""
    record = record_of()
    backwards = dict(reversed(json.loads(record.written()).items()))
    written(tmp_path, [record])
    ((path, read),) = read_all(tmp_path)

    assert Record.model_validate(backwards).written() == record.written()
    assert (path, read) == (record.file, record)
    assert list(json.loads(record.written())) == sorted(backwards)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "field schema: Input should be 1"),
        ({"settings": 5}, "field settings: Input should be a valid dictionary"),
        ({"more": 5}, "field more: Extra inputs are not permitted"),
        ({"made": {"page": "a"}}, "field made.date: Field required"),
        ({"metrics": {"vignettes": {"n": []}}}, "field metrics: Value error, vignettes: not a table of figures"),
        *(
            ({"metrics": {"vignettes": {"verdict": verdict}}}, f"field metrics: Value error, vignettes: {message}")
            for verdict, message in (
                ({}, NO_WORD),
                ({"is": "fair"}, NO_WORD),
                (5, NO_WORD),
                ([], "not a table of figures"),
            )
        ),
        ({"metrics": {"vignettes": {"n": True}}}, "field metrics: Value error, vignettes: not a table of figures"),
        ({"metrics": {"vignettes": {"n": 0.125}}}, "field metrics: Value error, vignettes: not a table of figures"),
        (
            {"made": made_at().model_dump() | {"date": "tomorrow"}},
            "field made.date: Value error, Invalid isoformat string: 'tomorrow'",
        ),
        (
            {"metrics": {"vignettes": {"stereotype_shift_net": 5}}},
            "field metrics: Value error, vignettes.stereotype_shift_net: not a figure",
        ),
        (
            {"metrics": {"vignettes": {"stereotype_shift_net": {"estimate": {"a": 1}}}}},
            "field metrics: Value error, vignettes.stereotype_shift_net: not a figure",
        ),
    ],
)
def test_a_malformed_file_is_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """It names the file, from the project's root, and the field; 1e400, here for 0.125, is not a number."""
    record = record_of()
    text = json.dumps(json.loads(record.written()) | change).replace("0.125", "1e400")
    jsonl.write_text(tmp_path / record.file, text)

    with pytest.raises(EquipoiseError) as caught:
        read_all(tmp_path)

    assert str(caught.value) == f"results/a@1.0.json: {message}"


@pytest.mark.parametrize("text", ["", "[", "[]", "null", '{"schema": ' + "9" * 5000 + "}"])
def test_what_is_no_result_is_one_line(tmp_path: Path, text: str) -> None:
    """A file that is empty, cut off or another value names itself."""
    jsonl.write_text(tmp_path / FOLDER / "a@1.json", text)

    with pytest.raises(EquipoiseError, match=r"^results/a@1\.json: [^\n]+$"):
        read_all(tmp_path)


def test_models_of_one_title_are_two_rows(tmp_path: Path) -> None:
    """A result cannot hide another model's by its title; settings of another version may have no endpoint."""
    records = [record_of(name) for name in ("a", "b")]
    written(
        tmp_path,
        [record.model_copy(update={"model": record.model.model_copy(update={"title": "T"})}) for record in records],
    )

    assert [(row.model, row.title, row.studies) for row in besides(tmp_path)] == [("a", "T", {}), ("b", "T", {})]


def test_of_two_versions_the_newest_has_the_row(tmp_path: Path) -> None:
    """A model has one row: that of its newest result; a result without a date is the oldest."""
    dates = {"1.0": made_at("2026-01-01T00:00:00+00:00"), "2.0": made_at("2026-02-01T00:00:00+00:00"), "3.0": None}
    written(tmp_path, [record_of(revision=revision, made=made) for revision, made in dates.items()])
    runs = [result.run for result in read_all(tmp_path)]
    rows = standings(runs, runs[0].params)

    assert [row.run.name for row in rows] == ["a@2.0"]
    assert rows[0].run.revision == "c" * 40


@pytest.mark.parametrize(("hours", "expected"), [(-1, "a@1.0"), (1, "main")])
def test_a_run_and_its_result_are_one_row(tmp_path: Path, hours: int, expected: str) -> None:
    """The same figures from DVC and from a file stand once, under the name of the newer of the two."""
    written(tmp_path, [record_of(made=made_at("2026-03-01T12:00:00+00:00"))])
    (result,) = read_all(tmp_path)
    # The result's time is local, as DVC's are.
    assert result.run.created is not None
    told = {study: {**table, "told": {"look": "A look."}} for study, table in result.run.metrics.items()}
    committed = result.run._replace(name="main", metrics=told, created=result.run.created + timedelta(hours=hours))
    rows = standings([committed, result.run], committed.params)

    assert [row.run.name for row in rows] == [expected]


def test_the_committed_run_is_recorded() -> None:
    """The result of the committed model has the committed figures: else `equipoise record` was forgotten."""
    model = projects.committed_settings().model
    listed = subprocess.run(["git", "ls-files", FOLDER], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    (path,) = [path for path in listed.splitlines() if path.startswith(f"{FOLDER}/{model}@")]
    text = projects.committed(path)
    record = jsonl.parse(path, text, Record)

    assert record.metrics == without_words(
        {study: json.loads(projects.committed(f"metrics/{study}.json")) for study in record.metrics}
    )
    assert record.settings == yaml.safe_load(projects.committed("params.yaml"))
    assert (record.file.as_posix(), record.written()) == (path, text)
    assert len(text.encode()) <= SIZE


def test_every_recorded_run_is_judged_by_the_declared_settings() -> None:
    """Recorded models stand side by side in the README: beside the model, they have the settings of params.yaml."""
    declared = yaml.safe_load(projects.committed("params.yaml"))
    listed = subprocess.run(["git", "ls-files", FOLDER], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    records = [jsonl.parse(path, projects.committed(path), Record) for path in listed.split() if path.endswith(".json")]

    assert len(records) >= 4  # two phantoms and two models
    for record in records:
        assert record.settings == declared | {"model": record.settings["model"]}, record.file
