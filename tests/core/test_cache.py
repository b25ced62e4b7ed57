from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from equipoise.core.cache import Checked, ResponseCache, check_file, folder, response_key
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Fidelity, Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.models.registry import Generation

PROMPT = Prompt(key="a", study="vignettes", system="s", prefix="p", turns=("one", "two"), candidates=("x", "y"))
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
        cache.keep({"question": response()})
    with ResponseCache(path) as cache:
        answer, nothing = cache.find("question"), cache.find("another")

    assert (response(), None) == (answer, nothing)


def test_a_second_answer_takes_the_place_of_the_first(tmp_path: Path) -> None:
    """A question has one answer."""
    with ResponseCache(tmp_path / "responses.sqlite") as cache:
        cache.keep({"question": response(reply="First.")})
        cache.keep({"question": response(reply="Second.")})

        assert cache.find("question") == response(reply="Second.")


def test_numbers_are_kept_as_they_are_written(tmp_path: Path) -> None:
    """A fresh response and a kept one give the same bytes: both are rounded to six places."""
    with ResponseCache(tmp_path / "responses.sqlite") as cache:
        cache.keep({"question": response().model_copy(update={"log_likelihood": {"x": -1 / 3}})})
        answer = cache.find("question")

    # -1/3 to six places.
    assert answer is not None
    assert answer.log_likelihood == {"x": -0.333333}


