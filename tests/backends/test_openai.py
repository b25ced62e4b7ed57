from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import prompt
from equipoise.backends import openai as server
from equipoise.backends.ask import open_backend
from equipoise.backends.openai import ApiBackend, remove_prefix, whole_text
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Manifest
from equipoise.core.prompts import Response
from equipoise.models.export import describe
from equipoise.studies.vignettes.profiles import samples_of
from servers import KEY, Fault, FaultyServer, ask, entry, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equipoise.core.prompts import Prompt

    Child = subprocess.Popen[str]

ROOT = Path(__file__).parents[2]


def test_a_conversation_is_held_turn_by_turn() -> None:
    """Each turn is asked with all that was said before; the last, with the words that its reply should begin with."""
    asked = prompt("a", "Reason.", "Name it.", system="You are a clinician.", prefix="It is")
    with FaultyServer() as api:
        response = ask(entry(api.url, seed=5), [asked])["a"]

    (first, headers), (second, _) = api.requests
    request = "Name it.\n\nBegin your reply with these words: It is"
    system = {"role": "system", "content": "You are a clinician."}
    assert headers["authorization"] == f"Bearer {KEY}"
    assert first == {
        "model": "some-model",
        "messages": [system, {"role": "user", "content": "Reason."}],
        "temperature": 0.0,
        "seed": 5,
        "max_tokens": 50,
    }
    assert second["messages"] == [
        *first["messages"],
        {"role": "assistant", "content": "REASON."},
        {"role": "user", "content": request},
    ]
    assert second["max_tokens"] == 20
    assert response == Response(
        key="a",
        study="vignettes",
        replies=("REASON.", request.upper()),
        finished=(True, True),
        log_likelihood={},
        # The server counts 7 and 3 for either turn.
        prompt_tokens=14,
        generated_tokens=6,
        endings=("stop", "stop"),
        models=("", ""),
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_that_the_server_keeps_apart_is_kept(field: str, *, stream: bool) -> None:
    """It is put before the reply between tags, and is not said again in the next turn."""
    with FaultyServer(say=lambda _: {field: "Fever, cough.", "content": "Pneumonia."}) as api:
        response = ask(entry(api.url, stream=stream), [prompt("a", "Why?", "What?")])["a"]

    assert response.replies == ("<think>\nFever, cough.\n</think>\n\nPneumonia.",) * 2
    assert api.requests[1][0]["messages"][1] == {"role": "assistant", "content": "Pneumonia."}


@pytest.mark.parametrize(
    ("reply", "sent"),
    [
        ("Because.", "Because."),
        ("<think>\nFever, cough.\n</think>\n\nBecause.", "Because."),
        ("<think>\nFever, cough.\n</think>\n\n", ""),
    ],
)
def test_a_given_reply_is_said_without_its_thinking(reply: str, sent: str) -> None:
    """The server is asked once, as if it had given the reply itself, and its one reply is the response's."""
    asked = prompt("a", "Why?", "What?", given=(reply,), candidates=("x", "y"))
    with FaultyServer() as api:
        response = ask(entry(api.url), [asked])["a"]

    ((request, _),) = api.requests
    assert request["messages"] == [
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": sent},
        {"role": "user", "content": "What?"},
    ]
    assert request["max_tokens"] == 20
    assert (response.replies, response.finished, response.log_likelihood) == (("WHAT?",), (True,), {})
    assert response.prompt_tokens == 7


def test_a_reply_that_is_given_back_makes_the_same_request() -> None:
    """After the server's own reply, thinking kept apart, the last turn is asked in the words of the conversation."""
    with FaultyServer(say=lambda _: {"reasoning": "Fever, cough.", "content": "Pneumonia."}) as api:
        own = ask(entry(api.url), [prompt("a", "Why?", "What?")])["a"]
        ask(entry(api.url), [prompt("a", "Why?", "What?", given=own.replies[:1])])

    _, (second, _), (again, _) = api.requests
    assert again == second


def test_a_prompt_without_an_answer_does_not_keep_the_others_from_theirs(tmp_path: Path) -> None:
    """One that fails in every attempt is reported at the end; the others are kept, and only it is asked again."""
    prompts = [prompt(key) for key in "abcdef"]
    faults: dict[str, Sequence[Fault]] = {"c": ["broken"] * 4}
    with FaultyServer(faults) as api:
        with pytest.raises(
            EquipoiseError, match=r"prompts without an answer: 1, first 'c': .*4 attempts, .*500 not now: run again"
        ):
            run(entry(api.url), prompts, tmp_path / "cache")
        before = len(api.requests)
        responses = run(entry(api.url), prompts, tmp_path / "cache")

    assert api.turns()[before:] == ["c"]
    assert [row.replies[0] for row in responses] == list("ABCDEF")
    assert set(api.answered.values()) == {1}


def test_a_server_that_is_down_is_not_asked_for_every_prompt() -> None:
    """As many failures in a row as there are requests at once, here four, end the asking.

    Each of the first three to be reported may have made room for one more, so between four and seven prompts are asked.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(EquipoiseError, match=r"prompts without an answer: [4-7], first '\w': .*Connection error"):
        ask(entry(url), [prompt(key) for key in "abcdefghij"])


def test_no_more_requests_than_allowed_are_under_way() -> None:
    """The bound holds, whatever the number of prompts."""
    with FaultyServer() as api:
        ask(entry(api.url, concurrency=3), [prompt(f"{number:02}", "Why?", f"{number}") for number in range(30)])

    assert 1 <= api.most <= 3


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    order=st.permutations("abcdefgh"),
    concurrency=st.integers(1, 8),
    faults=st.dictionaries(
        st.sampled_from("abcdefgh"), st.lists(st.sampled_from(("busy", "broken", "cut_json", "drops")), max_size=3)
    ),
)
def test_order_concurrency_and_faults_change_no_answer(
    tmp_path_factory: pytest.TempPathFactory, order: list[str], concurrency: int, faults: dict[str, list[Fault]]
) -> None:
    """Every prompt has its own answer, each was given once, and a second run asks for none."""
    path = tmp_path_factory.mktemp("cache") / "cache"
    prompts = [prompt(key, "Why?", key) for key in order]
    with FaultyServer(faults) as api:
        model = entry(api.url, concurrency=concurrency)
        responses = run(model, prompts, path)
        requests = len(api.requests)
        again = run(model, prompts[::-1], path)

    assert [(row.key, row.replies) for row in responses] == [(key, ("WHY?", key.upper())) for key in order]
    assert again == responses[::-1]
    # One answer to the last turn of each; the first turns, which are all alike, were asked once for each.
    assert sorted(api.answered.values()) == [1] * 8 + [8]
    assert requests == len(api.requests)


def test_a_prompt_that_asks_for_likelihoods_alone_is_refused() -> None:
    """It has no reply to ask for; the check stage says so before."""
    with (
        FaultyServer() as api,
        pytest.raises(EquipoiseError, match=r"'a' asks only how likely .*: set the answering of"),
    ):
        ask(entry(api.url), [prompt("a", reply=False, candidates=("x", "y"))])

    assert api.requests == []


@pytest.mark.parametrize("value", [None, ""])
def test_a_key_that_is_not_set_is_told_before_any_request(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    """The line names the variable."""
    if value is None:
        monkeypatch.delenv("TEST_KEY")
    else:
        monkeypatch.setenv("TEST_KEY", value)

    with pytest.raises(
        EquipoiseError, match=r"models/some\.yaml: the environment variable TEST_KEY is not set: export it"
    ):
        ApiBackend("some", entry("http://127.0.0.1:1/v1"))


def test_a_host_that_cannot_exist_is_refused() -> None:
    """The client would report it with a traceback."""
    with pytest.raises(EquipoiseError, match=r"no address \(.*\): correct the field base_url"):
        ApiBackend("some", entry("http://local..h\u00f6st/v1"))


def test_a_manifest_names_the_server_and_what_it_is_told() -> None:
    """Another address, model or temperature is another model; how it is reached and how fast is not."""
    model = entry("http://x/v1")

    def identity(**change: Any) -> str:
        return describe("some", model.model_copy(update=change), ROOT).identity

    manifest = describe("some", model, ROOT)
    assert (manifest.backend, manifest.repo, manifest.revision) == ("openai", "http://x/v1", "some-model")
    assert Manifest.model_validate(manifest.written()) == manifest
    others = [{"base_url": "http://y/v1"}, {"model": "b"}, {"temperature": None}, {"seed": 1}, {"prefix": None}]
    assert len({identity(), *(identity(**other) for other in others), identity(extra_body={"a": 1})}) == 7
    same = [{"concurrency": 1}, {"timeout": 1.0}, {"attempts": 1}, {"stream": True}, {"key_env": None}]
    assert {identity(**other) for other in same} == {identity()}


def test_the_manifest_of_another_backend_is_refused() -> None:
    """An entry that was changed after the export is reported, with the fix."""
    manifest = describe("some", entry("http://x/v1"), ROOT).model_copy(update={"backend": "onnx"})

    with pytest.raises(EquipoiseError, match=r"models/some\.yaml: field backend is openai, but the manifest says onnx"):
        open_backend(manifest, entry("http://x/v1"), ROOT, batch_size=1)


def test_a_client_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the command that installs it."""
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "equipoise.backends.openai")
    manifest = describe("some", entry("http://x/v1"), ROOT)

    with pytest.raises(EquipoiseError, match=r"is not installed: run `pip install 'equipoise\[api\]'`"):
        open_backend(manifest, entry("http://x/v1"), ROOT, batch_size=1)


