"""Tests of the reading of a run's rows: faults are refused before a figure is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from equipoise.metrics.rows import Rows, read_rows

from builders import fill, prompt, response
from equipoise.core import records
from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.core.records import Row, Study

CITIES = Path(__file__).parents[2] / "data/cities.yaml"
EMPTY = (
    *("vignettes", "judgements", "variants", "attempts", "subsets", "fills", "agreements", "cases", "case_judgements"),
    *("prompts", "questions", "exam", "consultations", "responses"),
)


def every(_: Study) -> bool:
    """Say that the model answers every study."""
    return True


def run(folder: Path, **rows: list[Row]) -> Rows:
    """Write a run of which only some rows are there, and read it."""
    for name in EMPTY:
        records.write(folder / f"{name}.jsonl", rows.get(name, []))
    return read_rows(folder, CITIES, every)


def test_a_whole_run_is_read_with_what_was_asked(tmp_path: Path) -> None:
    """Prompts of two files and their responses belong together."""
    rows = run(
        tmp_path,
        prompts=[prompt("a/privileged")],
        exam=[prompt("i1/exam", study="medmcqa")],
        responses=[response("a/privileged", "Text."), response("i1/exam", study="medmcqa", log_likelihood={"A": -1.0})],
    )

    assert [(one.file.name, one.row, one.key) for one in rows.asked] == [
        ("prompts.jsonl", 1, "a/privileged"),
        ("exam.jsonl", 1, "i1/exam"),
    ]
    assert [(one.key, one.letter) for one in rows.responses] == [("a/privileged", None), ("i1/exam", "A")]


def test_two_responses_to_one_prompt_are_refused(tmp_path: Path) -> None:
    """The second row is named, with the first, and the mend."""
    run(tmp_path, prompts=[prompt("a")], responses=[response("a", "One.")])
    line = (tmp_path / "responses.jsonl").read_text(encoding="utf-8")
    (tmp_path / "responses.jsonl").write_text(line * 2, encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"responses.jsonl, row 2: duplicate key 'a' \(first in row 1\): keep one"):
        read_rows(tmp_path, CITIES, every)


def test_a_missing_response_stops_the_run(tmp_path: Path) -> None:
    """With a response taken away there are no rows, and so no figures."""
    run(tmp_path, prompts=[prompt("a"), prompt("b")], responses=[response("a", "One."), response("b", "Two.")])
    first = (tmp_path / "responses.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(first)["key"] == "a"
    (tmp_path / "responses.jsonl").write_text(first + "\n", encoding="utf-8")

    with pytest.raises(
        EquipoiseError, match=r"responses.jsonl: 1 of 2 prompts have no response, first 'b' \(.*row 2\)"
    ):
        read_rows(tmp_path, CITIES, every)


def test_a_response_too_many_stops_the_run(tmp_path: Path) -> None:
    """A response that nobody asked for is refused with its row."""
    with pytest.raises(EquipoiseError, match=r"responses.jsonl, row 2: a response to 'b' of the study vignettes"):
        run(tmp_path, prompts=[prompt("a")], responses=[response("a", "One."), response("b", "Two.")])


def test_a_missing_sentence_stops_the_run(tmp_path: Path) -> None:
    """The fills of a question are a full table of templates and conditions."""
    with pytest.raises(EquipoiseError, match=r"fills.jsonl: 1 of 4 sentences are missing, first 'rq1/t2/b'"):
        run(tmp_path, fills=[fill("t1", "a"), fill("t1", "b"), fill("t2", "a")])
