from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tiny
from equipoise.core.errors import EquipoiseError
from equipoise.core.jsonl import read_one, sha256
from equipoise.judge import located as room
from equipoise.judge.located import PROBES, locate_judge, torch_probabilities
from equipoise.models.registry import JUDGES as FOLDER
from equipoise.models.registry import EmbeddedSource, JudgeEntry, load_judge_entry
from equipoise.models.weights import locate
from hubs import LoopbackHub
from workshop.export import Shipped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HUB_ORDER = ("contradiction", "entailment", "neutral")


def register(root: Path, folder: Path) -> None:
    """Register a local checkpoint as the judge `tiny`."""
    (root / FOLDER).mkdir(parents=True)
    entry = f"title: Tiny\nlicence: none\nmax_tokens: 64\nsource:\n  kind: local\n  path: {folder}\n"
    (root / FOLDER / "tiny.yaml").write_text(entry, "utf-8")


def test_local_judge_gives_its_checkpoint_s_probabilities(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    """A judge in a folder is exported and gives the probabilities of torch, columns in our order."""
    folder = checkpoint(HUB_ORDER)
    register(tmp_path, folder)
    probabilities = locate_judge("tiny", tmp_path, tmp_path / ".cache").open().probabilities(PROBES)

    np.testing.assert_allclose(torch_probabilities(folder, PROBES), probabilities, rtol=0, atol=1e-5)


def test_judge_without_a_trained_classifier_is_refused(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    """A checkpoint whose classifier transformers would initialise at random is named, and nothing is kept."""
    folder = checkpoint()
    tiny.drop(folder, "classifier.weight")
    register(tmp_path, folder)

    with pytest.raises(EquipoiseError, match=r"weights missing: it does not hold classifier\.weight \(1 in all\)"):
        locate_judge("tiny", tmp_path, tmp_path / ".cache").open()
    assert list((tmp_path / ".cache/judges").iterdir()) == []


def test_export_is_kept(checkpoint: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second opening of a judge uses the export of the first."""
    register(tmp_path, checkpoint())
    locate_judge("tiny", tmp_path, tmp_path / ".cache").open()

    def again(*_: Any) -> None:
        pytest.fail("exported twice")

    monkeypatch.setattr(room, "export_onnx", again)
    locate_judge("tiny", tmp_path, tmp_path / ".cache").open()


def test_unfaithful_export_is_refused_and_not_kept(
    checkpoint: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export whose labels differ from its checkpoint's is refused, and nothing usable is left behind."""
    register(tmp_path, checkpoint())
    # The reference with its columns turned round: no label can agree with the export's.
    monkeypatch.setattr(room, "torch_probabilities", lambda *given: np.roll(torch_probabilities(*given), 1, axis=1))

    with pytest.raises(
        EquipoiseError, match=r"export of tiny refused: it agrees with its checkpoint on 0\.0000 of 6 pairs"
    ):
        locate_judge("tiny", tmp_path, tmp_path / ".cache").open()
    assert list((tmp_path / ".cache/judges").iterdir()) == []


def test_unreachable_hub_is_told_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the hub cannot be reached one line names the repository, the commit and the fix."""
    with LoopbackHub() as hub:
        hub.use(monkeypatch, tmp_path / "hub")
    revision = "0" * 40
    entry = JudgeEntry.model_validate(
        {
            "title": "Far",
            "licence": "none",
            "max_tokens": 64,
            "source": {"kind": "hub", "repo": "far/away", "revision": revision},
        }
    )

    fault = r"far/away at 000000000000 could not be fetched: the Hugging Face Hub cannot be reached .*source kind local"
    with pytest.raises(EquipoiseError, match=fault):
        locate(entry, tmp_path)


def test_empty_local_folder_is_refused(tmp_path: Path) -> None:
    """A registered folder without a checkpoint is named, with the fix."""
    register(tmp_path, tmp_path / "nowhere")

    with pytest.raises(EquipoiseError, match=r"weights missing: no folder .*nowhere: correct source\.path"):
        locate_judge("tiny", tmp_path, tmp_path / ".cache").open()


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """A root that holds copies of the registry and of the shipped weights."""
    shutil.copytree(root / FOLDER, tmp_path / FOLDER)
    shutil.copytree(root / "judge/reader", tmp_path / "judge/reader")
    return tmp_path


def embedded(root: Path) -> EmbeddedSource:
    """The source of the judge that ships."""
    source = load_judge_entry("minilm_passages", root).source
    assert isinstance(source, EmbeddedSource)
    return source


def test_shipped_files_are_those_of_registry_and_manifest(root: Path) -> None:
    """Registry, manifest and the files themselves name the same sha256."""
    source = embedded(root)
    manifest = read_one(root / source.folder / "manifest.json", Shipped)

    assert source.files == {name: file.sha256 for name, file in manifest.files.items()}
    assert source.files == {name: sha256(root / source.folder / name) for name in source.files}


def test_altered_weights_are_refused(copy: Path) -> None:
    """One changed byte in the weights is refused in one line with file, both hashes and the fix."""
    model = copy / "judge/reader/model.onnx"
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)

    with pytest.raises(
        EquipoiseError, match=r"altered: .*model\.onnx: checksum mismatch: expected \w+, found \w+: run `git checkout"
    ):
        locate(load_judge_entry("minilm_passages", copy), copy)


def test_missing_weights_are_refused(copy: Path) -> None:
    """A file that is not there is named, with the fix."""
    (copy / "judge/reader/tokenizer.json").unlink()

    with pytest.raises(EquipoiseError, match=r"missing: .*tokenizer\.json: run `git checkout"):
        locate(load_judge_entry("minilm_passages", copy), copy)


def test_unknown_key_is_refused(copy: Path) -> None:
    """A key that no entry has is refused with file and field."""
    path = copy / FOLDER / "minilm_passages.yaml"
    path.write_text(path.read_text("utf-8") + "temperature: 1\n", "utf-8")

    with pytest.raises(EquipoiseError, match=r"minilm_passages\.yaml: field temperature: Extra inputs"):
        load_judge_entry("minilm_passages", copy)


def test_every_registered_judge_is_well_formed(root: Path) -> None:
    """Each file of the registry can be read."""
    names = sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))

    assert names == ["deberta_v3_large", "llm", "llm_letters", "minilm_letters", "minilm_passages", "minilm_snli"]
    assert all(load_judge_entry(name, root).title for name in names)


@pytest.mark.parametrize(
    ("silent", "fault"),
    [
        ("{right: 51, of: 50}", r"field error\.silent: .*right: 51 is more than of: 50"),
        ("{right: 0, of: 0}", r"field error\.silent\.of: "),
        ("{right: 41}", r"field error\.silent\.of: "),
    ],
)
def test_impossible_error_is_refused(copy: Path, silent: str, fault: str) -> None:
    """A measured error with more right than labelled, or without labels, is refused with file and field."""
    path = copy / FOLDER / "deberta_v3_large.yaml"
    block = f"error:\n  silent: {silent}\n  not_silent: {{right: 88, of: 110}}\n  labels: reasoning of one model\n"
    path.write_text(path.read_text("utf-8") + block, "utf-8")

    with pytest.raises(EquipoiseError, match=rf"deberta_v3_large\.yaml: {fault}"):
        load_judge_entry("deberta_v3_large", copy)
