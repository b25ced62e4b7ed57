"""Tests of the vLLM backend, on a stand-in with vLLM's interface."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import talks
import tiny
from builders import prompt
from equipoise.backends import vllm as backend_module
from equipoise.backends.ask import open_backend
from equipoise.backends.vllm import Replicas, VllmBackend, open_vllm
from equipoise.core.errors import EquipoiseError
from equipoise.models import export, registry, weights
from equipoise.models.registry import VllmEntry
from equipoise.studies.vignettes.profiles import samples_of
from fakes import Copy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equipoise.core.prompts import Prompt, Response

FEW = [talks.PROMPTS[0], *talks.PROMPTS[4:]]
STANDIN = Path(__file__).parents[1] / "standin"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a Qwen3 checkpoint."""
    root = tmp_path_factory.mktemp("qwen3")
    tiny.build(root / "checkpoint", 3, "qwen3")
    return root


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """VLLM's stand-in installed, on a machine with four GPUs."""
    # Set once and undone, so that what the backend sets is undone after the test.
    for name in ("VLLM_BATCH_INVARIANT", "VLLM_NO_USAGE_STATS", "VLLM_LOGGING_LEVEL", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(str(STANDIN))
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    yield 4
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        del sys.modules[name]


def entry_of(root: Path, **change: Any) -> VllmEntry:
    """Build the registry entry."""
    fields: dict[str, Any] = {
        "title": "A model",
        "licence": "none",
        "backend": "vllm",
        "parameters": "1M",
        "source": {"kind": "local", "path": str(root / "checkpoint")},
        "max_length": 1024,
        "generation": {"repetition_penalty": 1.15, "reasoning_tokens": 12, "answer_tokens": 6},
    }
    return VllmEntry.model_validate(fields | change)


def answers(root: Path, prompts: list[Prompt], **change: Any) -> dict[str, Response]:
    """Answer prompts, each once."""
    entry = entry_of(root, **change)
    with open_vllm(weights.locate(entry, root), entry) as backend:
        responses = list(backend.answer(prompts))
    assert len(responses) == len(prompts)
    return {response.key: response for response in responses}


@pytest.mark.usefixtures("gpus")
def test_texts_counts_and_likelihoods_are_those_of_torch(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns, stops, the penalty and prompts' log probabilities give what the torch backend gives."""
    tiny.register(root, "torch", root / "checkpoint", 3, "torch")
    entry = registry.load_entry("torch", root)
    manifest = export.prepare("torch", entry, root, root / "store", ())
    monkeypatch.setenv("DVC_ROOT", str(root))
    with open_backend(manifest, entry, root / "store", batch_size=1) as backend:
        expected = {response.key: response for response in backend.answer(talks.PROMPTS)}

    for key, response in answers(root, talks.PROMPTS).items():
        assert response.log_likelihood == pytest.approx(expected[key].log_likelihood, abs=1e-4)
        assert response.model_copy(update={"log_likelihood": expected[key].log_likelihood}) == expected[key]


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(("most", "requests"), [(128, 1), (3, 2)])
def test_letters_are_read_from_one_request(
    root: Path, monkeypatch: pytest.MonkeyPatch, most: int, requests: int
) -> None:
    """Four candidates of one token take a request, two where a request holds three; likelihoods are torch's."""
    tiny.register(root, "torch", root / "checkpoint", 3, "torch")
    entry = registry.load_entry("torch", root)
    manifest = export.prepare("torch", entry, root, root / "store", ())
    monkeypatch.setenv("DVC_ROOT", str(root))
    asked = talks.prompt("a", "Which?", prefix="", candidates=tuple("ABCD"), reply=False, turns=("Which letter?",))
    with open_backend(manifest, entry, root / "store", batch_size=1) as backend:
        (expected,) = backend.answer([asked])
    monkeypatch.setattr(backend_module, "TOKEN_IDS", most)
    mine = entry_of(root)
    with VllmBackend(weights.locate(mine, root), mine) as opened:
        (response,) = opened.answer([asked])

        assert next(opened._ids) == str(requests)
    assert response.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-4)
    assert response.candidate_tokens == dict.fromkeys("ABCD", 1)


@pytest.mark.usefixtures("gpus")
def test_a_sampled_reply_has_a_seed_of_its_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temperature, top_p and a seed for each turn of each sample are sent with replies, and not with candidates."""
    from vllm import sampling_params

    sent: list[sampling_params.SamplingParams] = []

    def noted(**settings: Any) -> sampling_params.SamplingParams:
        sent.append(sampling_params.SamplingParams(**settings))
        return sent[-1]

    monkeypatch.setattr("vllm.SamplingParams", noted)
    drawn = {"temperature": 0.7, "top_p": 0.9, "samples": 2, "reasoning_tokens": 12, "answer_tokens": 6}
    answers(root, samples_of(talks.PROMPTS[0], 2), generation=drawn)

    replies = [sampling for sampling in sent if sampling.stop_token_ids is not None]
    assert {(sampling.temperature, sampling.top_p) for sampling in replies} == {(0.7, 0.9)}
    assert len({sampling.seed for sampling in replies}) == len(replies) == 4
    assert {(sampling.temperature, sampling.seed) for sampling in sent if sampling.stop_token_ids is None} == {
        (0.0, None)
    }


@pytest.mark.usefixtures("gpus")
def test_few_requests_at_once_change_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations are begun as there is room for their requests; how many there are at once decides no answer."""
    together = answers(root, FEW)
    monkeypatch.setattr(backend_module, "IN_PROGRESS", 1)

    assert answers(root, FEW[::-1]) == together


@pytest.mark.usefixtures("gpus")
def test_the_engine_is_started_so_that_a_response_depends_on_its_prompt_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels without the batch's influence, no shared prefixes, safetensors without code, one seed, no reports."""
    import os

    entry = entry_of(root, tensor_parallel=2, dtype="bfloat16", context=2048)
    backend = VllmBackend(weights.locate(entry, root), entry)

    assert backend._llm.arguments == {
        "trust_remote_code": False,
        "tensor_parallel_size": 2,
        "dtype": "bfloat16",
        "seed": 0,
        "max_model_len": 1025,
        "max_num_batched_tokens": 2048,
        "max_num_seqs": None,
        "load_format": "safetensors",
        "generation_config": "vllm",
        "enable_prefix_caching": False,
    }
    assert (os.environ["VLLM_BATCH_INVARIANT"], os.environ["VLLM_NO_USAGE_STATS"]) == ("1", "1")

    # Without the mode, because the GPU has none or the user wants none, one request at a time.
    monkeypatch.setattr("vllm.platforms.Platform.capability", 75)
    backend = VllmBackend(weights.locate(entry, root), entry)
    assert (os.environ["VLLM_BATCH_INVARIANT"], backend._llm.arguments["max_num_seqs"]) == ("0", 1)
    monkeypatch.setattr("vllm.platforms.Platform.capability", 90)
    backend = VllmBackend(weights.locate(entry, root), entry)
    assert backend._llm.arguments["max_num_seqs"] == 1
    assert len(list(backend.answer(FEW))) == len(FEW)
    assert backend._llm.llm_engine.widest == 1


@pytest.mark.usefixtures("gpus")
def test_a_run_that_is_left_stops_its_requests(root: Path) -> None:
    """The first answer is given while others are under way; leaving then leaves nothing in the engine."""
    entry = entry_of(root)
    with VllmBackend(weights.locate(entry, root), entry) as backend:
        engine = backend._llm.llm_engine
        running = backend.answer(FEW)
        next(running)
        assert engine.has_unfinished_requests()
        running.close()
        assert not engine.has_unfinished_requests()
        assert len(list(backend.answer(FEW))) == len(FEW)


@pytest.mark.slow
@pytest.mark.usefixtures("gpus")
def test_data_parallel_copies_share_the_prompts_and_the_gpus(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two copies on two GPUs each answer as one engine does, each in a process with its own devices."""
    alone = answers(root, FEW)
    monkeypatch.setenv("STANDIN_VLLM_LOG", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")

    assert answers(root, FEW, tensor_parallel=2, data_parallel=2) == alone
    assert sorted(path.read_text(encoding="utf-8") for path in tmp_path.iterdir()) == ["4,5", "6,7"]


@pytest.mark.parametrize(
    ("change", "asked"), [({"tensor_parallel": 8}, "8 GPUs"), ({"tensor_parallel": 2, "data_parallel": 3}, "6 GPUs")]
)
@pytest.mark.usefixtures("gpus")
def test_too_few_gpus_are_told_before_any_work(root: Path, change: dict[str, int], asked: str) -> None:
    """The message says how many are asked for and how many are here."""
    with pytest.raises(EquipoiseError, match=rf"A model: {asked} are asked for \([^)]+\), 4 are here: lower them"):
        answers(root, [], **change)


def test_vllm_that_is_not_installed_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, opening the model and describing it end in one line with the fix."""
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    monkeypatch.setitem(sys.modules, "vllm", None)
    for name in ("VLLM_BATCH_INVARIANT", "VLLM_NO_USAGE_STATS", "VLLM_LOGGING_LEVEL"):
        monkeypatch.setenv(name, "1")
    fix = r"run `pip install 'equipoise\[vllm\]'`"

    with pytest.raises(EquipoiseError, match=rf"A model: vLLM cannot be imported \([^\n]+\): {fix}$"):
        answers(root, [])
    with pytest.raises(EquipoiseError, match=rf"A model: vllm is not installed: {fix}$"):
        export.prepare("some", entry_of(root), root, root / "store", ())


@pytest.mark.usefixtures("gpus")
def test_an_engine_that_cannot_start_or_fails_is_told_in_one_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VLLM's own error, whatever its kind, is given with a fix."""
    with monkeypatch.context() as patch:
        patch.setattr("vllm.LLMEngine.step", lambda _: 1 / 0)
        with pytest.raises(EquipoiseError, match=r"vLLM failed \(ZeroDivisionError: .+\): run again; finished"):
            answers(root, FEW)
    monkeypatch.setattr("vllm.LLMEngine.__init__", lambda *_: 1 / 0)
    with pytest.raises(EquipoiseError, match=r"vLLM cannot start \(ZeroDivisionError: .+\): free GPU memory, lower"):
        answers(root, FEW)


@pytest.mark.usefixtures("gpus")
def test_a_reply_that_the_engine_gives_up_is_no_answer(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a stop and the length limit end a reply."""
    monkeypatch.setattr("vllm.LLMEngine._extend", lambda *_: "abort")

    with pytest.raises(EquipoiseError, match=r"vLLM aborted a reply \(abort\): run again"):
        answers(root, FEW[-1:])


@pytest.mark.usefixtures("gpus")
def test_a_gguf_file_is_refused(root: Path) -> None:
    """VLLM is given safetensors alone."""
    located = weights.Weights(root, "model.gguf", "package", "1", {})

    with pytest.raises(EquipoiseError, match="A model: vLLM is given safetensors alone: set backend: torch or onnx"):
        open_vllm(located, entry_of(root))


def ask(*keys: str) -> list[Response]:
    """Answer prompts with two copies, on one and on two devices."""
    with Replicas(Copy, ["0", "1,2"]) as backend:
        return list(backend.answer(map(prompt, keys)))


def test_every_prompt_is_answered_once_by_one_of_the_copies() -> None:
    """Five prompts: three of the first copy, two of the second, each copy one process with its own devices."""
    responses = ask(*"abcde")

    assert sorted(response.key for response in responses) == list("abcde")
    where = {response.key: response.replies for response in responses}
    assert [where[key][0] for key in "abcde"] == ["0", "1,2", "0", "1,2", "0"]
    assert len(set(where.values())) == 2
    assert multiprocessing.active_children() == []


def test_copies_stay_open_between_calls() -> None:
    """The same processes answer the next prompts, so that a model is loaded once."""
    with Replicas(Copy, ["0", "1"]) as backend:
        first, then = ([response.replies for response in backend.answer(map(prompt, keys))] for keys in ("ab", "cd"))

    assert sorted(first) == sorted(then)
    assert multiprocessing.active_children() == []


def test_no_more_copies_than_prompts_are_opened() -> None:
    """One prompt needs one copy, and no prompt needs none."""
    assert [response.replies[0] for response in ask("a")] == ["0"]
    assert ask() == []


@pytest.mark.parametrize(
    ("key", "line"),
    [("raise", "^a fault$"), ("die", "^a replica of the model ended with code -9: run again; finished")],
)
def test_a_copy_that_breaks_ends_the_run(key: str, line: str) -> None:
    """Its error comes through, a death is reported, what it had answered is given, and the other copy is ended."""
    running = Replicas(Copy, ["0", "1"]).answer(map(prompt, ("a", "wait", key)))

    # The second copy waits for ten minutes, unless it is ended.
    assert next(running).key == "a"
    with pytest.raises(EquipoiseError, match=line):
        next(running)
    assert multiprocessing.active_children() == []


def test_a_run_that_is_left_ends_the_copies() -> None:
    """After the first answer, nothing runs on."""
    running = Replicas(Copy, ["0", "1"]).answer(map(prompt, ("a", "wait")))

    assert next(running).key == "a"
    running.close()
    assert multiprocessing.active_children() == []
