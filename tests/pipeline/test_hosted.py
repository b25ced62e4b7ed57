"""A hosted model's whole run: against a server that gives log probabilities, and against one that refuses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import projects
from equipoise.backends import offers
from equipoise.backends.phantom import BANK, Fact, PhantomBackend
from equipoise.core import jsonl
from equipoise.core.prompts import Prompt
from equipoise.figures.layout import result_of, rows_of
from equipoise.figures.options import Decision
from equipoise.figures.result import BIASED, UNBIASED
from equipoise.figures.verdicts import verdict
from equipoise.models import registry
from equipoise.models.export import describe
from equipoise.pipeline.measure import measure
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.registry import STUDIES, TITLES
from equipoise.studies.vignettes.reread import follow_ups
from loopback import Loopback
from servers import send

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

    from equipoise.core.prompts import Response
    from equipoise.figures.result import StudyResult

ROOT = Path(__file__).parents[2]
SETTINGS = projects.committed_settings()
ENTRY = """\
title: A phantom behind a server
licence: none
backend: openai
base_url: {url}
model: phantom
key_env: null
concurrency: 16
prefix: null
generation: {{reasoning_tokens: 128, answer_tokens: 24}}
"""
Turns = tuple[str, ...]
"""What was said in a conversation, turn by turn."""


class PhantomServer(Loopback):
    """A server that replies as a phantom does, and gives its likelihoods unless it refuses to."""

    def __init__(self, prompts: list[Prompt], responses: list[Response], *, refuses: bool) -> None:
        """Index what the phantom said, by all that was said before, and how likely its answers are there."""
        self.refuses = refuses
        self.replies: dict[Turns, str] = {}
        self.scores: dict[Turns, Response] = {}
        for prompt, response in zip(prompts, responses, strict=True):
            turns: list[str] = [prompt.system]
            replies = iter(response.replies)
            for turn, given in zip(prompt.turns, [*prompt.given, *[None] * len(prompt.turns)], strict=False):
                turns.append(turn)
                # Without likelihoods an answer after other reasoning is asked for as text: it is the likeliest.
                likeliest = max(response.log_likelihood, key=response.log_likelihood.__getitem__, default="")
                reply = given if given is not None else next(replies, f"{likeliest}.")
                self.replies.setdefault(tuple(turns), reply)
                self.scores[tuple(turns)] = response
                turns.append(reply)
        super().__init__()

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        turns = tuple(message["content"] for message in body["messages"])
        asked = "prompt_logprobs" in body or "logprobs" in body
        if asked and self.refuses:
            send(handler, 400, json.dumps({"error": {"message": "Unrecognized request argument supplied: logprobs"}}))
            return
        if "prompt_logprobs" in body:
            answer = {"choices": [{"message": {"content": ""}}], "prompt_logprobs": self._tokens(turns)}
        else:
            answer = {"choices": [{"message": {"content": self.replies[turns]}, "finish_reason": "stop"}]}
        send(handler, 200, json.dumps(answer))

    def _tokens(self, turns: Turns) -> list[dict[str, Any]]:
        """Give the tokens of the last message: the words that it begins with, then those of a candidate."""
        *before, begun = turns
        response = self.scores.get(tuple(before))
        known = response.log_likelihood if response else {}
        candidate = next((name for name in known if begun.endswith(f" {name}")), "")
        start = begun.removesuffix(f" {candidate}") if candidate else begun
        tokens = [(start, -1.0), (start, -1.0)]
        if response and candidate:
            count = response.candidate_tokens[candidate]
            tokens += [(f" {candidate}" if first == 0 else "", known[candidate]) for first in range(count)]
        return [
            {f"{text}/{place}": {"logprob": value, "decoded_token": text}} for place, (text, value) in enumerate(tokens)
        ]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project by links, with a registry and data of its own."""
    folder = tmp_path_factory.mktemp("hosted")
    for path in ROOT.iterdir():
        if path.name not in {"data", "models", ".cache", ".git"}:
            (folder / path.name).symlink_to(path)
    for name in ("data", "models"):
        (folder / name).mkdir()
        for path in (ROOT / name).iterdir():
            if path.name not in {*TITLES, "manifest.json", "environment.json"}:
                (folder / name / path.name).symlink_to(path)
    return folder


@pytest.fixture(autouse=True)
def _in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work there, as the stages do, and use no proxy."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("DVC_ROOT", str(project))
    monkeypatch.setenv("NO_PROXY", "*")


