from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny
from builders import prompt, response
from equipoise.backends import ask as asking
from equipoise.backends import base
from equipoise.backends.ask import answer_all
from equipoise.backends.base import Keeping, answering
from equipoise.core import jsonl
from equipoise.core.cache import ResponseCache, response_key
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Fidelity, Manifest
from equipoise.core.prompts import Prompt, Response
from equipoise.models.registry import Generation
from servers import FaultyServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from conftest import Exported

ROOT = Path(__file__).parents[2]
GENERATION = Generation(reasoning_tokens=8, answer_tokens=4)
MANIFEST = Manifest(
    model="m",
    repo="r",
    revision="v",
    licence="l",
    weights={},
    folder="f",
    files={},
    opset=18,
    precision="fp32",
    provider="CPUExecutionProvider",
    versions={},
    fidelity=Fidelity(probes=1, letters=1, tokens=1, max_abs_logit=0),
)


def answer(asked: Prompt) -> Response:
    """Answer a prompt by its own words in capitals."""
    return response(asked.key, asked.turns[0].upper(), study=asked.study)


class Echo:
    """A backend that answers in reverse order, notes what it was asked, and can break after some answers."""

    def __init__(self, breaks_after: int | None = None, error: BaseException | None = None) -> None:
        """Hold when to break, and with what."""
        self.asked: list[str] = []
        self.opened = self.closed = 0
        self._breaks_after, self._error = breaks_after, error

    def __enter__(self) -> Self:
        """Count the openings."""
        self.opened += 1
        return self

    def __exit__(self, *_: object) -> None:
        """Count the closings."""
        self.closed += 1

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt, or break on the way."""
        for number, asked in enumerate(reversed(list(prompts))):
            if number == self._breaks_after and self._error:
                raise self._error
            self.asked.append(asked.key)
            yield answer(asked)


def run(prompts: list[Prompt], backend: Echo, path: Path, seen: list[tuple[int, int]] | None = None) -> list[Response]:
    """Answer prompts with a cache on disk, and note the progress."""
    with ResponseCache(path) as cache:
        return list(
            answer_all(
                prompts,
                manifest=MANIFEST,
                generation=GENERATION,
                cache=cache,
                make=partial(answering, lambda: backend),
                progress=lambda done, total: (seen if seen is not None else []).append((done, total)),
            )
        )


def test_responses_are_in_the_order_of_the_prompts(tmp_path: Path) -> None:
    """Whatever order the backend answers in, each prompt has its own response in its own place."""
    prompts = [prompt("b", "two"), prompt("a", "one"), prompt("c", "three")]

    assert [answer(asked) for asked in prompts] == run(prompts, Echo(), tmp_path / "cache")


def test_equal_questions_are_asked_once(tmp_path: Path) -> None:
    """Two prompts with the same words share one answer, each under its own key."""
    backend = Echo()
    prompts = [prompt("a", "same"), prompt("b", "other"), prompt("c", "same")]
    responses = run(prompts, backend, tmp_path / "cache")

    assert sorted(backend.asked) == ["a", "b"]
    assert [(row.key, row.replies[0]) for row in responses] == [("a", "SAME"), ("b", "OTHER"), ("c", "SAME")]


def test_finished_prompts_are_not_asked_again(tmp_path: Path) -> None:
    """A later run asks only what is new, also where an answered question has a new key."""
    prompts = [prompt("a", "one"), prompt("b", "two")]
    run(prompts, Echo(), tmp_path / "cache")
    backend = Echo()
    responses = run([*prompts, prompt("c", "three"), prompt("d", "one")], backend, tmp_path / "cache")

    assert backend.asked == ["c"]
    assert [row.replies[0] for row in responses] == ["ONE", "TWO", "THREE", "ONE"]


def test_the_model_is_not_opened_when_nothing_is_left_to_ask(tmp_path: Path) -> None:
    """A run whose answers are all kept needs no weights."""
    prompts = [prompt("a", "one")]
    first, second = Echo(), Echo()
    run(prompts, first, tmp_path / "cache")
    run(prompts, second, tmp_path / "cache")
    run([], second, tmp_path / "cache")

    assert (first.opened, first.closed, second.opened) == (1, 1, 0)


def test_a_model_that_is_kept_open_is_opened_once(tmp_path: Path) -> None:
    """The same model is asked what follows from the first answers, and stays open until its keeper closes it."""
    backend = Echo()
    make = partial(answering, lambda: backend)
    fixed = {"manifest": MANIFEST, "generation": GENERATION, "make": make, "progress": lambda *_: None}
    with ResponseCache(tmp_path / "cache") as cache, Keeping(cache, make) as keeping:
        ask = partial(answer_all, cache=cache, keeping=keeping, **fixed)
        none, before = list(ask([])), backend.opened
        first = list(ask([prompt("a", "one")]))
        then = list(ask([prompt("b", first[0].replies[0]), prompt("c", "one")]))
        during = (backend.opened, backend.closed)

    assert (none, before, during, backend.closed) == ([], 0, (1, 0), 1)
    assert [row.replies[0] for row in then] == ["ONE", "ONE"]
    assert backend.asked == ["a", "b"]


class Straight(Echo):
    """A backend that takes prompts one by one."""

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Response]:
        """Answer every prompt in order, without holding one."""
        for asked in prompts:
            self.asked.append(asked.key)
            yield answer(asked)


def test_prompts_with_one_beginning_are_asked_one_after_the_other(tmp_path: Path) -> None:
    """Those of a stem are together, and of these those of a lead, though they are apart in the file."""
    stems = ["", "A long stem of more bytes than order stems. ", "A long stem of more bytes than order stems, too. "]
    prompts = [
        prompt(f"{number:02}", f"text {number}").model_copy(
            update={"stem": (stem := stems[number % 3]), "lead": f"{stem}{number % 2}"}
        )
        for number in range(18)
    ]
    backend = Straight()
    run(prompts, backend, tmp_path / "cache")
    begun = {asked.key: (asked.stem, asked.lead) for asked in prompts}

    assert sorted(backend.asked) == list(begun)
    assert [len({begun[key][0] for key in backend.asked[start : start + 6]}) for start in (0, 6, 12)] == [1, 1, 1]
    assert [len({begun[key] for key in backend.asked[start : start + 3]}) for start in range(0, 18, 3)] == [1] * 6


@pytest.mark.slow
def test_memory_does_not_grow_by_the_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """18,000 more prompts of a file take less memory than a third of their own text, to ask and to read back."""
    monkeypatch.setattr(base, "TOGETHER", 500)
    length = 3000

    def process(items: Mapping[str, Prompt]) -> Iterator[Mapping[str, Response]]:
        """Answer all prompts at once, so that they are kept in one transaction."""
        yield {key: answer(asked) for key, asked in items.items()}

    def peak(count: int) -> int:
        """Answer prompts of 3,000 characters, and give the most bytes held at a time."""
        path = tmp_path / f"{count}.jsonl"
        jsonl.write(path, (prompt(f"{number:05}", f"{number:05}".ljust(length)) for number in range(count)))
        tracemalloc.start()
        try:
            with ResponseCache(tmp_path / f"{count}.sqlite") as cache:
                answers = answer_all(
                    jsonl.Rows(path, Prompt),
                    manifest=MANIFEST,
                    generation=GENERATION,
                    cache=cache,
                    make=lambda: nullcontext(process),
                    progress=lambda *_: None,
                )
                assert sum(1 for _ in answers) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(20_000) - peak(2_000) < 18_000 * length / 3


@pytest.mark.parametrize("error", [EquipoiseError("no memory"), KeyboardInterrupt(), RuntimeError("broken")])
@pytest.mark.parametrize("breaks_after", [0, 1, 3])
def test_a_backend_that_breaks_loses_nothing(tmp_path: Path, breaks_after: int, error: BaseException) -> None:
    """What was answered before the fault is kept, and the next run asks the rest, each once."""
    prompts = [prompt(key, key) for key in "abcd"]
    broken, sound = Echo(breaks_after, error), Echo()
    with pytest.raises(type(error)):
        run(prompts, broken, tmp_path / "cache")
    responses = run(prompts, sound, tmp_path / "cache")

    assert (breaks_after, 1) == (len(broken.asked), broken.closed)
    assert sorted(broken.asked + sound.asked) == ["a", "b", "c", "d"]
    assert [answer(asked) for asked in prompts] == responses


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response that cannot be kept ends the run in one line; those kept before it are not asked again."""
    prompts = [prompt(key, key) for key in "abcd"]
    keep = ResponseCache.keep
    kept: list[str] = []

    def fills_up(self: ResponseCache, results: Mapping[str, Response]) -> None:
        if len(kept) == 2:
            message = "no space"
            raise EquipoiseError(message)
        keep(self, results)
        kept.extend(row.key for row in results.values())

    with monkeypatch.context() as patch:
        patch.setattr(ResponseCache, "keep", fills_up)
        with pytest.raises(EquipoiseError, match="no space"):
            run(prompts, Echo(), tmp_path / "cache")
    backend = Echo()
    run(prompts, backend, tmp_path / "cache")

    # Echo answers in reverse: d and c were kept.
    assert (kept, backend.asked) == (["d", "c"], ["b", "a"])


