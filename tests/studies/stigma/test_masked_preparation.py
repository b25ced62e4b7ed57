from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tiny_masked
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import sha256
from equipoise.models.export import bound
from equipoise.models.registry import MaskedEntry, load_masked_entry
from equipoise.models.weights import Weights, locate
from equipoise.studies.stigma import masked_model
from equipoise.studies.stigma.library import load_library
from equipoise.studies.stigma.masked_model import at_the_mask, load_tokenizer, load_torch, prepare, without_windows
from hubs import LoopbackHub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equipoise.studies.stigma.masked_model import Ready

ROOT = Path(__file__).parents[3]
LIBRARY = load_library(ROOT / "data/sentences")
PROBES = [template.about("depression") for template in LIBRARY.templates]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with tiny masked models: RoBERTa in ONNX and in torch, and Longformer."""
    root = tmp_path_factory.mktemp("masked")
    plain = tiny_masked.build(root / "plain", seed=1)
    tiny_masked.register(root, "tiny", plain)
    tiny_masked.register(root, "torch", plain, runtime="torch")
    wide = tiny_masked.build(root / "wide", seed=1, longformer=True)
    tiny_masked.register(root, "longformer", wide, runtime="torch")
    tiny_masked.register(root, "longformer_onnx", wide)
    return root


@pytest.fixture(scope="module")
def ready(root: Path) -> Ready:
    """The tiny model, exported."""
    return prepare("tiny", root, root / "store", PROBES)


def test_onnx_and_torch_give_the_same_probabilities(ready: Ready, root: Path) -> None:
    """Over the whole vocabulary and all templates both runtimes agree within 1e-4."""
    in_torch = prepare("torch", root, root / "store", PROBES)
    sentences = [
        template.about(condition.name) for template in LIBRARY.templates for condition in LIBRARY.conditions[:3]
    ]
    actual, expected = ready.open().probabilities(sentences), in_torch.open().probabilities(sentences)

    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-4)
    np.testing.assert_allclose(actual.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_the_manifest_says_what_was_made_of_what(ready: Ready) -> None:
    """The manifest holds hashes of both sides and a bound of the difference from torch."""
    made = ready.manifest

    assert set(made.files) == {"model.onnx", "model.onnx.data"}
    assert "model.safetensors" in made.weights
    assert made.probes == 44
    assert 0 < made.max_difference <= 1e-5


@pytest.mark.parametrize(("difference", "expected"), [(3e-5, 1e-4), (1e-5, 1e-5), (2e-9, 1e-6), (0.0, 1e-6)])
def test_a_difference_is_bounded_by_a_power_of_ten(difference: float, expected: float) -> None:
    """The next power of ten, and never less than the six places that a file holds."""
    assert bound(difference) == pytest.approx(expected)


def test_an_export_is_made_once(ready: Ready, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run finds what the first made."""

    def again(*_: Any) -> None:
        pytest.fail("exported twice")

    monkeypatch.setattr(masked_model, "_write_graph", again)

    assert prepare("tiny", root, root / "store", PROBES).manifest == ready.manifest


def test_a_damaged_export_is_made_anew(ready: Ready, root: Path, tmp_path: Path) -> None:
    """An export of which a byte has changed is not used."""
    made = prepare("tiny", root, tmp_path, PROBES)
    graph = made.folder / "model.onnx.data"
    graph.write_bytes(b"x" + graph.read_bytes()[1:])
    anew = prepare("tiny", root, tmp_path, PROBES)

    sentences = PROBES[:3]
    np.testing.assert_array_equal(anew.open().probabilities(sentences), ready.open().probabilities(sentences))


