"""Tests of the torch backend on tiny random checkpoints of real architectures."""

from __future__ import annotations

import json
import os
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import talks
import tiny
from equipoise.backends.ask import answer_all, open_backend
from equipoise.backends.base import answering
from equipoise.backends.torch import TorchBackend
from equipoise.core import jsonl
from equipoise.core.cache import ResponseCache
from equipoise.core.errors import EquipoiseError
from equipoise.models import export, registry, torch_engine, weights
from equipoise.models.registry import TorchEntry
from equipoise.studies.vignettes.profiles import samples_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from equipoise.core.manifest import Manifest
    from equipoise.core.prompts import Prompt, Response

ARCHITECTURES: tuple[tiny.Architecture, ...] = ("llama", "qwen2", "qwen3", "gpt_oss", "gemma3_text")
PROBES = ("Which vitamin prevents scurvy?", "What does insulin lower?")


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A project for each architecture, with its checkpoint in the registry for both backends."""
    roots: dict[str, Path] = {}
    for seed, architecture in enumerate(ARCHITECTURES):
        roots[architecture] = root = tmp_path_factory.mktemp(architecture)
        checkpoint = tiny.build(root / "checkpoint", seed, architecture)
        for backend in ("torch", "onnx"):
            tiny.register(root, backend, checkpoint, seed, backend)
    return roots


def entry_of(root: Path, **change: Any) -> TorchEntry:
    """Read a project's entry for torch, with some fields changed."""
    entry = registry.load_entry("torch", root)
    assert isinstance(entry, TorchEntry)
    return entry.model_copy(update=change)


def answers(
    root: Path, prompts: Iterable[Prompt], entry: TorchEntry | None = None, *, batch_size: int = 4
) -> dict[str, Response]:
    """Answer prompts with a project's checkpoint in torch."""
    entry = entry or entry_of(root)
    with TorchBackend(weights.locate(entry, root), entry, batch_size=batch_size) as backend:
        return {response.key: response for response in backend.answer(prompts)}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_texts_and_likelihoods_are_those_of_transformers(projects: dict[str, Path], architecture: str) -> None:
    """Replies equal `generate`'s, and likelihoods whole forward passes within 1e-4 nats, also past a sliding window."""
    root = projects[architecture]
    responses = answers(root, talks.PROMPTS)
    reference = talks.Reference.load(root / "checkpoint", entry_of(root).generation)

    for asked in talks.PROMPTS:
        replies, scores = reference.converse(asked)
        assert replies == responses[asked.key].replies
        assert scores == pytest.approx(responses[asked.key].log_likelihood, abs=1e-4)