def test_a_prompt_without_an_answer_is_named(tmp_path: Path) -> None:
    """A backend that leaves a prompt out is noticed before any response is handed out."""
    backend = Echo()
    backend.answer = lambda asked: (answer(row) for row in asked if row.key != "b")  # type: ignore[method-assign]

    with (
        ResponseCache(tmp_path / "cache") as cache,
        pytest.raises(EquipoiseError, match="prompt 'b' was asked and not answered: run again"),
    ):
        answer_all(
            [prompt("a", "one"), prompt("b", "two")],
            manifest=MANIFEST,
            generation=GENERATION,
            cache=cache,
            make=partial(answering, lambda: backend),
            progress=lambda *_: None,
        )


def test_everything_is_asked_before_the_first_response_is_taken(tmp_path: Path) -> None:
    """Responses are handed out from the disk; whoever takes none of them has them asked, and kept, all the same."""
    prompts = [prompt(key, key) for key in "abc"]
    backend = Echo()
    with ResponseCache(tmp_path / "cache") as cache:
        responses = answer_all(
            prompts,
            manifest=MANIFEST,
            generation=GENERATION,
            cache=cache,
            make=partial(answering, lambda: backend),
            progress=lambda *_: None,
        )

        assert (sorted(backend.asked), backend.closed) == (["a", "b", "c"], 1)
        assert next(responses) == answer(prompts[0])
    again = Echo()
    run(prompts, again, tmp_path / "cache")

    assert again.opened == 0