def test_an_unfaithful_export_is_refused_and_not_kept(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a probability lies further from torch's than the threshold, one line says so and nothing stays."""
    other = tiny_masked.build(tmp_path / "other", seed=2)
    exported = masked_model._write_graph

    def wrong(_: Any, mask: int, folder: Path) -> None:
        tiny_masked.register(tmp_path, "other", other)
        entry = load_masked_entry("other", tmp_path)
        exported(load_torch(entry, locate(entry, tmp_path)), mask, folder)

    monkeypatch.setattr(masked_model, "_write_graph", wrong)
    fault = (
        r"^export of tiny refused: its probabilities differ by up to 0\.\d+ from those of its checkpoint, not within "
        r"0\.0001: set another runtime than onnx"
    )
    with pytest.raises(EquipoiseError, match=fault + r" in models/masked/tiny\.yaml, or choose another model$"):
        prepare("tiny", root, tmp_path / "store", PROBES)
    assert list((tmp_path / "store").iterdir()) == []


@pytest.mark.parametrize("name", ["longformer", "longformer_onnx"])
def test_longformer_gives_its_own_probabilities_without_its_windows(root: Path, name: str) -> None:
    """Run with ordinary attention, in torch and in ONNX, a Longformer predicts what it predicts as it is."""
    made = prepare(name, root, root / "store", PROBES)

    assert made.manifest.max_difference <= 1e-5


def test_another_checkpoint_is_another_model(ready: Ready, root: Path, tmp_path: Path) -> None:
    """Predictions are kept apart by what decides them: other weights, not another name or place."""
    tiny_masked.register(root, "same", tiny_masked.build(tmp_path / "same", seed=1))
    tiny_masked.register(root, "other", tiny_masked.build(tmp_path / "other", seed=2))
    same, other = (prepare(name, root, root / "store", PROBES[:3]).manifest for name in ("same", "other"))

    assert same.identity == ready.manifest.identity
    assert other.identity != ready.manifest.identity


def test_a_model_that_cannot_be_exported_is_refused_with_the_fix(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the exporter stumbles over is one line; here it is Longformer's own attention."""
    monkeypatch.setattr(masked_model, "without_windows", lambda model, _: model)

    with pytest.raises(EquipoiseError, match=r"a longformer model cannot be exported .*set `runtime: torch` in its"):
        prepare("longformer_onnx", root, tmp_path, PROBES)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_written_is_named(root: Path, tmp_path: Path) -> None:
    """A file in the place of the store is one line with the fix."""
    (tmp_path / "store").touch()

    with pytest.raises(EquipoiseError, match=r"store: cannot be created \(File exists\): correct the permissions"):
        prepare("tiny", root, tmp_path / "store", PROBES)


HUB = {"kind": "hub", "repo": "far/away", "revision": "0123456789" * 4}


def entry(source: dict[str, str], **further: Any) -> MaskedEntry:
    """Make a registry entry."""
    told = {"title": "T", "licence": "none", "runtime": "torch", "max_tokens": 64, "source": source}
    return MaskedEntry.model_validate({**told, **further})


def local(folder: Path, **further: Any) -> tuple[MaskedEntry, Weights]:
    """Register and locate a checkpoint in a folder."""
    registered = entry({"kind": "local", "path": str(folder)}, **further)
    return registered, locate(registered, folder)


def test_every_file_that_decides_a_figure_is_hashed(tmp_path: Path) -> None:
    """Weights, config and tokenizer are in the manifest with their sha256."""
    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    _, located = local(folder)

    names = {"config.json", "merges.txt", "model.safetensors", "tokenizer.json", "vocab.json"}
    assert names <= set(located.files)
    assert located.files["tokenizer.json"] == sha256(folder / "tokenizer.json")
    assert located.revision == "local"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A hub that serves a tiny masked model, used by the client with an empty cache."""
    with LoopbackHub() as serving:
        serving.serve(HUB["repo"], tiny_masked.build(tmp_path / "tiny", seed=1), commit=HUB["revision"])
        serving.use(monkeypatch, tmp_path / "hub")
        yield serving


def test_an_unreachable_hub_is_one_line(hub: LoopbackHub, tmp_path: Path) -> None:
    """Where the hub does not answer the line names the repository, the commit and the fix."""
    hub.repositories[HUB["repo"]].faults.append("broken")

    fault = (
        r"^weights missing: far/away at 012345678901 could not be fetched: .* the hub fails \(503\): try again later, "
        r"or fetch it elsewhere and register it with source kind local$"
    )
    with pytest.raises(EquipoiseError, match=fault):
        locate(entry(HUB), tmp_path)


def test_a_gated_model_says_how_to_get_it(hub: LoopbackHub, tmp_path: Path) -> None:
    """For a gated model the line also says where its conditions are accepted, and that a token is needed."""
    hub.repositories[HUB["repo"]].faults.append("gated_401")

    with pytest.raises(EquipoiseError, match=r"accept them at https://huggingface\.co/far/away and set HF_TOKEN"):
        locate(entry(HUB, gated=True), tmp_path)


def test_only_what_is_needed_is_fetched(hub: LoopbackHub, tmp_path: Path) -> None:
    """The one weight file is fetched at the commit, with configs and tokenizer, and no code."""
    hub.repositories[HUB["repo"]].files |= {"pytorch_model.bin": b"other", "model.py": b"code"}
    located = locate(entry(HUB), tmp_path)

    assert (located.repo, located.revision) == (HUB["repo"], HUB["revision"])
    assert {path.name for path in located.folder.iterdir()} >= {"model.safetensors", "config.json", "tokenizer.json"}
    assert {path.suffix for path in located.folder.iterdir()} == {".safetensors", ".json", ".txt"}


def test_a_folder_without_the_weight_file_is_refused(tmp_path: Path) -> None:
    """A missing folder, and one that holds the weights in another form, are named with the fix."""
    folder = tiny_masked.build(tmp_path / "tiny", seed=1)

    with pytest.raises(EquipoiseError, match=r"missing: no folder .*nowhere: correct source\.path"):
        local(tmp_path / "nowhere")
    with pytest.raises(EquipoiseError, match=r"missing: .*tiny has no pytorch_model\.bin file: correct the source"):
        local(folder, weights="pytorch_model.bin")


def test_pickled_weights_are_the_same_weights(tmp_path: Path) -> None:
    """A model whose only weights are pickled is loaded, as tensors alone."""
    import torch

    safe = load_torch(*local(tiny_masked.build(tmp_path / "safe", seed=1)))
    pickled = local(tiny_masked.build(tmp_path / "pickled", seed=1, safe=False), weights="pytorch_model.bin")

    assert torch.equal(safe.lm_head.bias, load_torch(*pickled).lm_head.bias)


def test_a_pickle_with_code_in_it_is_refused(tmp_path: Path) -> None:
    """Code in a pickled file is not run."""
    import torch

    folder = tiny_masked.build(tmp_path / "tiny", seed=1, safe=False)

    class Payload:
        def __reduce__(self) -> Any:
            return (folder.joinpath("touched").touch, ())

    torch.save({"x": Payload()}, folder / "pytorch_model.bin")

    with pytest.raises(EquipoiseError, match="transformers cannot load the weights"):
        load_torch(*local(folder, weights="pytorch_model.bin"))
    assert not (folder / "touched").exists()


def test_weights_without_a_head_are_refused(tmp_path: Path) -> None:
    """A model whose head would be made up at random is named, with the parameter that is missing."""
    from transformers import AutoModel

    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    AutoModel.from_pretrained(folder, add_pooling_layer=False).save_pretrained(folder)

    with pytest.raises(EquipoiseError, match=r"does not hold lm_head\.\S+ \(\d in all\): take the whole model"):
        load_torch(*local(folder))


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    """A file that is not a checkpoint is one line with the fix."""
    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    (folder / "model.safetensors").write_bytes(b"not weights")

    with pytest.raises(EquipoiseError, match=r"tiny: transformers cannot load the weights \(.*\): fetch them again"):
        load_torch(*local(folder))


def test_the_mask_includes_the_space_before_it_also_without_a_tokenizer_file(tmp_path: Path) -> None:
    """A tokenizer of words and merges alone, as many models publish it, is read as the one in tokenizer.json."""
    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    whole = load_tokenizer(local(folder)[1])("a <mask> woman")["input_ids"]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()

    assert load_tokenizer(local(folder)[1])("a <mask> woman")["input_ids"] == whole


def test_a_tokenizer_without_spaces_in_its_tokens_is_refused(tmp_path: Path) -> None:
    """A tokenizer whose tokens do not show where a word begins, such as BERT's, is refused."""
    from transformers import BertTokenizerFast

    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    for old in ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt"):
        (folder / old).unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nwoman", "utf-8")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)

    with pytest.raises(EquipoiseError, match="its tokens do not show where words begin"):
        load_tokenizer(local(folder)[1])


def model(head: str = "/lm_head/dense/MatMul") -> onnx.ModelProto:
    """A graph whose hidden state of a token is (id, 1) and whose head multiplies it by [[1, 0, 2], [0, 10, 1]]."""
    weights = helper.make_tensor("weights", TensorProto.FLOAT, [2, 3], [1, 0, 2, 0, 10, 1])
    last = helper.make_tensor("last", TensorProto.INT64, [1], [-1])
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["number", "last"], ["column"]),
        helper.make_node("Div", ["column", "column"], ["one"]),
        helper.make_node("Concat", ["column", "one"], ["hidden"], axis=-1),
        helper.make_node("MatMul", ["hidden", "weights"], ["logits"], name=head),
    ]
    shape = ["batch", "tokens"]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*shape, 3])],
        [weights, last],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_the_head_sees_the_mask_alone() -> None:
    """The graph gives the logits at the mask, wherever in its sentence it is."""
    cut = at_the_mask(model(), mask=4)
    onnx.checker.check_model(cut, full_check=True)
    session = onnxruntime.InferenceSession(cut.SerializeToString(), providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {"input_ids": np.array([[4, 7, 7], [7, 7, 4]])})

    # (4, 1) @ [[1, 0, 2], [0, 10, 1]] = (4, 10, 9), whatever surrounds it.
    np.testing.assert_array_equal(logits, [[4, 10, 9], [4, 10, 9]])