@given(kept=st.sets(st.integers(0, 40)), asked=st.lists(st.integers(0, 40), max_size=60))
def test_answers_are_found_together_as_one_by_one(
    kept: set[int], asked: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Among many keys, in any order and repeated, those with an answer are found, each with its own."""
    answers = {f"question {number}": response(reply=f"Reply {number}.") for number in kept}
    keys = [f"question {number}" for number in asked]
    with pytest.MonkeyPatch.context() as patch, ResponseCache(tmp_path_factory.mktemp("cache") / "cache") as cache:
        patch.setattr("equipoise.core.cache.LOOKED_UP", 7)
        cache.keep(answers)

        assert cache.find_all(keys) == {key: answers[key] for key in keys if key in answers}


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
            {"sentence": True},
            {"sample": 1},
            {"given": ("Because.",)},
            {"given": ("No.",)},
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
        for change in (
            {"repetition_penalty": 1.1},
            {"reasoning_tokens": 9},
            {"answer_tokens": 5},
            {"temperature": 0.5},
            {"top_p": 0.5},
        )
    ]
    keys = {
        response_key(PROMPT, MANIFEST, GENERATION),
        *(response_key(prompt, MANIFEST, GENERATION) for prompt in prompts),
        *(response_key(PROMPT, manifest, GENERATION) for manifest in manifests),
        *(response_key(PROMPT, MANIFEST, generation) for generation in generations),
    }

    # The first, and 9 + 3 + 5 others.
    assert len(keys) == 18


def test_given_replies_changed_no_key_of_prompts_without_them() -> None:
    """Answers that were kept before prompts could give replies are found: the keys are those of the code before."""
    manifest = Manifest(model="m", repo="r", revision="v", licence="l")
    asked = (PROMPT, PROMPT.model_copy(update={"reply": False}))

    assert [response_key(prompt, manifest, GENERATION) for prompt in asked] == [
        "381560add9cbe275f37c7eb00edb0263f427177d58cd6d0f6566f7f5dbffaf1c",
        "6d438381356e4d0ceca0bc5deec2879f02bbdf19b56cf7437124ca29122f4ca7",
    ]


def test_settings_of_the_generation_matter_only_where_something_is_written() -> None:
    """Likelihoods after a reply that is given are the same, however long a reply may be; a reply is not."""
    longer = GENERATION.model_copy(update={"reasoning_tokens": 9, "repetition_penalty": 1.1})
    scored, written = ({"given": ("Because.",), "reply": reply} for reply in (False, True))
    same = {
        name: response_key(asked, MANIFEST, GENERATION) == response_key(asked, MANIFEST, longer)
        for name, asked in (
            ("scored", PROMPT.model_copy(update=scored)),
            ("written", PROMPT.model_copy(update=written)),
            ("reasoned", PROMPT.model_copy(update={"reply": False})),
        )
    }

    assert same == {"scored": True, "written": False, "reasoned": False}


def test_settings_that_a_prompt_does_not_use_leave_its_question() -> None:
    """What is not written, a limit that the prompt has itself, and the number of samples are not part of it."""
    scored = PROMPT.model_copy(update={"turns": ("one",), "reply": False})
    limited = PROMPT.model_copy(update={"limit": 3})
    more = GENERATION.model_copy(update={"samples": 8})
    longer = GENERATION.model_copy(update={"answer_tokens": 5})
    other = GENERATION.model_copy(update={"reasoning_tokens": 9, "repetition_penalty": 1.1})

    assert response_key(PROMPT, MANIFEST, more) == response_key(PROMPT, MANIFEST, GENERATION)
    assert response_key(scored, MANIFEST, other) == response_key(scored, MANIFEST, GENERATION)
    assert response_key(limited, MANIFEST, longer) == response_key(limited, MANIFEST, GENERATION)
    assert response_key(limited, MANIFEST, other) != response_key(limited, MANIFEST, GENERATION)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A path below a file, and a path that is a folder, are refused in one line with the fix."""
    (tmp_path / "file").touch()

    for path in (tmp_path / "file" / "responses.sqlite", tmp_path):
        with pytest.raises(EquipoiseError, match=rf"{path.name}: the response cache cannot be opened .*: fix the"):
            ResponseCache(path)


@pytest.mark.parametrize("content", [b"", b"S", b"not a database " * 100])
def test_a_damaged_file_is_set_aside(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A truncated or foreign file is not taken for an empty cache: it is set aside as it is, and that is reported."""
    path = tmp_path / "responses.sqlite"
    path.write_bytes(content)
    with ResponseCache(path) as cache:
        assert cache.find("question") is None
        cache.keep({"question": response()})
    with ResponseCache(path) as cache:
        assert cache.find("question") == response()

    assert path.with_name("responses.sqlite.damaged-1").read_bytes() == content
    (line,) = capsys.readouterr().err.splitlines()
    assert "responses.sqlite: the response cache is damaged (" in line
    assert "set aside as responses.sqlite.damaged-1; its 0 intact responses are kept" in line


def test_what_is_intact_in_a_damaged_file_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page that turns out to be damaged costs the answers on it alone."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.keep({f"question {number:03}": response(reply=f"{number} " * 100) for number in range(200)})
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(content)
    with ResponseCache(path) as cache:
        answers = [cache.find(f"question {number:03}") for number in range(200)]

    # A page holds at most 4096 / 200 = 20 of these answers of more than 200 bytes; the damaged one may also be an inner
    # page, which costs the answers below it, but never those that come before or after them.
    assert 0 < sum(answer is not None for answer in answers) < 200
    assert all(answer in (None, response(reply=f"{number} " * 100)) for number, answer in enumerate(answers))
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("change", ['value = \'{"key": "a"}\'', "value = '{\"key'", "digest = ''", "value = x'ff'"])
def test_a_damaged_answer_is_asked_again(change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer that does not match its digest counts as missing, and is reported in one line."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.keep({"question": response()})
        cache.keep({"another": response()})
        with closing(sqlite3.connect(path)) as other, other:
            other.execute(f"UPDATE response SET {change}")  # noqa: S608  (the test's own)

        assert (cache.find("question"), cache.find("another")) == (None, None)
        assert check_file(path) == Checked(2, ("question", "another"))
        cache.keep({"question": response()})
        assert cache.find("question") == response()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("response question is damaged (checksum mismatch): any damaged response is asked again")


def test_exchanged_answers_are_asked_again(tmp_path: Path) -> None:
    """The digest covers the key: the intact answer to another question is not an answer."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.keep({"question": response()})
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE response SET key = 'another'")

        assert cache.find("another") is None


def flipped(content: bytes, number: int) -> bytes:
    """Invert one bit."""
    changed = bytearray(content)
    changed[number // 8] ^= 1 << number % 8
    return bytes(changed)


@pytest.mark.parametrize("page", range(2, 30))
def test_an_answer_that_was_found_is_not_lost_with_a_damaged_file(page: int, tmp_path: Path) -> None:
    """Answers found before a damaged page is met, next to it or between two of them, are in the new file too."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.keep({f"question {number:03}": response(reply="long " * number) for number in range(200)})
    content = bytearray(path.read_bytes())
    for first in (page, page + 5):
        content[first * 4096 : (first + 1) * 4096] = bytes(4096)
    path.write_bytes(content)
    with ResponseCache(path) as cache:
        answers, again = ([cache.find(f"question {number:03}") for number in range(200)] for _ in range(2))

    assert [(answer is None) for answer in again] == [(answer is None) for answer in answers]
    assert sum(answer is not None for answer in answers) > 100


def test_no_flipped_bit_and_no_truncation_changes_an_answer(tmp_path: Path) -> None:
    """Whatever happens to the file, a question gets its own answer or none, and a check finds what hides an answer."""
    path = tmp_path / "responses.sqlite"
    answers = {f"question {number}": response(reply=f"Because of {number}.") for number in range(30)}
    with ResponseCache(path) as cache:
        cache.keep(answers)
    content = path.read_bytes()
    rng = random.Random(20260415)  # noqa: S311
    bits = [*range(0, 100 * 8, 20), *(rng.randrange(len(content) * 8) for _ in range(40))]  # the header; all of it
    damaged = [flipped(content, bit) for bit in bits] + [content[: rng.randrange(len(content))] for _ in range(15)]
    for file in damaged:
        for name in tmp_path.iterdir():
            name.unlink()
        path.write_bytes(file)
        try:
            with ResponseCache(path) as cache:
                recovered = {key: cache.find(key) for key in answers}
                cache.keep(answers)
        except EquipoiseError:
            continue  # a flag of the header that says that the file cannot be written
        assert all(answer in (None, answers[key]) for key, answer in recovered.items())
        with ResponseCache(path) as cache:
            again = {key: cache.find(key) for key in answers}
        # A flipped bit of a key in the index can hide its neighbours, but not from a check.
        assert again == answers or check_file(path).fault
        assert all(answer in (None, answers[key]) for key, answer in again.items())


def test_an_intact_file_has_no_damage(tmp_path: Path) -> None:
    """A check counts the values of an intact file, and names what is wrong with one that is not a cache."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.keep({"question": response()})
    (tmp_path / "other.sqlite").write_bytes(b"not a database " * 100)

    assert check_file(path) == Checked(1, ())
    assert check_file(tmp_path / "other.sqlite") == Checked(0, (), "file is not a database")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """When the disk is full the message says so, and what was kept before is still there."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as cache:
        cache.keep({"first": response()})
        # SQLite itself reports a full disk at this many pages: those there are.
        (pages,) = cache._database.execute("PRAGMA page_count").fetchone()
        cache._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(EquipoiseError, match=r"cannot be kept \(database or disk is full\): free space, then run"):
            cache.keep({"second": response(reply="long " * 10_000)})
    with ResponseCache(path) as cache:
        assert (response(), None) == (cache.find("first"), cache.find("second"))


def test_two_runs_share_the_cache(tmp_path: Path) -> None:
    """What one run keeps another sees at once."""
    path = tmp_path / "responses.sqlite"
    with ResponseCache(path) as first, ResponseCache(path) as second:
        first.keep({"question": response()})

        assert response() == second.find("question")


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