def test_another_thread_answers_too() -> None:
    """There Ctrl-C is the main thread's affair."""
    keys: list[str] = []
    with FaultyServer() as api:
        thread = threading.Thread(target=lambda: keys.extend(ask(entry(api.url), [prompt("a")])))
        thread.start()
        thread.join()

    assert keys == ["a"]


CHILD = '''
"""Answer prompts of a server as the infer stage does."""

import signal
from functools import partial
from pathlib import Path

from equipoise.core import cache
from equipoise.core import jsonl
from equipoise.core.prompts import Prompt
from equipoise.models import registry
from equipoise.core import stage
from equipoise.models.export import describe
from equipoise.backends.ask import open_backend
from equipoise.backends.ask import answer_all
from equipoise.backends.base import answering


def main() -> None:
    entry = registry.load_entry("some", Path())
    manifest = describe("some", entry, Path())
    with cache.ResponseCache.open() as kept:
        rows = answer_all(
            jsonl.read(Path("prompts.jsonl"), Prompt),
            manifest=manifest,
            generation=entry.generation,
            cache=kept,
            make=partial(answering, lambda: open_backend(manifest, entry, Path(), batch_size=1, turns=Path('turns'))),
            progress=lambda done, total: Path("done").write_text(str(done)),
        )
        jsonl.write(Path("responses.jsonl"), rows)


# A shell ignores Ctrl-C for what it runs in the background, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
stage.run(main)
'''


