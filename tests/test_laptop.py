"""The models of the registry that run on a laptop or one GPU, on tiny random checkpoints of each one's architecture.

Chat templates and marks are of each one's kind (`families`); what a model is asked and answers is compared with
transformers itself. `test_eight` runs those that need no export from the hub on.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import families
import talks
from equipoise.backends.ask import open_backend
from equipoise.models import export, registry
from equipoise.models.registry import OnnxEntry, TorchEntry, WeightsEntry

if TYPE_CHECKING:
    from equipoise.core.prompts import Prompt, Response

ROOT = Path(__file__).parents[1]
PROBES = ("Which vitamin prevents scurvy?", "What does insulin lower?")
UNTHOUGHT = "<think>\n\n</think>\n\n"
REPLIES = {"reasoning_tokens": 12, "answer_tokens": 6, "repetition_penalty": 1.15}
EXPORTED = [name for name in families.LAPTOP if isinstance(registry.load_entry(name, ROOT), OnnxEntry)]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each model, in which its checkpoint is built once."""
    folder = tmp_path_factory.mktemp("laptop")
    return {name: folder / name for name in families.LAPTOP}


def standing_in(name: str, folder: Path, backend: str) -> Any:
    """Give a model's entry with its stand-in's weights, short replies and a backend."""
    if not folder.exists():
        families.build(folder, name)
    entry = registry.load_entry(name, ROOT).model_dump(exclude={"context", "dtype", "tensor_parallel", "data_parallel"})
    change = {"backend": backend, "generation": REPLIES, "source": {"kind": "local", "path": str(folder)}}
    more = {"dtype": "float32", "device_map": "cpu"} if backend == "torch" else {}
    kinds: dict[str, type[WeightsEntry]] = {"torch": TorchEntry, "onnx": OnnxEntry}
    known = {field: value for field, value in (entry | change | more).items() if field in kinds[backend].model_fields}
    return kinds[backend].model_validate(known)


def in_torch(name: str, folder: Path) -> dict[str, Response]:
    """Answer the prompts in torch."""
    entry = standing_in(name, folder, "torch")
    with open_backend(export.describe(name, entry, ROOT), entry, folder, batch_size=3) as backend:
        return {response.key: response for response in backend.answer(talks.PROMPTS)}


def in_transformers(asked: Prompt, reference: talks.Reference, *, thinks: bool) -> tuple[tuple[str, ...], Any]:
    """Answer a prompt in transformers; a reply that is begun for a model that thinks follows an empty thinking."""
    begun = thinks and bool(asked.prefix)
    return reference.converse(asked.model_copy(update={"prefix": f"{UNTHOUGHT}{asked.prefix}"}) if begun else asked)


@pytest.mark.parametrize("name", families.LAPTOP)
def test_each_model_answers_as_in_transformers(checkpoints: dict[str, Path], name: str) -> None:
    """Replies equal `generate`'s, and likelihoods those of whole forward passes within 1e-4 nats."""
    entry = standing_in(name, checkpoints[name], "torch")
    responses = in_torch(name, checkpoints[name])
    reference = talks.Reference.load(checkpoints[name], entry.generation)
    # The date that stands for today.
    reference.tokenizer.chat_template = families.LAPTOP[name].template.replace(
        "strftime_now('%d %b %Y')", "'01 Jan 2025'"
    )

    for asked in talks.PROMPTS:
        response = responses[asked.key]
        assert list(response.log_likelihood) == list(asked.candidates)
        # Letters follow an empty thinking without another word, which `Reference` does not know.
        if not entry.thinks or asked.prefix or not asked.candidates:
            replies, scores = in_transformers(asked, reference, thinks=entry.thinks)
            assert response.replies == replies
            assert scores == pytest.approx(response.log_likelihood, abs=1e-4)


@pytest.mark.parametrize("name", families.LAPTOP)
def test_each_template_states_the_system_text_once(name: str) -> None:
    """In a turn of its own, or before the user's words; the turns follow in order, and the model's turn is begun."""
    words = families.tokenizer(families.LAPTOP[name])
    turns = [("system", "Be brief."), ("user", "One?"), ("assistant", "Yes."), ("user", "Two?")]
    messages = [{"role": role, "content": text} for role, text in turns]
    written = words.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    places = [written.index(text) for _, text in turns]

    assert [written.count(text) for _, text in turns] == [1] * len(turns)
    assert places == sorted(places)
    assert ("system" in written) is ("gemma" not in name)
    assert "helpful" not in written


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTED)
def test_each_small_model_is_exported(checkpoints: dict[str, Path], tmp_path: Path, name: str) -> None:
    """The exported graph agrees with torch on every probe, and answers the prompts as torch does."""
    entry = standing_in(name, checkpoints[name], "onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        manifest = export.export(name, entry, ROOT, tmp_path / "store", PROBES)
    with open_backend(manifest, entry, tmp_path / "store", batch_size=3) as backend:
        exported = {response.key: response for response in backend.answer(talks.PROMPTS)}

    assert manifest.fidelity
    assert (manifest.fidelity.letters, manifest.fidelity.tokens) == (1.0, 1.0)
    for key, response in in_torch(name, checkpoints[name]).items():
        assert exported[key].replies == response.replies
        assert exported[key].log_likelihood == pytest.approx(response.log_likelihood, abs=1e-4)