def test_the_graph_that_is_given_stays_as_it_is() -> None:
    """The rewrite works on a copy."""
    given = model()
    at_the_mask(given, mask=4)

    assert given == model()


def test_a_graph_without_a_head_is_refused() -> None:
    """A graph whose head is not where it is looked for is refused with the fix."""
    with pytest.raises(EquipoiseError, match="no lm_head: set `runtime: torch`"):
        at_the_mask(model(head="/cls/MatMul"), mask=4)


def load(folder: Path) -> Any:
    """Load a checkpoint as it is."""
    from transformers import AutoModelForMaskedLM

    return AutoModelForMaskedLM.from_pretrained(folder).eval()


def test_in_a_short_sentence_the_windows_make_no_difference(tmp_path: Path) -> None:
    """Up to half a window, 128 tokens, a Longformer's logits are those of ordinary attention with its weights."""
    import torch

    model = load(tiny_masked.build(tmp_path, seed=5, longformer=True))
    plain = without_windows(model, 128)
    torch.manual_seed(0)
    for length in (3, 20, 128):
        ids = torch.randint(5, model.config.vocab_size, (2, length))
        with torch.inference_mode():
            expected, actual = (network(ids, attention_mask=torch.ones_like(ids)).logits for network in (model, plain))

        torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)


def test_a_longer_sentence_is_refused(tmp_path: Path) -> None:
    """Beyond half a window the two differ, and the registry entry must not allow it."""
    model = load(tiny_masked.build(tmp_path, seed=5, longformer=True))

    with pytest.raises(EquipoiseError, match="max_tokens 129 of a Longformer that attends to 128 tokens: lower it"):
        without_windows(model, 129)


def test_other_models_stay_as_they_are(tmp_path: Path) -> None:
    """A RoBERTa has no windows to leave out."""
    model = load(tiny_masked.build(tmp_path, seed=5))

    assert without_windows(model, 512) is model