LOOK = {"controls": False, "mirrors": False}
"""What is built where a bias is to be shown: only its absence needs more."""


def run_of(model: str, built: dict[str, bool], answering: str = "likelihood") -> Run:
    """Give a run of the vignettes in which answers are read again without reasoning alone."""
    changed = {
        "model": model,
        "build": SETTINGS.build | {"rereadings": ["unreasoned"]} | built,
        "measure": SETTINGS.measure | {"n_bootstrap": 100},
        "score": SETTINGS.score | {"answering": answering},
    }
    return Run("vignettes", Path("data"), SETTINGS.model_copy(update=changed))


def judged(run: Run) -> StudyResult:
    """Score and measure a run; its result is read back from its rows, as readers have it."""
    step(run.study, "score")(run)
    return measure(run, step(run.study, "measure"))


def conversations(run: Run) -> tuple[list[Prompt], list[Response]]:
    """Build the study, and ask a phantom all of it."""
    step(run.study, "build")(run)
    entry = run.entry
    assert isinstance(entry, registry.PhantomEntry)
    backend = PhantomBackend(entry, jsonl.read(run.built("facts"), Fact), run.data / BANK)
    prompts = jsonl.read(run.built("prompts"), Prompt)
    responses = list(backend.answer(prompts))
    again = list(follow_ups(run, prompts, responses))
    jsonl.write(run.asked, [])
    jsonl.write(run.responses, [*responses, *(others := list(backend.answer(again)))])
    return [*prompts, *again], [*responses, *others]


def hosted(name: str, api: PhantomServer, built: dict[str, bool], answering: str) -> tuple[Run, StudyResult]:
    """Run the model of a server: what it gives is found first, and stated in the manifest."""
    Path(f"models/{name}.yaml").write_text(ENTRY.format(url=f"{api.address}/v1"), encoding="utf-8")
    entry = registry.load_entry(name, Path())
    assert isinstance(entry, registry.ApiEntry)
    offer = offers.offered(name, entry)
    manifest = describe(name, entry, Path()).model_copy(update={"likelihoods": offer.written()})
    jsonl.write_json(Path("data/manifest.json"), manifest.written())
    run = run_of(name, built, answering)
    for stage in ("build", "infer"):
        step(run.study, stage)(run)
    return run, judged(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phantom", "built"), [("phantom_silent", LOOK), ("phantom_fair", {})], ids=["phantom_silent", "phantom_fair"]
)
def test_a_hosted_model_gets_the_verdict_that_its_likelihoods_or_its_words_bear_out(
    phantom: str, built: dict[str, bool]
) -> None:
    """Behind a server that gives log probabilities the run is that of the weights; else written answers decide."""
    prompts, responses = conversations(local := run_of(phantom, built))
    here = judged(local)
    with PhantomServer(prompts, responses, refuses=False) as api:
        run, there = hosted(f"{phantom}_giving", api, built, "likelihood")
    assert run.manifest.likelihoods["likelihoods"] == "prompt"
    by_key = {row.key: row for row in jsonl.read(run.responses, type(responses[0]))}
    for ours in responses:
        theirs = by_key[ours.key]
        assert (theirs.replies, theirs.candidate_tokens) == (ours.replies, ours.candidate_tokens)
        assert theirs.log_likelihood == pytest.approx(ours.log_likelihood, abs=1e-6)
    assert here.verdict is not None
    assert there.verdict is not None
    assert (there.verdict.word, there.verdict.instead) == (here.verdict.word, "")
    assert there.verdict.row.estimate == pytest.approx(here.verdict.row.estimate, abs=1e-6)

    with PhantomServer(prompts, responses, refuses=True) as api:
        run, without = hosted(f"{phantom}_refusing", api, built, "generate")
    assert run.manifest.likelihoods == {
        "likelihoods": "none",
        "found": "prompt_logprobs: refused (400); top_logprobs: refused (400)",
    }
    told = without.verdict
    assert told is not None
    assert told.figure.measure == "written_error_difference"
    assert (without.without, told.instead) == ("server", "the server gives no likelihoods")
    assert "The server gives no likelihoods: the endpoint declared for that case decides." in told.sentence
    assert {here.verdict.word, told.word} == {BIASED if phantom == "phantom_silent" else UNBIASED}
    assert all(row.n == 0 for row in without.effects if row.measure == "error_difference")
    again = result_of("vignettes", rows_of(without))
    assert verdict(STUDIES["vignettes"], again, SETTINGS.section("decision", Decision)) == told
