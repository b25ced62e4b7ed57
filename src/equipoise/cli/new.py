"""`equipoise new model` and `new city`: commented files to start from."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from equipoise.cli import servers, sources
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.printing import AsJson
from equipoise.core.starter import Name, filled, make, named, quoted, tell
from equipoise.core.visible import line
from equipoise.materials import cities
from equipoise.models import registry
from equipoise.models.readiness import LOOPBACK
from equipoise.studies.registry import STUDIES

STARTERS = Path(__file__).parent / "starters"
WITHOUT = "a server without likelihoods stops that run before its first prompt; then"
DEFAULTS = "title, source, parameters, licence"
"""What to edit in an entry that names the default model's weights."""


def new_model(
    name: Name,
    *,
    hub: Annotated[
        str | None, typer.Option(help="Use weights from the Hugging Face Hub.", metavar="OWNER/NAME")
    ] = None,
    folder: Annotated[
        str | None, typer.Option(help="Use weights in a local folder, in transformers format.", metavar="FOLDER")
    ] = None,
    gguf: Annotated[str | None, typer.Option(help="Use weights in a local GGUF file.", metavar="FILE")] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="Use a server: ollama, llama.cpp, lmstudio or vllm, or the URL of any with OpenAI's chat completions "
            "API.",
            metavar="SERVER",
        ),
    ] = None,
    served: Annotated[str, typer.Option("--model", help="Name of the model on the server (with --server).")] = "",
    url: Annotated[str, typer.Option(help="Address of the server, with /v1, if it is not the usual one.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create a registry entry for a model; by default it names the embedded weights, which run at once.

    For saved outputs, use equipoise import outputs.
    """
    given = {"--hub": hub, "--folder": folder, "--gguf": gguf, "--server": server}
    if len([value for value in given.values() if value is not None]) > 1:
        raise EquipoiseError(f"several sources: give one of {', '.join(given)}")
    if (served or url) and server is None:
        raise EquipoiseError("--model and --url need --server: add it")
    path = Path(registry.FOLDER) / f"{named(name)}.yaml"
    run = f"dvc exp run -S model={name}"
    runs, otherwise = ["equipoise models", run], []
    if server is not None:
        values = _of_server(server, served, url)
        text = filled(STARTERS / "server.yaml", name=name, licence="EDIT: its terms", **values)
        edits = "licence" if values["key"] == "null" else "licence, key_env"
        otherwise = [WITHOUT, f"{run} {_generating()}"]
    else:
        weights = _weights(hub, folder, gguf)
        text = filled(STARTERS / "model.yaml", name=name, longest=min(weights.context, 2048), **weights._asdict())
        unread = "licence" if sources.UNKNOWN in weights.licence else "reasoning"
        edits = "licence, parameters, context" if hub else unread if folder or gguf else DEFAULTS
        # The run finds the commit that is pinned.
        runs += [f"equipoise models pin {name}"] if hub else []
    make({path: text}, lambda: registry.load_entry(name, Path()))
    tell({path: 1}, edits, runs, "docs/howto/model.md", as_json=as_json, otherwise=otherwise)


def new_city(name: Name, *, as_json: AsJson = False) -> None:
    """Add a city to data/cities.yaml, with figures and sources to replace."""
    text = jsonl.read_text(cities.FILE)
    if named(name) in cities.load_cities():
        raise EquipoiseError(f"{cities.FILE}: the city {name} already exists: edit it, or choose another name")
    block = filled(STARTERS / "city.yaml", name=name, title=name.replace("_", " ").title())
    make({cities.FILE: text.rstrip("\n") + "\n" + block}, cities.load_cities, before=text)
    read = cities.FILE.as_posix()
    measured = (f"measure@{name}" for name, study in STUDIES.items() if read in study.reads["measure"])
    run = f"dvc repro {' '.join(measured)}"
    tell({cities.FILE: 1}, f"every figure and source of {name}", [run], "docs/howto/city.md", as_json=as_json)


def _weights(hub: str | None, folder: str | None, gguf: str | None) -> sources.Weights:
    """Describe the weights of the one source that is given, or else the default ones."""
    if hub is not None:
        return sources.of_hub(hub)
    if folder is not None:
        return sources.of_folder(folder)
    return sources.embedded() if gguf is None else sources.of_gguf(gguf)


def _of_server(server: str, model: str, url: str) -> dict[str, str]:
    """Give the values of a server's entry; one that is known by name is asked for its models."""
    if not server.startswith(("http://", "https://")):
        place = servers.address(server, url)
        model = servers.require_model(server, place, model)
        key = "null"
    else:
        if url or not model:
            raise EquipoiseError("--server with a URL: name its model with --model, and leave out --url")
        try:
            place, key = servers.base(server), "null" if urlsplit(server).hostname in LOOPBACK else "OPENAI_API_KEY"
        except ValueError as error:
            raise EquipoiseError(f"--server {line(server)}: no address ({error}): correct it") from error
    shown = quoted(model)
    return {"url": quoted(place), "model": shown, "title": shown, "key": key}


def _generating() -> str:
    """Give the options of a run by a model that returns no likelihoods: the studies that can do without."""
    needs = {name: study.likelihoods for name, study in STUDIES.items() if study.likelihoods}
    generated = {name: need for name, need in needs.items() if need.other == "generate"}
    settings = (f"-S {need.section}.{need.field}={need.other}" for need in generated.values())
    return f"{' '.join(settings)} -S 'studies=[{','.join(generated)}]'"
