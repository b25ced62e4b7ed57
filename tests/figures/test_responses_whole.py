"""Tests of the guard that stops a run whose responses are not those of its prompts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import fill, noted, prompt
from equipoise.core.errors import EquipoiseError
from equipoise.figures.responses import note_prompts, require_answered
from equipoise.studies.stigma.measure import require_whole

FILE = Path("responses.jsonl")
PROMPTS = note_prompts(Path("prompts.jsonl"), [prompt("a"), prompt("b"), prompt("q")])


def test_one_response_each_passes() -> None:
    """Responses in any order pass; a study without prompts has no responses."""
    require_answered(PROMPTS, [noted("q"), noted("b"), noted("a")], FILE)
    require_answered([], [], FILE)


def test_missing_responses_are_counted_and_the_first_is_found() -> None:
    """The line names the file, how many are missing, the first with its own file and row, and the fix."""
    with pytest.raises(EquipoiseError) as caught:
        require_answered(PROMPTS, [noted("a")], FILE)

    assert str(caught.value) == (
        "responses.jsonl: 2 of 3 prompts have no response, first 'b' (prompts.jsonl, row 2): run `dvc repro "
        "infer@vignettes`, "
        "which asks what is missing"
    )


@pytest.mark.parametrize("study", ["vignettes", "exam"])
def test_a_response_that_was_not_asked_for_is_named_by_its_row(study: str) -> None:
    """A response to a prompt that nobody asked is refused with its row, even where all prompts have theirs."""
    responses = [noted("b"), noted("q"), noted("other", study=study), noted("a")]

    with pytest.raises(EquipoiseError) as caught:
        require_answered(PROMPTS, responses, FILE)

    assert str(caught.value) == (
        "responses.jsonl, row 3: a response to 'other', which is not among the prompts of the study: delete the row, "
        f"or run `dvc repro infer@{study}`"
    )


@given(st.sets(st.sampled_from("abcdefgh"), min_size=1), st.data())
def test_any_missing_response_is_found(keys: set[str], data: st.DataObject) -> None:
    """However many prompts there are, taking one response away is refused."""
    prompts = note_prompts(Path("prompts.jsonl"), [prompt(key) for key in sorted(keys)])
    gone = data.draw(st.sampled_from(sorted(keys)))

    with pytest.raises(EquipoiseError, match=f"1 of {len(keys)} prompts have no response, first '{gone}'"):
        require_answered(prompts, [noted(key) for key in keys - {gone}], FILE)


def test_a_prompt_is_known_by_its_words() -> None:
    """Two prompts of the same words have one content; the key and the shared beginning are not part of it."""
    first, same, other = note_prompts(
        Path("p"), [prompt("a", "Why?"), prompt("b", "Why?", stem="W"), prompt("c", "How?")]
    )

    assert first.content == same.content != other.content


def test_a_sentence_that_is_missing_is_named() -> None:
    """Two templates and two conditions make four sentences; a template that lacks a condition is refused."""
    fills = [fill("t1", "anxiety"), fill("t1", "stroke"), fill("t2", "anxiety")]

    require_whole([*fills, fill("t2", "stroke")], Path("fills.jsonl"))
    require_whole([], Path("fills.jsonl"))
    with pytest.raises(EquipoiseError, match=r"fills.jsonl: 1 of 4 sentences are missing, first 'rq1/t2/stroke'"):
        require_whole(fills, Path("fills.jsonl"))