@given(words=st.lists(st.sampled_from("uvwxyz"), max_size=12), kept=st.sets(st.sampled_from("uvwxyz")))
def test_progress_counts_answered_prompts(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], kept: set[str]
) -> None:
    """It begins with what is kept, moves with every answer by the prompts that share it, and ends with all of them."""
    path = tmp_path_factory.mktemp("cache") / "cache"
    run([prompt(word, word) for word in kept], Echo(), path)
    seen: list[tuple[int, int]] = []
    run([prompt(f"{number:02}", word) for number, word in enumerate(words)], Echo(), path, seen)

    new = list(dict.fromkeys(word for word in words if word not in kept))
    # The model is asked the first prompt of each question, and Echo answers from the last asked to the first.
    done = [sum(words.count(word) for word in kept | set(new[len(new) - count :])) for count in range(len(new) + 1)]
    assert [(count, len(words)) for count in done] == seen


CHILD = '''
"""Answer prompts as the infer stage does; note each that the model is given, and stop after some answers."""

import sys
import time
from functools import partial
from pathlib import Path

from equipoise.core import cache
from equipoise.core import jsonl
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Prompt
from equipoise.models import registry
from equipoise.backends.ask import open_backend
from equipoise.backends.onnx import OnnxBackend
from equipoise.backends.ask import answer_all
from equipoise.backends.base import answering

plain = OnnxBackend.answer
entry = registry.load_entry("tiny", Path())
manifest = jsonl.read_one(Path("manifest.json"), Manifest)


def noted(prompts):
    for prompt in prompts:
        with Path("asked").open("a") as file:
            file.write(prompt.key + "\\n")
        yield prompt


def answer(self, prompts):
    for number, response in enumerate(plain(self, noted(prompts))):
        if number == int(sys.argv[1]):
            time.sleep(600)
        yield response


OnnxBackend.answer = answer
with cache.ResponseCache.open() as kept:
    rows = answer_all(
        jsonl.read(Path("prompts.jsonl"), Prompt),
        manifest=manifest,
        generation=entry.generation,
        cache=kept,
        make=partial(answering, lambda: open_backend(manifest, entry, cache.folder() / "models", batch_size=3)),
        progress=lambda done, total: None,
    )
    jsonl.write(Path("responses.jsonl"), rows)
'''


