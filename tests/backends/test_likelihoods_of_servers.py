"""Tests of the likelihoods that servers give, against a checkpoint behind a real one and in the local engine."""

from __future__ import annotations

import math
import socket
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

import tiny
from builders import prompt
from equipoise.backends import offers, served
from equipoise.backends.openai import ApiBackend
from equipoise.backends.torch import TorchBackend
from equipoise.core.errors import EquipoiseError
from equipoise.models import registry, weights
from equipoise.models.export import describe
from equipoise.models.registry import ApiEntry, TorchEntry
from model_server import ModelServer
from servers import FaultyServer, Waits, ask, entry, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from equipoise.core.prompts import Prompt, Response
    from model_server import Gives

ANSWERS = ("depression", "myocardial infarction", "panic disorder", "pneumonia", "pulmonary embolism")
PROMPTS = (
    prompt(
        "reasoned",
        "The patient has chest pain. Why?",
        "What is it?",
        system="You are a clinician.",
        prefix="The single most likely diagnosis is",
        candidates=ANSWERS,
    ),
    prompt("given", "Why?", "What?", given=("The chest pain.",), prefix="It is", candidates=ANSWERS, reply=False),
    prompt("letter", "Which? A, B, C or D.", prefix="Answer:", candidates=("A", "B", "C", "D"), reply=False),
    prompt("begun", "Write a sentence.", candidates=("The patient", "You are", "A patient"), reply=False),
)
TEMPLATE = "chat.jinja"
BROKEN = (
    r"^prompts without an answer: 1, first 'letter': .*: 4 attempts, the last of them met: the log probabilities that "
    r"were asked for are missing or broken: run again"
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a tiny random checkpoint, whose chat template is a file too."""
    root = tmp_path_factory.mktemp("served")
    tiny.register(root, "local", tiny.build(root / "checkpoint", 3), 3, "torch")
    (root / TEMPLATE).write_text(tiny.CHAT, encoding="utf-8")
    return root


@pytest.fixture(autouse=True)
def _in_project(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for files of the project where the checkpoint lies."""
    monkeypatch.setenv("DVC_ROOT", str(checkpoint))


def here(root: Path, prompts: Sequence[Prompt]) -> dict[str, Response]:
    """Answer prompts with the checkpoint in this process, greedily and without a penalty, as the server does."""
    local = registry.load_entry("local", root)
    assert isinstance(local, TorchEntry)
    plain = local.generation.model_copy(update={"repetition_penalty": 1.0})
    local = local.model_copy(update={"generation": plain})
    with TorchBackend(weights.locate(local, root), local, batch_size=2) as backend:
        return {response.key: response for response in backend.answer(prompts)}


def at(api: ModelServer, **change: Any) -> ApiEntry:
    """Give the entry of a server, with the limits of the local one."""
    limits = {"reasoning_tokens": 12, "answer_tokens": 6}
    return entry(api.url, **{"generation": limits, "prefix": None, "template": TEMPLATE, **change})


def there(api: ModelServer, prompts: Sequence[Prompt], form: served.Form | None, **change: Any) -> dict[str, Response]:
    """Answer prompts with a server that gives likelihoods in a form."""
    with ApiBackend("some", at(api, **change), pause=Waits(), form=form) as backend:
        return {response.key: response for response in backend.answer(prompts)}


def offer(model: ApiEntry, memory: Path) -> served.Offer:
    """Find what a server gives, with the findings remembered in a file."""
    return offers.offered("some", model, memory)


@pytest.mark.parametrize("form", ["prompt_logprobs", "echo"])
def test_a_server_gives_the_likelihoods_of_its_model(checkpoint: Path, form: served.Form) -> None:
    """Whole candidates after reasoning, after a given reply, letters, and a reply's beginning: as in this process."""
    local = here(checkpoint, PROMPTS)
    with ModelServer(checkpoint / "checkpoint", [form]) as api:
        responses = there(api, PROMPTS, form)

    for asked in PROMPTS:
        ours, theirs = local[asked.key], responses[asked.key]
        assert (theirs.candidate_tokens, theirs.at_most) == (ours.candidate_tokens, {})
        # Single precision rounds each step to 6e-8 of its value.
        assert theirs.log_likelihood == pytest.approx(ours.log_likelihood, rel=1e-6)
        assert max(theirs.log_likelihood, key=theirs.log_likelihood.__getitem__) == max(
            ours.log_likelihood, key=ours.log_likelihood.__getitem__
        )
    assert responses["reasoned"].replies[0] == local["reasoned"].replies[0]
    assert responses["letter"].replies == ()


def test_a_prompt_costs_a_token_for_each_candidate(checkpoint: Path) -> None:
    """One request without a candidate and one with each, of one token; a first token's alternatives are one request."""
    letters = PROMPTS[2]
    with ModelServer(checkpoint / "checkpoint", ["prompt_logprobs", "top_logprobs"]) as api:
        there(api, [letters], "prompt_logprobs")
        there(api, [letters], "top_logprobs")

    bodies = [body for _, body in api.requests]
    assert [body["max_tokens"] for body in bodies] == [1] * 6
    assert [body["messages"][-1]["content"] for body in bodies[:5]] == [
        "Answer:",
        *(f"Answer: {letter}" for letter in letters.candidates),
    ]
    # What is reported at another temperature may be scaled.
    assert {body["temperature"] for body in bodies} == {1.0}
    assert bodies[5]["messages"] == [{"role": "user", "content": f"{letters.turns[0]}\n\nReply with the answer alone."}]
    assert (bodies[5]["logprobs"], bodies[5]["top_logprobs"]) == (True, 20)


def test_a_first_token_scores_the_candidates_that_begin_with_it() -> None:
    """Spellings of one letter add up; a letter that is none of the alternatives has what they leave over at most."""
    alternatives = {"B": math.log(0.5), " B": math.log(0.2), "C.": math.log(0.1), "The": math.log(0.1)}

    scores = served.first_token_scores(alternatives, ("A", "B", "C"))

    # 0.5 + 0.2; 0.1; and 1 - 0.9 for A.
    assert {name: round(math.exp(score.mean), 9) for name, score in scores.known.items()} == {"B": 0.7, "C": 0.1}
    assert {name: round(math.exp(bound), 9) for name, bound in scores.at_most.items()} == {"A": 0.1}
    assert {score.tokens for score in scores.known.values()} == {1}


def test_a_first_token_that_is_shared_scores_nobody() -> None:
    """Two candidates that begin alike, and a letter that may be a word of its own, have a bound and no likelihood."""
    alternatives = {"Pan": math.log(0.4), "pul": math.log(0.2), "P": math.log(0.1), "within": math.log(0.05)}
    answers = ("panic disorder", "pulmonary embolism", "within an hour", "within a day")

    scores = served.first_token_scores(alternatives, answers)

    # "P" may begin either of the first two. What is left over is 0.25, to which the own and the shared ones are added.
    assert scores.known == {}
    bounds = {name: round(math.exp(bound), 9) for name, bound in scores.at_most.items()}
    assert bounds == {
        "panic disorder": 0.75,
        "pulmonary embolism": 0.55,
        "within an hour": 0.3,
        "within a day": 0.3,
    }
    clear = served.first_token_scores({name: alternatives[name] for name in ("Pan", "pul")}, answers)
    assert {name: round(math.exp(score.mean), 9) for name, score in clear.known.items()} == {
        "panic disorder": 0.4,
        "pulmonary embolism": 0.2,
    }


@pytest.mark.parametrize(
    ("gives", "expected"),
    [
        (["prompt_logprobs", "echo", "top_logprobs"], ("prompt", "prompt_logprobs")),
        (["echo", "top_logprobs"], ("prompt", "echo")),
        (["top_logprobs"], ("top", "top_logprobs")),
        ([], ("none", None)),
    ],
)
@pytest.mark.parametrize("refuses", [False, True], ids=["ignores", "refuses"])
def test_a_server_is_asked_once_what_it_gives(
    checkpoint: Path, tmp_path: Path, gives: Sequence[Gives], expected: tuple[str, str | None], *, refuses: bool
) -> None:
    """One token in each form, the most exact one first, whether others are ignored or refused; then it is known."""
    with ModelServer(checkpoint / "checkpoint", gives, refuses=refuses) as api:
        offered = offer(at(api), tmp_path / "offers")
        asked = len(api.requests)
        again = offer(at(api), tmp_path / "offers")

    assert (offered.likelihoods, offered.form) == expected
    assert again == offered
    assert len(api.requests) == asked <= 3
    assert all(body["max_tokens"] == 1 for _, body in api.requests)
    outcome = "refused (400)" if refuses else "asked for, and not given"
    assert (f"prompt_logprobs: {outcome}" in offered.found) == ("prompt_logprobs" not in gives)


@pytest.mark.parametrize(
    "spoil",
    [lambda _: math.nan, lambda _: -math.inf, lambda _: math.inf, lambda _: None, lambda _: -9999.0, lambda _: 3.0],
    ids=["nan", "-inf", "inf", "null", "clamped", "positive"],
)
def test_what_is_no_log_probability_is_none(
    checkpoint: Path, tmp_path: Path, spoil: Callable[[float], float | None]
) -> None:
    """A server that gives nothing finite gives no likelihoods; from one that did before, it is a broken reply."""
    forms: tuple[Gives, ...] = ("prompt_logprobs", "echo", "top_logprobs")
    with ModelServer(checkpoint / "checkpoint", forms, spoil=spoil) as api:
        offered = offer(at(api), tmp_path / "offers")
        for form in forms:
            api.requests.clear()
            with pytest.raises(EquipoiseError, match=BROKEN):
                there(api, PROMPTS[2:3], form)
            assert len(api.requests) == at(api).attempts

    assert offered.likelihoods == "none"


SPOILT: dict[str, tuple[served.Form, Callable[[dict[str, Any]], object]]] = {
    "no log probabilities": ("top_logprobs", lambda answer: answer["choices"][0].update(logprobs=None)),
    "no tokens": ("top_logprobs", lambda answer: answer["choices"][0]["logprobs"].update(content=[])),
    "no alternatives": ("top_logprobs", lambda answer: listed(answer).clear()),
    "an alternative that is not a number": ("top_logprobs", lambda answer: listed(answer)[7].update(logprob=math.nan)),
    "an alternative above 0": ("top_logprobs", lambda answer: listed(answer)[0].update(logprob=3.0)),
    "an alternative without one": ("top_logprobs", lambda answer: listed(answer)[3].pop("logprob")),
    "a field of another kind": ("top_logprobs", lambda answer: answer["choices"][0].update(logprobs="high")),
    "no prompt": ("prompt_logprobs", lambda answer: answer.pop("prompt_logprobs")),
    "an empty prompt": ("prompt_logprobs", lambda answer: answer["prompt_logprobs"].clear()),
    "a null within the prompt": ("prompt_logprobs", lambda answer: answer["prompt_logprobs"].__setitem__(3, None)),
    "another prompt": ("prompt_logprobs", lambda answer: answer["prompt_logprobs"].pop()),
    "a prompt of another kind": ("prompt_logprobs", lambda answer: answer.update(prompt_logprobs={"0": -1})),
    "no text": ("echo", lambda answer: answer["choices"][0].update(logprobs=None)),
    "more tokens than values": ("echo", lambda answer: answer["choices"][0]["logprobs"]["token_logprobs"].pop()),
}


def listed(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the alternatives to the first token of an answer."""
    alternatives: list[dict[str, Any]] = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    return alternatives


@pytest.mark.slow
@pytest.mark.parametrize("name", SPOILT)
def test_a_reply_without_what_the_server_gives_is_asked_for_again(checkpoint: Path, tmp_path: Path, name: str) -> None:
    """Every second reply is broken: the likelihoods are those of a sound server. If all are, nothing is cached."""
    form, spoil = SPOILT[name]
    letter = PROMPTS[2:3]
    numbers = count()
    with ModelServer(checkpoint / "checkpoint", [form]) as api:
        sound = kept(checkpoint, api, letter, form, tmp_path / "sound")
        api.spoil_answer = lambda answer: spoil(answer) if next(numbers) % 2 == 0 else None
        assert kept(checkpoint, api, letter, form, tmp_path / "every second") == sound

        api.spoil_answer = spoil
        with pytest.raises(EquipoiseError, match=BROKEN):
            kept(checkpoint, api, letter, form, tmp_path / "all")
        api.spoil_answer = lambda _: None
        assert kept(checkpoint, api, letter, form, tmp_path / "all") == sound
    assert 0.0 not in sound[0].at_most.values()  # what is known about each candidate


def kept(
    checkpoint: Path, api: ModelServer, prompts: Sequence[Prompt], form: served.Form, cache: Path
) -> list[Response]:
    """Answer prompts through a cache on disk, as the infer stage does."""
    return run(at(api, template=str(checkpoint / TEMPLATE)), prompts, cache, form=form)


@pytest.mark.parametrize("value", [-9999.0, -math.inf])
def test_an_alternative_that_cannot_be_leaves_the_others_as_they_are(value: float) -> None:
    """Minus infinity, or what vLLM writes for it, is a probability of 0, and that of one alternative alone."""
    rows = [{"token": "A", "logprob": -0.5}, {"token": "B", "logprob": -1.0}, {"token": "Z", "logprob": value}]
    reply = {"choices": [{"logprobs": {"content": [{**rows[0], "top_logprobs": rows}]}}]}

    assert served.Scored.model_validate(reply).alternatives() == {"A": -0.5, "B": -1.0}


def test_a_candidate_that_cannot_be_is_unknown_and_others_are_not(checkpoint: Path) -> None:
    """One token of minus infinity in a sound reply is not a fault: the reply is not asked for again."""
    letter = PROMPTS[2]
    with ModelServer(checkpoint / "checkpoint", ["prompt_logprobs"]) as api:
        sound = there(api, [letter], "prompt_logprobs")["letter"]
        asked = len(api.requests)
        api.spoil_answer = lambda answer: without_b(api, answer)
        response = there(api, [letter], "prompt_logprobs")["letter"]

    assert response.log_likelihood == {
        name: likelihood for name, likelihood in sound.log_likelihood.items() if name != "B"
    }
    assert (response.at_most, len(api.requests)) == ({"B": 0.0}, 2 * asked)


def without_b(api: ModelServer, answer: dict[str, Any]) -> None:
    """Give the last token of a prompt that ends in B no probability."""
    if api.requests[-1][1]["messages"][-1]["content"].endswith(" B"):
        next(iter(answer["prompt_logprobs"][-1].values()))["logprob"] = -9999.0


def test_a_reply_that_a_filter_ends_leaves_its_candidates_unknown(checkpoint: Path) -> None:
    """A filter may also answer with status 200 and no log probabilities; that is its answer, and not a broken reply."""
    with ModelServer(checkpoint / "checkpoint", ["top_logprobs"]) as api:
        api.spoil_answer = lambda answer: answer["choices"][0].update(logprobs=None, finish_reason="content_filter")
        response = there(api, PROMPTS[2:3], "top_logprobs")["letter"]

    assert (response.log_likelihood, response.at_most) == ({}, dict.fromkeys("ABCD", 0.0))
    assert len(api.requests) == 1


def test_an_entry_says_what_a_server_gives(checkpoint: Path, tmp_path: Path) -> None:
    """Another form is not asked for, what the server lacks is reported with the fix, and none asks nothing."""
    with ModelServer(checkpoint / "checkpoint", ["prompt_logprobs", "top_logprobs"]) as api:
        assert offer(at(api, likelihoods="none"), tmp_path / "offers").form is None
        assert api.requests == []
        assert offer(at(api, likelihoods="top"), tmp_path / "offers").form == "top_logprobs"
    with (
        ModelServer(checkpoint / "checkpoint", ["top_logprobs"]) as api,
        pytest.raises(
            EquipoiseError,
            match=r"^models/some\.yaml: field likelihoods is prompt, which the server does not give "
            r"\(prompt_logprobs: asked for, and not given; echo: refused \(404\)\): set it to auto or none$",
        ),
    ):
        offer(at(api, likelihoods="prompt"), tmp_path / "offers")


def test_a_server_that_refuses_everything_is_not_taken_for_one_without_likelihoods(tmp_path: Path) -> None:
    """A key that is not accepted is reported as such, and nothing is remembered."""
    with (
        FaultyServer(refuse=lambda _: (401, {"message": "No."})) as api,
        pytest.raises(EquipoiseError, match="set TEST_KEY to a key that this server accepts"),
    ):
        offer(entry(api.url), tmp_path / "offers")
    with FaultyServer() as api:
        assert offer(entry(api.url), tmp_path / "offers").likelihoods == "none"


def test_a_filter_that_refuses_a_score_leaves_it_unknown() -> None:
    """The candidates of a prompt that a provider will not hear have no likelihood, and the run goes on."""
    error = {"message": "The prompt was filtered.", "code": "content_filter"}
    asked = prompt("a", "Which?", prefix="Answer:", candidates=("A", "B"), reply=False)
    with (
        FaultyServer(refuse=lambda _: (400, error)) as api,
        ApiBackend("some", entry(api.url), pause=Waits(), form="top_logprobs") as backend,
    ):
        (response,) = backend.answer([asked])

    assert (response.log_likelihood, response.at_most) == ({}, {"A": 0.0, "B": 0.0})


def test_a_manifest_says_what_was_found(checkpoint: Path) -> None:
    """The form of the requests is part of the model's identity; what other forms met, and no likelihoods, are not."""
    with ModelServer(checkpoint / "checkpoint") as api:
        model = at(api)
    made = describe("some", model, checkpoint)

    def found(**fields: str) -> str:
        return made.model_copy(update={"likelihoods": fields}).identity

    assert found(likelihoods="none", found="refused") == made.identity
    top = found(likelihoods="top", form="top_logprobs", found="refused")
    assert top == found(likelihoods="top", form="top_logprobs", found="asked for, and given") != made.identity
    assert registry.found(model, {"likelihoods": "top"}).likelihoods
    assert not registry.found(model, {"likelihoods": "top"}).exact
    assert registry.found(model, {}) == model
    assert not model.likelihoods


def test_nothing_is_asked_of_a_server_without_likelihoods(checkpoint: Path) -> None:
    """Candidates are left out of a conversation as long as no form is known."""
    with ModelServer(checkpoint / "checkpoint", ["prompt_logprobs"]) as api:
        response = ask(at(api), PROMPTS[:1])["reasoned"]

    assert (len(api.requests), response.log_likelihood, response.at_most) == (2, {}, {})


def test_a_server_that_is_down_offers_nothing_in_one_line(tmp_path: Path) -> None:
    """The fault is an error with the fix, not a prompt that is to be asked again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    with pytest.raises(EquipoiseError, match=r"Connection error.*: check the server, then run again"):
        offer(entry(url, attempts=1), tmp_path / "offers")
