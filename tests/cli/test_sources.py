"""Tests of `equipoise new model` with a folder, a GGUF file and a server: what it reads, writes and refuses."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import gguf
import numpy as np
import pytest
from typer.testing import CliRunner

import families
import ggufs
import projects
import talks
from equipoise.backends.ask import open_backend
from equipoise.cli import servers
from equipoise.cli.app import app
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.models import registry
from equipoise.models.export import describe, export
from equipoise.models.registry import ApiEntry, OnnxEntry, TorchEntry
from equipoise.models.weights import locate
from hubs import send
from loopback import Loopback

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

    from typer.testing import Result


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file."""
    return ggufs.write(tmp_path_factory.mktemp("weights") / "tiny.gguf")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy of the project."""
    monkeypatch.chdir(projects.copy(tmp_path / "project"))
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return tmp_path / "project"


def new(*words: str) -> Result:
    """Create the entry `mine`."""
    return CliRunner().invoke(app, ["new", "model", "mine", *words], prog_name="equipoise", catch_exceptions=False)


def refusal(*words: str) -> str:
    """Give the one line with which a command is refused; it writes nothing."""
    done = new(*words)

    assert done.exit_code == 1
    assert not Path("models/mine.yaml").exists()
    assert "\n" not in str(done.exception)
    return str(done.exception)


class ModelServer(Loopback):
    """A server that lists models, as the known ones do."""

    def __init__(self, *models: str, body: bytes | None = None) -> None:
        """Take the models' names, or anything else that it answers."""
        super().__init__()
        listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in models]}
        self._body = body or json.dumps(listed).encode()
        self.asked: list[str] = []

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer any request with the list."""
        self.asked.append(handler.path)
        send(handler, self._body)


def test_a_gguf_file_is_a_model_of_any_backend(project: Path, weights: Path) -> None:
    """Its entry has what the file says of it; in torch it answers as transformers does with the same file."""
    shutil.copy(weights, project / "tiny.gguf")
    done = new("--gguf", "tiny.gguf")
    entry = registry.load_entry("mine", project)
    assert isinstance(entry, OnnxEntry)
    fields = entry.model_dump() | {"backend": "torch", "dtype": "float32", "device_map": "cpu"}
    in_torch = TorchEntry.model_validate(
        {name: fields[name] for name in fields.keys() & TorchEntry.model_fields.keys()}
    )
    located = locate(in_torch, project)
    with open_backend(describe("mine", in_torch, project), in_torch, project, batch_size=3) as backend:
        answers = {response.key: response for response in backend.answer(talks.PROMPTS[:4])}
    reference = talks.Reference.load(project, entry.generation, gguf_file="tiny.gguf")

    assert "edit next: reasoning (docs/howto/model.md)" in done.stdout
    assert (entry.title, entry.licence, entry.context) == ("Tiny", "apache-2.0", 8192)
    assert entry.attention == registry.Attention(layers=2, kv_heads=2, head_size=16)
    assert (located.gguf, located.files) == ("tiny.gguf", {"tiny.gguf": jsonl.sha256(weights)})
    # Q8_0 has 34 bytes for 32 numbers; the metadata and the vectors in 32 bits come on top.
    assert entry.bytes_per_parameter > 34 / 32
    for asked in talks.PROMPTS[:4]:
        _, scores = reference.converse(asked)
        assert scores == pytest.approx(answers[asked.key].log_likelihood, abs=1e-4)


def test_a_gguf_file_is_exported(project: Path, weights: Path, tmp_path: Path) -> None:
    """As its entry says: the graph gives the letters and tokens that torch gives with the same file."""
    shutil.copy(weights, project / "tiny.gguf")
    new("--gguf", "tiny.gguf")
    entry = registry.load_entry("mine", project)
    assert isinstance(entry, OnnxEntry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        manifest = export("mine", entry, project, tmp_path / "store", ("Which vitamin prevents scurvy?",))

    assert manifest.fidelity
    assert (manifest.fidelity.letters, manifest.fidelity.tokens) == (1.0, 1.0)
    assert manifest.weights == {"tiny.gguf": jsonl.sha256(weights)}


def test_another_file_than_the_entrys_is_refused(project: Path, weights: Path) -> None:
    """One line names the file, and the fields to correct."""
    shutil.copy(weights, project / "tiny.gguf")
    new("--gguf", "tiny.gguf")
    entry = registry.load_entry("mine", project)
    assert isinstance(entry, OnnxEntry)
    with (project / "tiny.gguf").open("ab") as file:
        file.write(b"more")

    with pytest.raises(EquipoiseError, match=r"weights altered: \S+tiny\.gguf: checksum .*correct source\.path and"):
        locate(entry, project)
    (project / "tiny.gguf").unlink()
    with pytest.raises(EquipoiseError, match=r"weights missing: \S+tiny\.gguf: correct source\.path"):
        locate(entry, project)


@pytest.mark.parametrize(
    ("path", "checksum"), [("weights/mine.gguf", None), ("weights/mine", "0" * 64)], ids=["file", "folder"]
)
def test_a_file_has_a_checksum_and_a_folder_has_none(path: str, checksum: str | None) -> None:
    """A GGUF file that anyone could exchange is not a source."""
    with pytest.raises(ValueError, match="a GGUF file needs the field sha256, and a folder has none"):
        registry.LocalSource(kind="local", path=path, sha256=checksum)


@pytest.mark.usefixtures("project")
def test_what_is_no_usable_gguf_file_is_refused(weights: Path, tmp_path: Path) -> None:
    """One line each: another kind of file, a part of one, no file, tensors or a model that cannot be loaded."""
    other, part, packed, unknown = (tmp_path / f"{name}.gguf" for name in ("other", "part", "packed", "unknown"))
    other.write_bytes(b"PK\x03\x04")
    part.write_bytes(weights.read_bytes()[:-3000])
    shutil.copy(weights, packed)
    # No file of this type, which gguf has for its own computations, is unpacked.
    ggufs.retype(packed, gguf.GGMLQuantizationType.Q8_1)
    shutil.copy(weights, unknown)
    ggufs.retype(unknown, 199)
    bare = ggufs.write(tmp_path / "bare.gguf", template=False)
    granite = ggufs.write(tmp_path / "granite.gguf", architecture="granite")

    assert "other.gguf: is not a GGUF file: give one, or a checkpoint's folder" in refusal("--gguf", str(other))
    assert refusal("--gguf", str(part)).endswith("part.gguf: is damaged or incomplete: download it again")
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "pipe.gguf: not a regular file: save what it gives" in refusal("--gguf", str(tmp_path / "pipe.gguf"))
    assert "gone.gguf: cannot be read (No such file" in refusal("--gguf", str(tmp_path / "gone.gguf"))
    assert "a tensor's type is not supported (Q8_1): take a file of" in refusal("--gguf", str(packed))
    assert "a tensor's type is not supported (number 199): take a file of" in refusal("--gguf", str(unknown))
    assert "bare.gguf: has no chat template: choose a model" in refusal("--gguf", str(bare))
    assert "does not load granite models from GGUF files: serve it" in refusal("--gguf", str(granite))


@pytest.mark.usefixtures("project")
def test_a_gguf_file_with_faulty_metadata_is_refused(weights: Path, tmp_path: Path) -> None:
    """One line each: a name not in UTF-8, no tensors, sizes that are lists, one part of several, another suffix."""
    names = ("broken", "empty", "lists", "split", "projector")
    broken, empty, lists, split, projector = (tmp_path / f"{name}.gguf" for name in names)
    broken.write_bytes(weights.read_bytes().replace(b"Tiny", b"T\xff\xfey", 1))
    _bare(empty, tensors=0)
    _bare(lists, context_length=[1, 2])
    _bare(split, tensors=0, split_count=2)
    _bare(projector, holds="mmproj")
    renamed = shutil.copy(weights, tmp_path / "model.bin")

    assert "broken.gguf: its metadata are malformed: download it again" in refusal("--gguf", str(broken))
    assert refusal("--gguf", str(empty)).endswith("empty.gguf: is damaged or incomplete: download it again")
    assert "lists.gguf: its metadata are malformed: download it again" in refusal("--gguf", str(lists))
    assert "split.gguf: is one of 2 parts: join them with `llama-gguf-split --merge`" in refusal("--gguf", str(split))
    assert "projector.gguf: holds no whole model (its type is mmproj): give" in refusal("--gguf", str(projector))
    assert "model.bin: its name does not end with .gguf: rename it" in refusal("--gguf", str(renamed))


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("kind", ["qwen3moe", "gpt-oss"])
def test_a_kind_of_model_goes_by_the_name_of_llama_cpp(tmp_path: Path, kind: str) -> None:
    """Transformers loads these, and calls them qwen3_moe and gpt_oss."""
    _bare(tmp_path / "experts.gguf", architecture=kind)

    assert new("--gguf", str(tmp_path / "experts.gguf")).exit_code == 0


def _bare(
    path: Path,
    *,
    architecture: str = "llama",
    context_length: object = 64,
    split_count: int = 1,
    tensors: int = 1,
    holds: str = "model",
) -> None:
    """Write a GGUF file of a Llama, or another kind, with a few numbers or none."""
    made = gguf.GGUFWriter(path, architecture)
    made.add_type(holds)
    made.add_chat_template("{{ messages }}")
    made.add_key_value("llama.context_length", context_length, _kind(context_length))
    made.add_key_value("split.count", split_count, gguf.GGUFValueType.UINT16)
    for number in range(tensors):
        made.add_tensor(f"{number}.weight", np.zeros((4, 32), np.float32))
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()


def _kind(value: object) -> gguf.GGUFValueType:
    return gguf.GGUFValueType.ARRAY if isinstance(value, list) else gguf.GGUFValueType.UINT32


@pytest.mark.usefixtures("project")
def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    """A safetensors file that was cut off is named."""
    folder = families.build(tmp_path / "mine", "qwen2_5_0_5b")
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])

    assert refusal("--folder", str(folder)).endswith("model.safetensors: is damaged or incomplete: download it again")


def test_sizes_that_differ_by_layer_are_left_out(project: Path, tmp_path: Path) -> None:
    """Some configurations list the heads of each layer; the entry has no sizes then, and is valid."""
    folder = families.build(tmp_path / "mine", "qwen2_5_0_5b")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"num_attention_heads": [4, 2]}), encoding="utf-8")
    new("--folder", str(folder))
    entry = registry.load_entry("mine", project)

    assert isinstance(entry, OnnxEntry)
    assert entry.attention is None


def test_any_name_is_written_as_valid_yaml(project: Path, weights: Path, tmp_path: Path) -> None:
    """YAML has no pairs of surrogates, as which JSON escapes an emoji; quotes and line breaks are escaped."""
    path = shutil.copy(weights, tmp_path / 'a "b" \U0001fa7a é\n.gguf')
    new("--gguf", str(path))
    entry = registry.load_entry("mine", project)

    assert isinstance(entry, OnnxEntry)
    assert isinstance(entry.source, registry.LocalSource)
    assert entry.source.path == str(path)


@pytest.mark.parametrize("source", ["--hub", "--folder", "--gguf", "--server"])
@pytest.mark.usefixtures("project")
def test_an_empty_source_is_not_the_default_one(source: str) -> None:
    """A variable of the shell that is unset must not register the embedded model under another name."""
    assert refusal(source, "")


@pytest.mark.usefixtures("project")
def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    """One line each: no configuration, no chat template."""
    folder = families.build(tmp_path / "mine", "qwen2_5_0_5b")
    (folder / "chat_template.jinja").unlink()
    bare = refusal("--folder", str(folder))
    (folder / "config.json").unlink()

    assert "mine: has no chat template: choose a model tuned to follow instructions" in bare
    assert "mine: holds no config.json: give the folder of a checkpoint" in refusal("--folder", str(folder))


@pytest.mark.parametrize(("name", "backend"), [("gemma3_4b", "torch"), ("granite4_1b", "onnx"), ("olmo2_1b", "torch")])
def test_a_folder_says_what_runs_it(project: Path, tmp_path: Path, name: str, backend: str) -> None:
    """Small models are exported if they can be; the sizes are those of the part that reads text."""
    families.build(tmp_path / "mine", name)
    new("--folder", str(tmp_path / "mine"))
    entry = registry.load_entry("mine", project)
    assert isinstance(entry, OnnxEntry | TorchEntry)

    assert entry.backend == backend
    assert entry.attention is not None
    assert (entry.attention.layers, entry.attention.kv_heads) == (2, 2)


@pytest.mark.parametrize("server", servers.SERVERS)
def test_a_known_server_needs_no_address(project: Path, monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    """Its models are asked for, and its entry has its address and no key; the only model need not be named."""
    with ModelServer("tiny:1b") as serving:
        known = servers.SERVERS[server]._replace(url=f"{serving.address}/v1")
        monkeypatch.setitem(servers.SERVERS, server, known)
        done = new("--server", server)
    entry = registry.load_entry("mine", project)
    assert isinstance(entry, ApiEntry)

    assert done.exit_code == 0
    assert serving.asked == ["/v1/models"]
    assert (entry.base_url, entry.model, entry.key_env) == (known.url, "tiny:1b", None)
    assert done.stdout.splitlines()[-5:-1] == [
        "  equipoise check",
        "  equipoise models",
        "  dvc exp run -S model=mine",
        "a server without likelihoods stops that run before its first prompt; then:",
    ]
    assert done.stdout.splitlines()[-1].startswith("  dvc exp run -S model=mine -S score.answering=generate ")


@pytest.mark.usefixtures("project")
def test_a_known_server_at_another_address_is_asked_there() -> None:
    """As --url says; of several models one is named, which the server must have."""
    with ModelServer("tiny:1b", "tiny:3b") as serving:
        place = ("--server", "ollama", "--url", f"{serving.address}/v1/")
        unnamed, misnamed = refusal(*place), refusal(*place, "--model", "tiny:2b")
        done = new(*place, "--model", "tiny:3b")

    assert unnamed.endswith("give --model: it has tiny:1b, tiny:3b")
    assert "it has no model 'tiny:2b': did you mean 'tiny:" in misnamed
    assert misnamed.endswith("it has tiny:1b, tiny:3b")
    assert done.exit_code == 0


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("server", servers.SERVERS)
def test_a_server_that_does_not_answer_is_named_with_its_start(server: str) -> None:
    """One line has its address and the command that starts it."""
    with ModelServer() as serving:
        gone = f"{serving.address}/v1"
    told = refusal("--server", server, "--url", gone, "--model", "tiny")

    assert f"{gone}: no {server} answers there (" in told
    assert f"start it with `{servers.SERVERS[server].start}`, or give its address as --url" in told


@pytest.mark.usefixtures("project")
def test_a_server_without_models_and_one_of_another_kind_are_refused() -> None:
    """One line each says what to do."""
    with ModelServer() as empty, ModelServer(body=b"<html>") as other:
        none = refusal("--server", "ollama", "--url", f"{empty.address}/v1", "--model", "tiny")
        web = refusal("--server", "ollama", "--url", other.address, "--model", "tiny")

    assert none.endswith("it has no model 'tiny': it has none: load one first")
    assert web.endswith("it lists no models: give the address of ollama, with /v1")


class Refusing(Loopback):
    """A server that answers every request with a status."""

    def __init__(self, status: int) -> None:
        """Take the status."""
        super().__init__()
        self._status = status

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Refuse any request."""
        send(handler, b"{}", self._status)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "it needs a key"),
        (403, "it needs a key"),
        (404, "give the address of vllm's API, which ends with /v1"),
        (500, "vllm does not list its models"),
    ],
)
def test_a_server_that_refuses_is_not_said_to_be_away(status: int, told: str) -> None:
    """What answers is started: it lacks a key, a path, or has a fault of its own."""
    with Refusing(status) as serving:
        line = refusal("--server", "vllm", "--url", serving.address)

    assert told in line
    assert "start it" not in line
    assert ("key_env" in line) is (status in (401, 403))
