from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import builders
from equipoise.backends.ask import answer_all, open_backend
from equipoise.backends.base import answering
from equipoise.backends.replay import ReplayBackend, Saved, question
from equipoise.core import jsonl
from equipoise.core.cache import ResponseCache
from equipoise.core.errors import EquipoiseError
from equipoise.core.prompts import Prompt, Response
from equipoise.models.export import describe
from equipoise.models.registry import ReplayEntry

prompt = partial(builders.prompt, study="questions", system="You are a clinician.")


def saved(key: str, reply: str, asked: str | None = None) -> Saved:
    """Build a saved answer."""
    return Saved(
        key=key,
        study="questions",
        replies=(reply,),
        finished=(True,),
        log_likelihood={"x": -0.5},
        candidate_tokens={"x": 2},
        prompt_tokens=3,
        generated_tokens=4,
        asked=asked,
    )


def answered(path: Path, rows: list[Saved], prompts: list[Prompt]) -> list[Response]:
    """Answer prompts from a file of saved answers."""
    jsonl.write(path, rows)
    with ReplayBackend(path) as backend:
        return list(backend.answer(prompts))


def test_an_answer_is_found_by_the_key_of_its_prompt(tmp_path: Path) -> None:
    """All that was saved comes back, under the study that asks."""
    (response,) = answered(tmp_path / "saved.jsonl", [saved("b", "No."), saved("a", "Yes.")], [prompt("a", "Why?")])

    expected = saved("a", "Yes.").model_dump(exclude={"asked"}) | {"study": "questions"}
    assert response == Response.model_validate(expected)


def test_an_answer_is_found_by_what_it_answers(tmp_path: Path) -> None:
    """Where the words are known they decide: the same words in two cases have one answer, whatever the keys."""
    rows = [saved("old", "Because.", question(prompt("any", "Why?"))), saved("a", "By key.")]
    responses = answered(tmp_path / "saved.jsonl", rows, [prompt("a", "Why?"), prompt("b", "Why?")])

    assert [(row.key, row.replies) for row in responses] == [("a", ("Because.",)), ("b", ("Because.",))]


def test_words_are_all_that_a_model_reads() -> None:
    """The digest changes with system text, turns, given replies and prefix, and not with the key or the study."""
    asked = prompt("a", "Why?", "What?")
    changes = [
        {"system": ""},
        {"turns": ("Why?",)},
        {"turns": ("What?", "Why?")},
        {"prefix": "It is"},
        {"given": ("Because.",)},
        {"given": ("No.",)},
    ]

    assert question(asked) == question(asked.model_copy(update={"key": "b", "study": "vignettes"}))
    assert len({question(asked), *(question(asked.model_copy(update=change)) for change in changes)}) == 7


def test_prompts_without_an_answer_are_counted(tmp_path: Path) -> None:
    """Where answers are missing none is given, and the line says how many and the first."""
    rows = [saved("a", "Yes."), saved("c", "No.", question(prompt("c", "Before?")))]
    jsonl.write(tmp_path / "saved.jsonl", rows)

    with ReplayBackend(tmp_path / "saved.jsonl") as backend:
        with pytest.raises(EquipoiseError, match=r"saved\.jsonl: 2 of 3 prompts have no saved answer, first 'b': ask"):
            next(backend.answer([prompt("a", "Why?"), prompt("b", "Why?"), prompt("c", "Now?")]))
        with pytest.raises(
            EquipoiseError, match=r"1 of 1 prompts have no saved answer, first 'c' \(saved to other words\)"
        ):
            next(backend.answer([prompt("c", "Now?")]))


def test_a_malformed_row_is_named(tmp_path: Path) -> None:
    """The line names the file and the row."""
    (tmp_path / "saved.jsonl").write_text(json.dumps({"key": "a", "study": "questions"}) + "\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"saved\.jsonl, row 1: field replies: Field required"):
        ReplayBackend(tmp_path / "saved.jsonl")


def entry(path: Path) -> ReplayEntry:
    """Register a file of saved answers."""
    digest = jsonl.sha256(path) if path.is_file() else "a" * 64
    return ReplayEntry(title="Saved", licence="none", backend="replay", file=path.name, sha256=digest)


def test_saved_responses_of_a_run_give_the_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The responses file of one model, registered as it is, answers the same prompts through the same code."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    prompts = [prompt("a", "Why?"), prompt("b", "What?")]
    before = [Response.model_validate(saved(key, key).model_dump(exclude={"asked"})) for key in "ab"]
    jsonl.write(tmp_path / "responses.jsonl", before)
    model = entry(tmp_path / "responses.jsonl")
    manifest = describe("some", model, tmp_path)
    with ResponseCache(tmp_path / "cache") as cache:
        answered = answer_all(
            prompts,
            manifest=manifest,
            generation=model.generation,
            cache=cache,
            make=partial(answering, lambda: open_backend(manifest, model, tmp_path, batch_size=1)),
            progress=lambda *_: None,
        )
        responses = [*answered]

    assert (manifest.backend, manifest.repo, manifest.revision) == ("replay", "responses.jsonl", model.sha256)
    assert responses == [row.model_copy(update={"study": "questions"}) for row in before]


def test_a_file_that_is_missing_or_altered_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry names one file; another is reported with both digests, when described and when opened."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    path = tmp_path / "saved.jsonl"
    with pytest.raises(
        EquipoiseError, match=r"saved answers missing: \S+/saved\.jsonl: restore the file, or correct the"
    ):
        describe("some", entry(path), tmp_path)
    jsonl.write(path, [saved("a", "Yes.")])
    model = entry(path)
    manifest = describe("some", model, tmp_path)
    jsonl.write(path, [saved("a", "No.")])

    with pytest.raises(
        EquipoiseError,
        match=rf"saved answers altered: \S+: checksum mismatch: expected {model.sha256}, found [0-9a-f]+",
    ):
        open_backend(manifest, model, tmp_path, batch_size=1)


def test_an_entrys_own_marks_of_thinking_become_the_common_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any case, and with a space in them; without the field, the saved words stay, and the model is another."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    path = tmp_path / "saved.jsonl"
    jsonl.write(path, [saved("a", "<|denk|>Pain. <|DENK aus|>Gout.")])
    plain = entry(path)
    marked = ReplayEntry.model_validate(
        plain.model_dump() | {"marks": {"open": ["<|denk|>"], "close": ["<|denk aus|>", "<|/denk|>"]}}
    )
    replies = []
    for model in (marked, plain):
        with open_backend(describe("some", model, tmp_path), model, tmp_path, batch_size=1) as backend:
            (row,) = backend.answer([prompt("a", "Why?")])
            replies += row.replies

    assert replies == ["<think>Pain. </think>Gout.", "<|denk|>Pain. <|DENK aus|>Gout."]
    assert describe("some", marked, tmp_path).identity != describe("some", plain, tmp_path).identity