def test_what_was_read_before_changes_no_bit(projects: dict[str, Path]) -> None:
    """A sample that is asked for in a later call, after a prompt that is scored, is the same as alone."""
    first, second = (
        prompt.model_copy(update={"stem": talks.CASES[0], "lead": prompt.turns[0]})
        for prompt in samples_of(talks.prompt("case", talks.CASES[0]), 2)
    )
    scored = talks.prompt("scored", talks.CASES[1], turns=("Why?",), reply=False)
    root, entry = projects["llama"], entry_of(projects["llama"])
    with TorchBackend(weights.locate(entry, root), entry, batch_size=4) as backend:
        before = [*backend.answer([first])]
        after = [*backend.answer([scored, second])]

    assert [*before, *after] == [answers(root, [prompt])[prompt.key] for prompt in (first, scored, second)]


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
def test_the_exported_graph_answers_as_torch_does(projects: dict[str, Path], architecture: str) -> None:
    """Biases, norms before the rotation and heads of their own size go through the fused graph unharmed."""
    root = projects[architecture]
    entry = registry.load_entry("onnx", root)
    assert isinstance(entry, registry.OnnxEntry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        manifest = export.export("onnx", entry, root, root / "store", PROBES)
    with open_backend(manifest, entry, root / "store", batch_size=3) as backend:
        exported = {response.key: response for response in backend.answer(talks.PROMPTS)}
    responses = answers(root, talks.PROMPTS)

    assert manifest.fidelity
    assert (manifest.fidelity.letters, manifest.fidelity.tokens) == (1.0, 1.0)
    assert manifest.fidelity.max_abs_logit < 1e-3
    for key, response in responses.items():
        # Texts, lengths and counts of tokens are equal; the likelihoods nearly so.
        assert exported[key].log_likelihood == pytest.approx(response.log_likelihood, abs=1e-4)
        assert exported[key].model_copy(update={"log_likelihood": response.log_likelihood}) == response


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("architecture", ["qwen3", "gpt_oss", "gemma3_text"])
def test_neighbours_and_order_change_no_bit(projects: dict[str, Path], architecture: str, dtype: str) -> None:
    """A response is the same, to the last bit, alone, in any order, on any number of rows, its stem cached or not."""
    case = talks.CASES[0]
    prompts = [
        *talks.PROMPTS[2:4],
        *(
            talks.prompt(f"stem-{number}", f"{case} {ending}", stem=case, reply=number % 2 == 0)
            for number, ending in enumerate(("The patient is a cook.", "The patient is retired.", "So is a neighbour."))
        ),
        *(
            talks.prompt(f"order-{number}", f"{case} A cook. {order}", stem=case, lead=f"{case} A cook.")
            for number, order in enumerate(("Yes or no?", "No or yes?"))
        ),
    ]
    root = projects[architecture]
    entry = entry_of(root, dtype=dtype)
    together = answers(root, prompts, entry)

    assert answers(root, prompts[::-1], entry) == together
    for batch_size in (1, 3, torch_engine.STEP + 1):
        assert answers(root, prompts, entry, batch_size=batch_size) == together
    alone = prompts[-1]
    assert answers(root, [alone], entry) == {alone.key: together[alone.key]}


def test_rows_that_a_step_mixes_have_steps_of_their_own(
    projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known causes are read from the model; any other shows when it is opened, here a sum over the rows of a step."""
    import torch

    def steps(root: Path) -> int:
        entry = entry_of(root)
        with TorchBackend(weights.locate(entry, root), entry, batch_size=4) as backend:
            return backend._open(threads=0, rows=4)._size

    assert steps(projects["gpt_oss"]) == 1
    assert steps(projects["llama"]) == 0
    norm = "transformers.models.llama.modeling_llama.LlamaRMSNorm.forward"
    monkeypatch.setattr(norm, lambda _, states: states * torch.rsqrt(states.pow(2).mean() + 1))
    assert steps(projects["llama"]) == 1


@pytest.mark.parametrize(("dtype", "size"), [("float32", 0), ("bfloat16", torch_engine.STEP)])
def test_products_in_float32_keep_one_copy_of_their_weights_and_any_number_of_rows(
    projects: dict[str, Path], dtype: str, size: int
) -> None:
    """In other formats the layers keep the weights that they were loaded with, and every step has sixteen rows."""
    entry = entry_of(projects["llama"], dtype=dtype)
    with TorchBackend(weights.locate(entry, projects["llama"]), entry, batch_size=4) as backend:
        engine = backend._open(threads=0, rows=4)
        kept = {module.weight.device.type for module in engine._model.modules() if type(module).__name__ == "Linear"}

        assert (kept, engine._size) == ({"meta"} if size == 0 else {"cpu"}, size)


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gpt_oss"])
def test_own_reasoning_that_is_given_leaves_the_likelihoods_as_they_are(
    projects: dict[str, Path], architecture: str
) -> None:
    """Within 1e-4 nats; and a rereading is the same, to the last bit, in any order."""
    prompts = talks.PROMPTS[:3]
    own = answers(projects[architecture], prompts)
    texts = {"own": lambda key: own[key].replies[0], "swapped": lambda _: "Because of the fever."}
    again = [talks.reread(asked, name, text(asked.key)) for asked in prompts for name, text in texts.items()]
    responses = answers(projects[architecture], again)

    reverse = answers(projects[architecture], [prompts[0], *again[::-1]])

    assert responses == {key: reverse[key] for key in responses}
    for key, response in own.items():
        assert responses[f"{key}/own"].log_likelihood == pytest.approx(response.log_likelihood, abs=1e-4)
        assert responses[f"{key}/own"].candidate_tokens == response.candidate_tokens


def test_a_run_that_breaks_goes_on_where_it_was(
    projects: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the manifest to the responses as the stages go: what was answered before a fault is not asked again."""
    root = projects["qwen2"]
    monkeypatch.setenv("DVC_ROOT", str(root))
    entry = entry_of(root)
    manifest = export.prepare("torch", entry, root, root / "store", PROBES)
    asked: list[str] = []
    plain = TorchBackend.answer

    def breaking(self: TorchBackend, prompts: Iterable[Prompt]) -> Iterator[Response]:
        for response in plain(self, prompts):
            asked.append(response.key)
            yield response
            if len(asked) == 2:
                message = "broken"
                raise RuntimeError(message)

    def run(path: Path) -> list[Response]:
        with ResponseCache(path) as cache:
            return list(
                answer_all(
                    talks.PROMPTS,
                    manifest=manifest,
                    generation=entry.generation,
                    cache=cache,
                    make=partial(answering, lambda: open_backend(manifest, entry, root / "store", batch_size=4)),
                    progress=lambda *_: None,
                )
            )

    undisturbed = run(tmp_path / "undisturbed")
    with monkeypatch.context() as patch:
        patch.setattr(TorchBackend, "answer", breaking)
        with pytest.raises(RuntimeError, match="broken"):
            run(tmp_path / "broken")
        assert undisturbed == run(tmp_path / "broken")
    # Each once: two before the fault, the others after it.
    assert sorted(asked) == sorted(prompt.key for prompt in talks.PROMPTS)


def manifest_of(root: Path) -> Manifest:
    """Describe a project's model in torch."""
    return export.prepare("torch", entry_of(root), root, root / "store", PROBES)


def test_the_manifest_names_what_decides_an_answer(projects: dict[str, Path]) -> None:
    """Weights, number format, device and libraries are in it, so that another one is another model to the cache."""
    root = projects["qwen3"]
    manifest = manifest_of(root)

    assert {"model.safetensors": jsonl.sha256(root / "checkpoint/model.safetensors")} == manifest.weights
    assert (
        manifest.backend,
        manifest.provider,
        manifest.settings,
    ) == ("torch", "cpu", {"dtype": "float32", "bits": None})
    assert manifest.versions.keys() == {"torch", "transformers"}


@pytest.mark.parametrize(
    ("change", "what"), [({"weights": {}}, "weights"), ({"settings": {"dtype": "float16", "bits": None}}, "settings")]
)
def test_weights_and_settings_are_held_to_the_manifest(
    projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], what: str
) -> None:
    """A checkpoint or an entry that changed since the manifest was made is refused with the fix."""
    root = projects["llama"]
    monkeypatch.setenv("DVC_ROOT", str(root))
    manifest = manifest_of(root).model_copy(update=change)

    refusal = rf"models/torch.yaml: its {what} differ from the manifest: run `dvc repro --force --single-item"
    with pytest.raises(EquipoiseError, match=refusal):
        open_backend(manifest, entry_of(root), root / "store", batch_size=1)


def test_cuda_that_is_asked_for_and_absent_is_named(projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A device map that demands CUDA is refused without it; `auto` takes what there is."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    root = projects["llama"]

    with pytest.raises(
        EquipoiseError, match=r"device_map is cuda:0, and torch finds no CUDA device here: set it to auto"
    ):
        answers(root, [], entry_of(root, device_map="cuda:0"))
    assert answers(root, talks.PROMPTS[:1], entry_of(root, device_map="auto")).keys() == {"case-0"}


def test_bitsandbytes_that_is_asked_for_and_absent_is_named(
    projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer bits need another package."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    root = projects["llama"]

    with pytest.raises(EquipoiseError, match=r"bits is 4, and bitsandbytes is not installed: run `pip install"):
        answers(root, [], entry_of(root, bits=4))


def test_a_gpu_that_is_too_small_is_told_in_one_line(
    projects: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch's own error at work becomes a line with the fix."""
    import torch

    def too_much(*_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch_engine.TorchEngine, "_part", too_much)
    with pytest.raises(EquipoiseError, match=r"not enough memory on the GPU: set bits to 8 or 4, lower max_length"):
        answers(projects["llama"], talks.PROMPTS)


def test_logits_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """A format too narrow for the weights is noticed, not answered from: here a norm overflows float16."""
    from safetensors.torch import load_file, save_file

    checkpoint = tiny.build(tmp_path / "checkpoint", 0)
    tensors = load_file(checkpoint / "model.safetensors")
    tensors["model.norm.weight"] *= 1e38
    save_file(tensors, checkpoint / "model.safetensors", metadata={"format": "pt"})
    tiny.register(tmp_path, "torch", checkpoint, 0, "torch")

    with pytest.raises(EquipoiseError, match="its logits are not numbers: set dtype to bfloat16 or float32"):
        answers(tmp_path, talks.PROMPTS, entry_of(tmp_path, dtype="float16"))


def test_a_model_whose_attention_cannot_run_row_by_row_is_refused(tmp_path: Path) -> None:
    """A model of another kind (Mamba has no keys and values) is refused in one line, with the backend that runs it."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    checkpoint = tiny.build(tmp_path / "checkpoint", 0)
    config = AutoConfig.for_model("mamba", vocab_size=400, hidden_size=32, state_size=4, num_hidden_layers=1)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(checkpoint)
    tiny.register(tmp_path, "torch", checkpoint, 0, "torch")

    with pytest.raises(EquipoiseError, match=r"backend torch cannot run it \([^\n]+\): set backend to vllm"):
        answers(tmp_path, [])


def test_no_code_of_a_checkpoint_is_run(projects: dict[str, Path], tmp_path: Path) -> None:
    """A checkpoint that brings its own model class is loaded with transformers' class, its code untouched."""
    checkpoint = tiny.build(tmp_path / "checkpoint", 0)
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    config["auto_map"] = {"AutoModelForCausalLM": "evil.Model", "AutoConfig": "evil.Config"}
    (checkpoint / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (checkpoint / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    tiny.register(tmp_path, "torch", checkpoint, 0, "torch")

    assert answers(tmp_path, talks.PROMPTS) == answers(projects["llama"], talks.PROMPTS)
    assert not (tmp_path / "ran").exists()


def test_damaged_weights_are_named(tmp_path: Path) -> None:
    """A cut file is refused in one line."""
    checkpoint = tiny.build(tmp_path / "checkpoint", 0)
    os.truncate(checkpoint / "model.safetensors", 1000)
    tiny.register(tmp_path, "torch", checkpoint, 0, "torch")

    with pytest.raises(
        EquipoiseError, match=r"^\S+/checkpoint: transformers cannot load the weights \([^\n]+\): fetch"
    ):
        answers(tmp_path, talks.PROMPTS)


def test_incomplete_weights_are_refused(tmp_path: Path) -> None:
    """A layer that the file lacks, which transformers would initialise at random, is named."""
    checkpoint = tiny.build(tmp_path / "checkpoint", 0)
    tiny.drop(checkpoint, "layers.1.")
    tiny.register(tmp_path, "torch", checkpoint, 0, "torch")

    # The second layer of a Llama has nine tensors: four of its attention, three of its MLP, and two norms.
    fault = r"^\S+/checkpoint: weights missing: it does not hold model\.layers\.1\.\S+ \(9 in all\): take the whole"
    with pytest.raises(EquipoiseError, match=fault):
        answers(tmp_path, talks.PROMPTS)


def test_more_tokens_than_the_weights_have_positions_are_refused(projects: dict[str, Path]) -> None:
    """A `max_length` beyond the context is named with both numbers."""
    root = projects["llama"]

    # tiny.build gives 2,048 positions.
    with pytest.raises(
        EquipoiseError, match="max_length is 4096, and its weights have a context of 2048 tokens: lower"
    ):
        answers(root, [], entry_of(root, max_length=4096))