def child(folder: Path, api: FaultyServer, prompts: Sequence[Prompt], **change: Any) -> Callable[[], Child]:
    """Lay out a project in a folder, and give what starts its run."""
    (folder / "models").mkdir()
    written = entry(api.url, **change).model_dump(mode="json")
    (folder / "models" / "some.yaml").write_text(json.dumps(written), encoding="utf-8")
    (folder / "child.py").write_text(CHILD, encoding="utf-8")
    jsonl.write(folder / "prompts.jsonl", prompts)
    environment = {name: value for name, value in os.environ.items() if name != "DVC_ROOT"}
    return partial(
        subprocess.Popen,
        [sys.executable, "child.py"],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_run_that_is_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    """Ctrl-C in the middle leaves one line, exit code 1 and the finished answers; the next run asks the rest, once."""
    with FaultyServer({"c": ["hangs"], "e": ["hangs"]}) as api:
        start = child(tmp_path, api, [prompt(key) for key in "abcdef"], concurrency=2)
        with start() as run:
            # Two requests hang, so no more than a, b and d are answered; the server has both before the interruption.
            done = tmp_path / "done"
            while not (done.exists() and done.read_text(encoding="utf-8") == "3" and {"c", "e"} <= set(api.turns())):
                assert run.poll() is None
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            _, errors = run.communicate()
        assert (run.returncode, errors) == (
            1,
            "interrupted: finished work is saved; run the same command again to resume\n",
        )
        assert not (tmp_path / "responses.jsonl").exists()
        api.released.set()
        asked = len(api.requests)
        with start() as run:
            assert (run.communicate()[1], run.returncode) == ("", 0)

    assert sorted(api.turns()[asked:]) == ["c", "e", "f"]
    assert set(api.answered.values()) == {1}
    responses = jsonl.read(tmp_path / "responses.jsonl", Response)
    assert [row.replies for row in responses] == [(key,) for key in "ABCDEF"]


def test_a_run_that_is_killed_asks_no_turn_again(tmp_path: Path) -> None:
    """Killed in the middle of conversations, it goes on at once with the turns that were not answered."""
    hanging: dict[str, Sequence[Fault]] = {f"{turn}?": ["hangs"] for turn in ("What 2", "What 3", "Why 5", "Why 6")}
    with FaultyServer(hanging) as api:
        start = child(tmp_path, api, [prompt(str(number), f"Why {number}?", f"What {number}?") for number in range(9)])
        with start() as run:
            # All four requests that are sent at once hang: every answer before them was kept.
            while not hanging.keys() <= set(api.turns()):
                assert run.poll() is None
                time.sleep(0.01)
            run.kill()
        api.released.set()
        asked = api.turns()
        with start() as run:
            assert (run.communicate()[1], run.returncode) == ("", 0)

    assert run.returncode == 0
    assert set(api.answered.values()) == {1}
    assert len(api.answered) == 18
    # Of the turns that the second run asked, only those that hung were asked before.
    assert set(asked).intersection(api.turns()[len(asked) :]) == hanging.keys()


def test_the_words_that_a_reply_begins_with_are_taken_off() -> None:
    """What follows them is the reply, as of a model that is given these words."""
    begun = prompt("a", prefix="The diagnosis is")
    later = "Pneumonia. The diagnosis is sure."
    assert remove_prefix(server.Reply(text=" the diagnosis IS: pneumonia."), begun).text == "pneumonia."
    assert remove_prefix(server.Reply(text=later), begun).text == later
    assert remove_prefix(server.Reply(text="Pneumonia."), prompt("a")).text == "Pneumonia."
    assert whole_text(server.Reply(text=" Pneumonia.\n")) == "Pneumonia."


def test_each_sample_is_asked_with_a_seed_of_its_own() -> None:
    """The entry's seed and the sample's number, at the entry's temperature, in requests of their own."""
    generation = {"reasoning_tokens": 5, "answer_tokens": 5, "samples": 3}
    asked = samples_of(prompt("a", "Why?"), 3)
    with FaultyServer() as api:
        responses = ask(entry(api.url, seed=5, temperature=0.7, generation=generation), asked)

    assert sorted(responses) == ["a", "a#1", "a#2"]
    assert sorted((body["seed"], body["temperature"]) for body, _ in api.requests) == [(5, 0.7), (6, 0.7), (7, 0.7)]


def test_a_servers_temperature_is_the_entrys() -> None:
    """One under `generation` would not be sent, and at 0 all samples are alike."""
    limits = {"reasoning_tokens": 5, "answer_tokens": 5}
    with pytest.raises(ValueError, match="temperature and top_p are not sent to a server"):
        entry("http://x", generation=limits | {"temperature": 0.7})
    with pytest.raises(ValueError, match="greedy replies are all alike"):
        entry("http://x", temperature=0, generation=limits | {"samples": 2})


def test_an_answer_in_one_sentence_ends_with_it() -> None:
    """What follows it is left out and the answer is whole; a reply that begins otherwise may answer further on."""
    asked = prompt("a", prefix="The diagnosis is", sentence=True)
    long = server.Reply(text="The diagnosis is pneumonia. It may also be", ending="length")
    other = server.Reply(text="Let us see. The diagnosis is", ending="length")

    assert remove_prefix(long, asked) == server.Reply(text="pneumonia.", ending="stop")
    assert remove_prefix(other, asked) == other
