from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import ggufs
import templates
import tiny
from equipoise.backends.ask import open_backend
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.manifest import Fidelity, Manifest
from equipoise.models import export
from equipoise.models.export import COMPUTING, leftovers, new_folder, require_versions, save_tokenizer, versions
from equipoise.models.registry import ApiEntry, Generation, LocalSource, ModelEntry
from equipoise.models.tokenizer import ExportedTokenizer

if TYPE_CHECKING:
    from conftest import Exported


ROOT = Path(__file__).parents[2]
PROBES = ("Which vitamin prevents scurvy?", "What does insulin lower?")


class Usage(NamedTuple):
    """What `shutil.disk_usage` gives."""

    total: int
    used: int
    free: int


def export_again(model: Exported, store: Path) -> Manifest:
    """Export the tiny model into another store."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return export.export("tiny", model.entry, model.store.parent, store, PROBES)


def test_the_manifest_says_what_was_made_and_from_what(tiny_model: Exported, tiny_checkpoint: Path) -> None:
    """It holds the hashes of the source and of every exported file, the versions, and the measured agreement."""
    manifest = tiny_model.manifest
    folder = tiny_model.store / manifest.folder

    hashes = export.hashes(folder)
    del hashes[export.MANIFEST]  # which says so
    assert hashes == manifest.files
    assert {"model.safetensors": jsonl.sha256(tiny_checkpoint / "model.safetensors")} == manifest.weights
    assert manifest.files.keys() >= {"model.onnx", "model.onnx.data", "config.json", "tokenizer.json"}
    assert ("tiny", str(tiny_checkpoint), "local", "Apache-2.0") == (
        manifest.model,
        manifest.repo,
        manifest.revision,
        manifest.licence,
    )
    assert metadata.version("torch") == manifest.exporters["torch"]
    assert manifest.exporters.keys() == {"onnx-ir", "onnxruntime-genai", "torch", "transformers"}
    assert manifest.versions.keys() == {"onnxruntime", "tokenizers"}
    assert (manifest.opset, manifest.precision) == (22, "float32")


def test_the_graph_is_compared_with_torch_on_every_probe(tiny_model: Exported) -> None:
    """The fused graph favours torch's letters and tokens, and its logits differ by less than 0.001."""
    fidelity = tiny_model.manifest.fidelity

    assert len(export.load_probes(ROOT / "data/raw/probes.yaml")) == fidelity.probes
    assert (fidelity.letters, fidelity.tokens) == (1.0, 1.0)
    assert fidelity.max_abs_logit <= 1e-3


CHILD = """
import sys
from pathlib import Path
from equipoise.core import jsonl
from equipoise.models import registry
from equipoise.models import export
from equipoise.models.export import leftovers, new_folder
root, store, manifest, *probes = sys.argv[1:]
made = export.export("tiny", registry.load_entry("tiny", Path(root)), Path(root), Path(store), probes)
jsonl.write_json(Path(manifest), made.model_dump(mode="json"))
"""


def test_the_same_weights_give_the_same_files(tiny_model: Exported, tmp_path: Path) -> None:
    """Another process, with another hash seed, in another place, makes the same bytes and the same identity."""
    arguments = [str(tiny_model.store.parent), str(tmp_path / "store"), str(tmp_path / "manifest.json"), *PROBES]
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
    subprocess.run(
        [sys.executable, "-c", CHILD, *arguments], env=environment, cwd=tmp_path, check=True, capture_output=True
    )
    again = jsonl.read_one(tmp_path / "manifest.json", Manifest)

    assert tiny_model.manifest.files == again.files
    assert tiny_model.manifest.identity == again.identity
    assert [tmp_path / "store" / again.folder] == list((tmp_path / "store").iterdir())