class Project:
    """A folder in which the tiny model answers prompts."""

    def __init__(self, folder: Path, model: Exported, prompts: list[Prompt]) -> None:
        """Lay out what inference reads."""
        self.folder = folder
        self.cache = folder / ".cache" / "responses.sqlite"
        self.responses = folder / "responses.jsonl"
        self._log = folder / "asked"
        (folder / ".cache").mkdir(parents=True)
        (folder / ".cache" / "models").symlink_to(model.store)
        shutil.copytree(model.store.parent / "models", folder / "models")
        (folder / "child.py").write_text(CHILD, encoding="utf-8")
        jsonl.write(folder / "prompts.jsonl", prompts)
        jsonl.write_json(folder / "manifest.json", model.manifest.model_dump(mode="json"))

    def start(self, stop: int = -1) -> subprocess.Popen[bytes]:
        """Start answering, and after `stop` answers, unless that is -1, wait to be killed."""
        self._log.write_text("", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name != "DVC_ROOT"}
        return subprocess.Popen(
            [sys.executable, "child.py", str(stop)],
            cwd=self.folder,
            # The graph needs no torch, whose import would be most of the time.
            env=environment | {"PYTHONPATH": str(ROOT / "src"), "USE_TORCH": "0"},
        )

    def asked(self) -> list[str]:
        """List the prompts that the model was given in the last run."""
        return self._log.read_text(encoding="utf-8").split()

    def kept(self, folder: Path) -> set[str]:
        """List the questions whose answers are on disk, from a copy, lest looking repair what a kill left."""
        folder.mkdir()
        for path in self.cache.parent.glob(f"{self.cache.name}*"):
            shutil.copy(path, folder)
        with closing(sqlite3.connect(folder / self.cache.name)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
                return set()
            return {key for (key,) in database.execute("SELECT key FROM response")}

    def count(self) -> int:
        """Count the answers on disk while the stage runs; -1 before there is a file."""
        if not self.cache.exists():
            return -1
        try:
            with closing(sqlite3.connect(f"file:{self.cache}?mode=ro", uri=True)) as database:
                return int(database.execute("SELECT count(*) FROM response").fetchone()[0])
        except sqlite3.OperationalError:  # not yet a database with a table
            return 0


def test_a_run_that_is_killed_goes_on_where_it_was(tiny_model: Exported, tmp_path: Path) -> None:
    """Killed four times, a run ends with the bytes of an undisturbed one, and no answered prompt is asked again."""
    prompts = [
        Prompt(
            key=f"case-{number:02}",
            study="vignettes",
            system="You are an experienced clinician.",
            prefix="The single most likely diagnosis is",
            turns=(f"A patient of {20 + number} has had chest pain. " * (1 + number % 3), "What is the diagnosis?"),
            candidates=("myocardial infarction", "panic attack", "pneumonia"),
        )
        for number in range(12)
    ]
    keys = {asked.key: response_key(asked, tiny_model.manifest, tiny_model.entry.generation) for asked in prompts}

    undisturbed = Project(tmp_path / "undisturbed", tiny_model, prompts)
    assert undisturbed.start().wait() == 0
    assert sorted(undisturbed.asked()) == list(keys)

    killed = Project(tmp_path / "killed", tiny_model, prompts)
    before: set[str] = set()
    # As soon as the cache file exists, and then after so many answers, in the middle of a batch of three.
    for moment in (0, 1, 4, 8):
        with killed.start(moment - len(before)) as child:
            while killed.count() < moment:
                assert child.poll() is None
                time.sleep(0.01)
            child.send_signal(signal.SIGKILL)
        after = killed.kept(tmp_path / f"copy-{moment}")
        given = killed.asked()

        assert child.returncode == -signal.SIGKILL
        assert moment <= len(after) < len(prompts)
        assert before <= after
        assert not before & {keys[key] for key in given}
        assert len(given) == len(set(given))
        assert not killed.responses.exists()
        before = after

    assert killed.start().wait() == 0
    assert sorted(killed.asked()) == [key for key, question in keys.items() if question not in before]
    assert undisturbed.responses.read_bytes() == killed.responses.read_bytes()


SPOT = '''
"""Answer prompts one after the other, each in a moment, and note each that the model is given."""

import time
from contextlib import nullcontext
from pathlib import Path

from builders import response
from equipoise.backends.ask import answer_all
from equipoise.core import cache, jsonl
from equipoise.core.prompts import Prompt
from test_ask import GENERATION, MANIFEST


def process(items):
    for key, prompt in items.items():
        with Path("asked").open("a") as file:
            file.write(prompt.key + "\\n")
        time.sleep(0.02)
        yield {key: response(prompt.key, "An answer.")}


with cache.ResponseCache.open() as kept:
    fixed = {"manifest": MANIFEST, "generation": GENERATION, "progress": lambda *_: None}
    jsonl.write(
        Path("responses.jsonl"),
        answer_all(jsonl.Rows(Path("prompts.jsonl"), Prompt), cache=kept, make=lambda: nullcontext(process), **fixed),
    )
'''


def test_a_lost_machine_goes_on_from_the_copy(tmp_path: Path) -> None:
    """The how-to's command copies the cache during a run; the next machine asks only what the copy lacks."""
    page = (ROOT / "docs/howto/spot.md").read_text(encoding="utf-8")
    keeping = page.partition("```bash\n")[2].partition("dvc repro")[0]
    assert "KEPT=/mnt/kept" in keeping
    assert "sleep 60" in keeping
    kept = tmp_path / "kept"
    kept.mkdir()
    names = {f"{number:03}" for number in range(60)}
    environment = {name: value for name, value in os.environ.items() if name != "DVC_ROOT"}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT / "tests", ROOT / "tests/backends")))}

    def machine(name: str) -> Path:
        """Lay out a machine's disk."""
        folder = tmp_path / name
        (folder / ".cache").mkdir(parents=True)
        (folder / "spot.py").write_text(SPOT, encoding="utf-8")
        jsonl.write(folder / "prompts.jsonl", [prompt(name, f"text {name}") for name in names])
        return folder

    first, second = machine("first"), machine("second")
    # The loop runs until its file of prompts is gone, and the copies are made more often.
    loop = keeping.replace("/mnt/kept", str(kept)).replace("sleep 60", "sleep 0.1 && test -e prompts.jsonl")
    script = loop.replace("done &", "done") + "true"
    with (
        subprocess.Popen(["bash", "-c", script], cwd=first, env=environment, stderr=subprocess.DEVNULL) as copying,
        subprocess.Popen([sys.executable, "spot.py"], cwd=first, env=environment) as child,
    ):
        while not (kept / "responses.sqlite").exists() or not _copied(kept):
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        (first / "prompts.jsonl").unlink()
        copying.wait()
    copied = _copied(kept)
    shutil.rmtree(first)

    assert child.returncode == -signal.SIGKILL
    assert 0 < copied < len(names)
    shutil.copy(kept / "responses.sqlite", second / ".cache")
    subprocess.run([sys.executable, "spot.py"], cwd=second, env=environment, check=True)
    asked = (second / "asked").read_text(encoding="utf-8").split()
    assert len(asked) == len(set(asked)) == len(names) - copied
    assert {row.key for row in jsonl.read(second / "responses.jsonl", Response)} == names


