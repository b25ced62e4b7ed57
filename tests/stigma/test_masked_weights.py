from __future__ import annotations

from typing import TYPE_CHECKING, Any

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

import tiny_masked
from equipoise.core.errors import EquipoiseError
from equipoise.core.records import sha256
from equipoise.models.weights import Weights
from equipoise.stigma.masked_registry import MaskedEntry
from equipoise.stigma.masked_weights import load_tokenizer, load_torch, locate

if TYPE_CHECKING:
    from pathlib import Path

HUB = {"kind": "hub", "repo": "far/away", "revision": "0123456789" * 4}


def entry(source: dict[str, str], **further: Any) -> MaskedEntry:
    """Make a registry entry."""
    told = {"title": "T", "licence": "none", "runtime": "torch", "max_tokens": 64, "source": source}
    return MaskedEntry.model_validate({**told, **further})


def local(folder: Path, **further: Any) -> tuple[MaskedEntry, Weights]:
    """Register and locate a checkpoint in a folder."""
    found = entry({"kind": "local", "path": str(folder)}, **further)
    return found, locate(found, folder)


def test_every_file_that_decides_a_figure_is_hashed(tmp_path: Path) -> None:
    """Weights, config and tokenizer stand in the manifest with their sha256."""
    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    _, found = local(folder)

    names = {"config.json", "merges.txt", "model.safetensors", "tokenizer.json", "vocab.json"}
    assert names <= set(found.files)
    assert found.files["tokenizer.json"] == sha256(folder / "tokenizer.json")
    assert found.revision == "local"


def test_an_unreachable_hub_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the hub cannot be reached the line names the repository, the commit and the mend."""

    def unreachable(*_: Any, **__: Any) -> str:
        message = "offline"
        raise LocalEntryNotFoundError(message)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    fault = (
        r"^masked model missing: far/away at 012345678901 could not be fetched .*\(LocalEntryNotFoundError\): check "
        r"the network, or fetch it elsewhere and register it with source kind local$"
    )
    with pytest.raises(EquipoiseError, match=fault):
        locate(entry(HUB), tmp_path)


def test_a_gated_model_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a gated model the line also says where its conditions are accepted, and that a token is needed."""

    def gated(*_: Any, **__: Any) -> str:
        message = "401"
        raise PermissionError(message)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", gated)
    with pytest.raises(EquipoiseError, match=r"accept its conditions at huggingface\.co/far/away and set HF_TOKEN"):
        locate(entry(HUB, gated=True), tmp_path)


def test_only_what_is_needed_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one weight file is fetched at the commit, with configs and tokenizer, and no code."""
    asked: dict[str, Any] = {}
    folder = tiny_masked.build(tmp_path / "tiny", seed=1)

    def fetch(repo: str, **further: Any) -> str:
        asked.update(further, repo=repo)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    found = locate(entry(HUB), tmp_path)

    assert (found.repo, found.revision) == (HUB["repo"], HUB["revision"])
    assert asked == {
        "repo": HUB["repo"],
        "revision": HUB["revision"],
        "allow_patterns": ["*.json", "*.txt", "model.safetensors"],
    }


def test_a_folder_without_the_weight_file_is_refused(tmp_path: Path) -> None:
    """A missing folder, and one that holds the weights in another form, are named with the mend."""
    folder = tiny_masked.build(tmp_path / "tiny", seed=1)

    with pytest.raises(EquipoiseError, match=r"missing: .*nowhere/config\.json: mend source and weights"):
        local(tmp_path / "nowhere")
    with pytest.raises(EquipoiseError, match=r"missing: .*pytorch_model\.bin: mend source and weights"):
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

    with pytest.raises(EquipoiseError, match="transformers cannot load it"):
        load_torch(*local(folder, weights="pytorch_model.bin"))
    assert not (folder / "touched").exists()


def test_weights_without_a_head_are_refused(tmp_path: Path) -> None:
    """A model whose head would be made up at random is named, with the parameter that is missing."""
    from transformers import AutoModel

    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    AutoModel.from_pretrained(folder, add_pooling_layer=False).save_pretrained(folder)

    with pytest.raises(EquipoiseError, match=r"does not hold lm_head\.\S+: choose a trained masked model"):
        load_torch(*local(folder))


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    """A file that is no checkpoint is one line with the mend."""
    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    (folder / "model.safetensors").write_bytes(b"not weights")

    with pytest.raises(EquipoiseError, match=r"tiny: transformers cannot load it \(.*\): fetch it anew"):
        load_torch(*local(folder))


def test_a_tokenizer_without_spaces_in_its_tokens_is_refused(tmp_path: Path) -> None:
    """A tokenizer whose tokens do not show where a word begins, such as BERT's, is refused."""
    from transformers import BertTokenizerFast

    folder = tiny_masked.build(tmp_path / "tiny", seed=1)
    for old in ("tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt"):
        (folder / old).unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nwoman", "utf-8")
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)

    with pytest.raises(EquipoiseError, match="its tokens do not show where words begin"):
        load_tokenizer(local(folder)[1])
