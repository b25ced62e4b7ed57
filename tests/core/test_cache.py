from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import builders
from equipoise.core.cache import ResponseCache, folder, response_key
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Fidelity, Manifest, Prompt, Response
from equipoise.models.registry import Generation

PROMPT = Prompt(key="a", system="s", prefix="p", turns=("one", "two"), candidates=("x", "y"))
GENERATION = Generation(reasoning_tokens=8, answer_tokens=4)
MANIFEST = Manifest(
    model="m",
    repo="r",
    revision="v",
    licence="l",
    weights={},
    folder="f",
    files={"model.onnx": "0"},
    opset=18,
    precision="fp32",
    provider="CPUExecutionProvider",
    versions={"onnxruntime": "1"},
    fidelity=Fidelity(probes=1, letters=1, tokens=1, max_abs_logit=0),
)


def response(key: str = "a", reply: str = "Because.") -> Response:
    """Build a response."""
    likelihood = {"x": -0.5, "y": -1.25}
    return builders.response(key, reply, "x", finished=(True, False), log_likelihood=likelihood)


def test_what_was_put_is_found_again(tmp_path: Path) -> None:
    """A response survives the process that made it; a question that was never put has none."""
    path = tmp_path / "new" / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.put("question", response())
    with ResponseCache(path) as cache:
        found, nothing = cache.get("question", PROMPT), cache.get("another", PROMPT)

    assert (response(), None) == (found, nothing)


def test_a_second_answer_takes_the_place_of_the_first(tmp_path: Path) -> None:
    """A question has one answer."""
    with ResponseCache(tmp_path / "responses.sqlite") as cache:
        cache.put("question", response(reply="First."))
        cache.put("question", response(reply="Second."))

        assert cache.get("question", PROMPT) == response(reply="Second.")


def test_numbers_are_kept_as_they_are_written(tmp_path: Path) -> None:
    """A fresh response and a kept one give the same bytes: both are rounded to six places."""
    with ResponseCache(tmp_path / "responses.sqlite") as cache:
        cache.put("question", response().model_copy(update={"log_likelihood": {"x": -1 / 3}}))
        found = cache.get("question", PROMPT)

    # -1/3 to six places.
    assert found is not None
    assert found.log_likelihood == {"x": -0.333333}


def test_an_answer_takes_the_key_of_the_prompt_that_asks(tmp_path: Path) -> None:
    """A response found for another case has that case's key and study."""
    with ResponseCache(tmp_path / "responses.sqlite") as cache:
        cache.put("question", response("a"))
        found = cache.get("question", PROMPT.model_copy(update={"key": "b", "study": "questions"}))

    assert found is not None
    assert (found.key, found.study) == ("b", "questions")


def test_a_question_does_not_depend_on_who_asks() -> None:
    """The same words in another case are the same question."""
    other = PROMPT.model_copy(update={"key": "b", "study": "questions"})

    assert response_key(PROMPT, MANIFEST, GENERATION) == response_key(other, MANIFEST, GENERATION)


def test_a_question_depends_on_all_else() -> None:
    """Other words, other weights, other libraries and other settings are other questions."""
    prompts = [
        PROMPT.model_copy(update=change)
        for change in (
            {"system": ""},
            {"prefix": ""},
            {"turns": ("one",)},
            {"turns": ("two", "one")},
            {"candidates": ("x",)},
        )
    ]
    manifests = [
        MANIFEST.model_copy(update=change)
        for change in (
            {"files": {"model.onnx": "1"}},
            {"versions": {"onnxruntime": "2"}},
            {"provider": "CUDAExecutionProvider"},
        )
    ]
    generations = [
        GENERATION.model_copy(update=change)
        for change in ({"repetition_penalty": 1.1}, {"reasoning_tokens": 9}, {"answer_tokens": 5})
    ]
    keys = {
        response_key(PROMPT, MANIFEST, GENERATION),
        *(response_key(prompt, MANIFEST, GENERATION) for prompt in prompts),
        *(response_key(PROMPT, manifest, GENERATION) for manifest in manifests),
        *(response_key(PROMPT, MANIFEST, generation) for generation in generations),
    }

    # The first, and 5 + 3 + 3 others.
    assert len(keys) == 12


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A path below a file, and a path that is a folder, are refused in one line with the fix."""
    (tmp_path / "file").touch()

    for path in (tmp_path / "file" / "responses.sqlite", tmp_path):
        with pytest.raises(EquipoiseError, match=rf"{path.name}: the response cache cannot be opened .*: fix the"):
            ResponseCache(path)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    """A damaged file is refused with the fix, and is left as it is."""
    path = tmp_path / "responses.sqlite"
    path.write_bytes(b"not a database " * 100)

    with pytest.raises(EquipoiseError, match=r"responses\.sqlite: .* \(file is not a database\): .* delete it"):
        ResponseCache(path)
    assert path.read_bytes() == b"not a database " * 100


def test_a_damaged_page_is_named(tmp_path: Path) -> None:
    """Damage that shows only on reading is refused with the fix."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.put("question", response())
    content = path.read_bytes()
    # The first page, which SQLite reads on opening, stays; the pages of the table do not.
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))

    with (
        ResponseCache(path) as cache,
        pytest.raises(EquipoiseError, match=r"responses\.sqlite: .* cannot be read \(.*\): delete the file"),
    ):
        cache.get("question", PROMPT)


def test_a_damaged_answer_is_named(tmp_path: Path) -> None:
    """An answer that is not a response, or one of another version, is refused with the fix."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.put("question", response())
        for value in ('{"key": "a"}', '{"key'):
            with sqlite3.connect(path) as other:
                other.execute("UPDATE response SET value = ?", (value,))
            other.close()

            with pytest.raises(EquipoiseError, match=r"responses\.sqlite, response question \(delete the file"):
                cache.get("question", PROMPT)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """When the disk is full the message says so, and what was kept before is still there."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.put("first", response())
        # SQLite itself reports a full disk at this many pages: those there are.
        (pages,) = cache._database.execute("PRAGMA page_count").fetchone()
        cache._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(EquipoiseError, match=r"cannot be kept \(database or disk is full\): free space, then run"):
            cache.put("second", response(reply="long " * 10_000))
    with ResponseCache(path) as cache:
        assert (response(), None) == (cache.get("first", PROMPT), cache.get("second", PROMPT))


def test_two_runs_share_the_cache(tmp_path: Path) -> None:
    """What one run keeps another sees at once."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as one, ResponseCache(path) as two:
        one.put("question", response())

        assert response() == two.get("question", PROMPT)


def test_a_temporary_run_uses_the_cache_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DVC names the repository in DVC_ROOT; without it the working folder is the repository."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert folder() == Path(".cache")

    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    with ResponseCache.open():
        assert (tmp_path / ".cache" / "responses.sqlite").is_file()


def test_a_response_that_holds_less_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """When responses come to hold more, a question's key changes, so that none from before is taken for it."""
    now = response_key(PROMPT, MANIFEST, GENERATION)
    monkeypatch.setattr("equipoise.core.cache.CONTENT", "response")

    assert response_key(PROMPT, MANIFEST, GENERATION) != now