def _copied(folder: Path) -> int:
    """Count the answers of a copy of the cache."""
    with closing(sqlite3.connect(folder / "responses.sqlite")) as database:
        return int(database.execute("SELECT count(*) FROM response").fetchone()[0])


SERVER = """\
title: A server
licence: none
backend: openai
base_url: {url}
model: some
key_env: null
generation: {{reasoning_tokens: 128, answer_tokens: 24}}
"""


def silent(done: int, total: int) -> None:
    """Show no progress."""


def test_an_exported_model_is_an_agent(tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model exported before answers messages in few tokens, in order, and the second time from disk."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "models").symlink_to(tiny_model.store)
    jsonl.write_json(tiny_model.store / "tiny.json", tiny_model.manifest.model_dump(mode="json"))
    messages = [("You write.", "One sentence, please."), ("You write.", "Another one, please.")]
    with ResponseCache.open() as kept:
        reply = asking.agent("tiny", tiny_model.root, kept, tokens=5, batch_size=2, progress=silent)
        first = reply(messages)
        (tmp_path / ".cache" / "models").unlink()
        second = reply(messages[::-1])

    assert len(first) == 2
    assert second == first[::-1]


def test_a_model_that_was_not_exported_is_no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fix is named: export it once, or use the rules; a name that is not there is reported as such."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    tiny.register(tmp_path, "some", tmp_path, seed=1)
    make = {"tokens": 5, "batch_size": 2, "progress": silent}
    with ResponseCache.open() as kept:
        with pytest.raises(EquipoiseError, match="agent 'some' is not an exported model: run"):
            asking.agent("some", tmp_path, kept, **make)
        with pytest.raises(EquipoiseError, match="no entry 'nobody': known: some"):
            asking.agent("nobody", tmp_path, kept, **make)


def test_a_server_is_an_agent_without_an_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers messages in order, each once, in as few tokens as the agent may use."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "*")
    (tmp_path / "models").mkdir()
    with FaultyServer() as api, ResponseCache.open() as kept:
        (tmp_path / "models" / "some.yaml").write_text(SERVER.format(url=api.url), encoding="utf-8")
        reply = asking.agent("some", tmp_path, kept, tokens=5, batch_size=2, progress=silent)
        replies = [reply([("You write.", "one"), ("You write.", "two")]), reply([("You write.", "two")])]

    assert replies == [["ONE", "TWO"], ["TWO"]]
    assert sorted(api.turns()) == ["one", "two"]
    assert {body["max_tokens"] for body, _ in api.requests} == {5}