def test_an_export_is_used_again_until_what_it_was_made_from_changes(
    tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same model is exported once; another entry, probe or library, or a damaged file, has it exported anew."""
    made: list[Path] = []
    write = export.write
    monkeypatch.setattr(
        export, "write", lambda model, target, blocks: made.append(target) or write(model, target, blocks)
    )
    root, entry = tiny_model.store.parent, tiny_model.entry

    def exported(entry: ModelEntry = entry, probes: tuple[str, ...] = PROBES) -> tuple[Manifest, bool]:
        before = len(made)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            manifest = export.export("tiny", entry, root, tmp_path, probes)
        return manifest, len(made) > before

    first, _ = exported()
    assert exported() == (first, False)
    assert exported(entry.model_copy(update={"fidelity": 0.5})) == (first, True)
    assert exported(entry.model_copy(update={"fidelity": 0.5}), PROBES[:1])[1]
    assert exported() == (first, True)
    graph = tmp_path / first.folder / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:-1])
    assert exported() == (first, True)
    (tmp_path / first.folder / export.MANIFEST).write_text("{", encoding="utf-8")
    assert exported() == (first, True)
    monkeypatch.setattr(export, "provider", lambda: "cuda")
    assert exported() == (first.model_copy(update={"provider": "cuda"}), True)


def test_a_tokenizer_loaded_offline_is_the_same(tmp_path: Path) -> None:
    """HF_HUB_OFFLINE, which transformers writes into the configuration, changes no digest of the model's files."""
    saved = []
    for offline in (True, False):
        tokenizer = tiny.tokenizer()
        tokenizer.init_kwargs |= {"is_local": True, "local_files_only": offline}
        folder = tmp_path / str(offline)
        folder.mkdir()
        save_tokenizer(tokenizer, folder)
        saved.append(folder.joinpath("tokenizer_config.json").read_bytes())

    assert saved[0] == saved[1]
    assert b'"local_files_only": false' in saved[0]


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data", "tokenizer.json"])
def test_an_altered_or_missing_file_is_refused(tiny_model: Exported, tmp_path: Path, name: str) -> None:
    """Before the model answers, every exported file is checked; the fix is named."""
    manifest = tiny_model.manifest
    shutil.copytree(tiny_model.store / manifest.folder, tmp_path / manifest.folder)
    path = tmp_path / manifest.folder / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    fix = "run `dvc repro --force --single-item export`"
    fault = rf"exported weights altered: \S+/{name}: checksum mismatch: expected \w+, found \w+: {fix}"
    with pytest.raises(EquipoiseError, match=fault):
        open_backend(manifest, tiny_model.entry, tmp_path, batch_size=1)
    path.unlink()
    with pytest.raises(EquipoiseError, match=rf"exported weights missing: \S+/{name}: {fix}"):
        open_backend(manifest, tiny_model.entry, tmp_path, batch_size=1)


def test_a_graph_that_answers_otherwise_is_refused(
    tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph of other weights is caught by the comparison, nothing is kept of it, and an earlier export stays."""
    from transformers import AutoModelForCausalLM

    import tiny

    write = export.write
    other = AutoModelForCausalLM.from_pretrained(tiny.build(tmp_path / "other", seed=2)).eval()
    monkeypatch.setattr(export, "write", lambda _, folder, blocks: write(other, folder, blocks))
    store = tmp_path / "store"
    manifest = tiny_model.manifest
    shutil.copytree(tiny_model.store / manifest.folder, store / manifest.folder)
    before = export.hashes(store / manifest.folder)

    with pytest.raises(
        EquipoiseError,
        match=r"^export of tiny refused: it agrees with torch on [\d.]+% of letters and [\d.]+% of greedy tokens: "
        r"models/tiny\.yaml requires 99\.0%$",
    ):
        export_again(tiny_model, store)
    assert [store / manifest.folder] == list(store.iterdir())
    assert before == export.hashes(store / manifest.folder)


def test_a_tokenizer_that_reads_otherwise_is_refused(
    tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tokenizer that would give other text without transformers is caught, and nothing is kept."""
    monkeypatch.setattr(ExportedTokenizer, "decode", lambda *_, **__: "")

    with pytest.raises(EquipoiseError, match=r"tiny refused: its tokenizer reads or writes otherwise without transf"):
        export_again(tiny_model, tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []


@pytest.mark.parametrize(("letters", "tokens"), [(0.98, 1.0), (1.0, 0.98)])
def test_either_agreement_can_refuse(
    tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letters: float, tokens: float
) -> None:
    """Letters and greedy tokens must both reach the registry's threshold, 0.99."""
    low = Fidelity(probes=2, letters=letters, tokens=tokens, max_abs_logit=0)
    monkeypatch.setattr(export, "write", lambda *_: 22)
    monkeypatch.setattr(export, "chat_fidelity", lambda *_: low)

    with pytest.raises(EquipoiseError, match="export of tiny refused"):
        export_again(tiny_model, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_too_little_disk_is_told_before_work_begins(
    tiny_model: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says how much is needed and how much is free, and nothing is written."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(10**9, 10**9, 1000))

    with pytest.raises(EquipoiseError, match=r"store: [\d.]+ GB of disk is needed, 0\.0 GB is free: free more"):
        export_again(tiny_model, tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []


def test_a_store_that_cannot_be_made_is_named(tiny_model: Exported, tmp_path: Path) -> None:
    """A store below a file is refused in one line."""
    (tmp_path / "file").touch()

    with pytest.raises(EquipoiseError, match=r"file/store: cannot be created \(.+\): correct the permissions"):
        export_again(tiny_model, tmp_path / "file" / "store")


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [
        ("cut", r"transformers cannot load the weights \(SafetensorError: .+\): fetch them again"),
        ("gpt2", "a gpt2 model has heads of 8, not a multiple of 16"),
        ("untuned", "the tokenizer has no chat template: choose a model tuned"),
        ("part", r"weights missing: it does not hold model\.layers\.1\.mlp\.down_proj\.weight \(1 in all\): take"),
    ],
)
def test_a_checkpoint_that_cannot_be_asked_is_refused(
    tiny_model: Exported, tiny_checkpoint: Path, tmp_path: Path, kind: str, refusal: str
) -> None:
    """Damaged weights, another architecture and a model without chat are refused in one line before any work."""
    from transformers import GPT2Config, GPT2LMHeadModel

    checkpoint = tmp_path / kind
    shutil.copytree(tiny_checkpoint, checkpoint)
    if kind == "cut":
        os.truncate(checkpoint / "model.safetensors", 1000)
    elif kind == "part":
        tiny.drop(checkpoint, "layers.1.mlp.down_proj")
    elif kind == "gpt2":
        GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=1)).save_pretrained(checkpoint)
    else:
        (checkpoint / "chat_template.jinja").unlink()
    entry = tiny_model.entry.model_copy(update={"source": LocalSource(kind="local", path=str(checkpoint))})

    with pytest.raises(EquipoiseError, match=rf"^\S+/{kind}: {refusal}[^\n]*$"):
        export.export("tiny", entry, tmp_path, tmp_path / "store", PROBES)
    assert not (tmp_path / "store").exists()


def test_a_gguf_file_without_a_tensor_is_refused(tiny_model: Exported, tmp_path: Path) -> None:
    """One part of a split file, whose other tensors transformers would initialise at random, is named."""
    whole = ggufs.write(tmp_path / "whole.gguf", leave_out="blk.0.ffn_down.weight")
    source = LocalSource(kind="local", path=str(whole), sha256=jsonl.sha256(whole))
    entry = tiny_model.entry.model_copy(update={"source": source})

    with pytest.raises(EquipoiseError, match=r"whole\.gguf: weights missing: .*layers\.0\.mlp\.down_proj\.weight \(1 "):
        export.export("tiny", entry, tmp_path, tmp_path / "store", PROBES)
    assert not (tmp_path / "store").exists()


def test_the_manifest_of_exported_weights_has_no_part_of_a_server(tiny_model: Exported, tmp_path: Path) -> None:
    """Its file holds what an export made, and reads back as it was; the agreement is not part of its identity."""
    manifest = tiny_model.manifest
    jsonl.write_json(tmp_path / "manifest.json", manifest.written())

    assert {"backend", "settings"}.isdisjoint(manifest.written())
    assert jsonl.read_one(tmp_path / "manifest.json", Manifest) == manifest
    assert manifest.model_copy(update={"fidelity": None}).identity == manifest.identity
    assert manifest.model_copy(update={"files": {}}).identity != manifest.identity


def server(**more: str) -> ApiEntry:
    """Build the entry of a server."""
    return ApiEntry(
        title="A server",
        licence="none",
        backend="openai",
        base_url="http://x/v1",
        model="m",
        key_env="SOME_KEY",
        generation=Generation(reasoning_tokens=1, answer_tokens=1),
        **more,
    )


def test_a_server_is_described_and_not_exported(tmp_path: Path) -> None:
    """Nothing is written to the store: neither weights nor files belong to it."""
    entry = server()
    manifest = export.prepare("some", entry, tmp_path, tmp_path / "store", ())

    assert manifest.written() == {
        "model": "some",
        "backend": "openai",
        "repo": "http://x/v1",
        "revision": "m",
        "licence": "none",
        "settings": entry.settings,
    }
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("folded", [False, True])
def test_a_server_whose_template_has_no_system_role_is_described_so(tmp_path: Path, *, folded: bool) -> None:
    """A template that an entry names decides it, as that of exported weights does; the server writes what begins."""
    refusal = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}" if folded else ""
    (tmp_path / "chat.jinja").write_text(f"{refusal}{{{{ bos_token + '' }}}}{templates.chatml()}", encoding="utf-8")

    assert export.describe("some", server(template="chat.jinja"), tmp_path).system_in_user is folded


def test_what_a_killed_export_left_is_removed_at_the_next(tmp_path: Path) -> None:
    """The folder of a process that was killed goes; that of one that still exports stays, and so do finished ones."""
    code = "import time; from pathlib import Path; from equipoise.models.export import new_folder"
    work = (
        f"{code}\nwith new_folder(Path(), 'one') as made:\n    print(made.parent.name, flush=True)\n    time.sleep(600)"
    )
    start = partial(subprocess.Popen, [sys.executable, "-c", work], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    with start() as killed, start() as running:
        assert killed.stdout is not None
        assert running.stdout is not None
        dead, live = (tmp_path / child.stdout.readline().strip() for child in (killed, running))
        killed.kill()
        killed.wait()
        stale = leftovers(tmp_path)
        with new_folder(tmp_path, "finished"):
            pass
        left = sorted(path.name for path in tmp_path.iterdir())
        running.kill()

    assert stale == [dead]
    assert left == sorted([live.name, "finished"])


def test_answers_are_labelled_with_the_versions_that_compute_them() -> None:
    """A manifest of another version is refused, so that it never vouches for new answers."""
    manifest = Manifest(model="some", repo="r", revision="1", licence="x", versions=versions(COMPUTING))
    require_versions(manifest)
    old = manifest.model_copy(update={"versions": {**manifest.versions, "tokenizers": "0.1"}})
    with pytest.raises(
        EquipoiseError, match=r"some was prepared with tokenizers 0\.1, here it is .*: export the model"
    ):
        require_versions(old)
    gone = manifest.model_copy(update={"versions": {"vllm": "0.23"}})
    with pytest.raises(EquipoiseError, match=r"vllm 0\.23, here it is not installed"):
        require_versions(gone)


def test_another_exporter_keeps_the_answers_of_the_same_files() -> None:
    """It is stated in the manifest; the cache's keys depend on the exported files and on what runs them."""
    made = {"folder": "some-1", "files": {"model.onnx": "0"}, "versions": {"a": "1"}}
    manifest = Manifest(model="some", repo="r", revision="1", licence="x", **made)
    upgraded = manifest.model_copy(update={"exporters": {"optimum": "2.2"}, "folder": "some-2"})

    assert upgraded.identity == manifest.identity
    assert upgraded.written()["exporters"] == {"optimum": "2.2"}
    assert manifest.model_copy(update={"versions": {"a": "2"}}).identity != manifest.identity
    assert manifest.model_copy(update={"files": {"model.onnx": "1"}}).identity != manifest.identity


def test_what_differs_by_machine_is_not_tracked() -> None:
    """The largest difference of logits has other digits on another processor, where answers are the same."""
    fidelity = Fidelity(probes=2, letters=1, tokens=1, max_abs_logit=0.001)
    manifest = Manifest(model="some", repo="r", revision="1", licence="x", fidelity=fidelity)

    assert manifest.tracked()["fidelity"] == {"probes": 2, "letters": 1.0, "tokens": 1.0}
    assert manifest.written()["fidelity"]["max_abs_logit"] == 0.001
