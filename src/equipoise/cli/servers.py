"""Servers whose address `equipoise new model` knows, and the models that they list below `/models`."""

import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from equipoise.core.display import few
from equipoise.core.errors import EquipoiseError, nearest, one_line
from equipoise.core.visible import line

PATIENCE = 10.0
"""Seconds to wait for a server's list."""
LARGEST = 2**20
"""Most bytes of a list that are read."""


CALLS = ("/chat/completions", "/completions", "/models", "/responses")
"""Ends of addresses at which a server is called, which follow that of its API."""
NEEDS_KEY = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class Known(NamedTuple):
    """A server: its address by default, and the command that starts it."""

    url: str
    start: str


SERVERS = {
    # It cuts prompts, without an error, at a length of its own.
    "ollama": Known("http://localhost:11434/v1", "OLLAMA_CONTEXT_LENGTH=8192 ollama serve"),
    "lmstudio": Known("http://localhost:1234/v1", "lms server start"),
    # The context is divided among the parallel requests.
    "llama.cpp": Known("http://localhost:8080/v1", "llama-server -m FILE.gguf --parallel 8 --ctx-size 65536"),
    "vllm": Known("http://localhost:8000/v1", "vllm serve OWNER/NAME"),
}


class _Listed(BaseModel):
    """A model in a server's list."""

    id: str


class _List(BaseModel):
    """A server's list of its models."""

    data: list[_Listed]


def address(server: str, url: str) -> str:
    """Give the address of a known server, its own or a given one."""
    if server not in SERVERS:
        raise EquipoiseError(f"--server {line(server)}: give one of {', '.join(SERVERS)}, or the URL of another server")
    chosen = url or SERVERS[server].url
    if not chosen.startswith(("http://", "https://")):
        raise EquipoiseError(f"--url {line(chosen)}: give an address that begins with http:// or https://")
    return base(chosen)


def base(url: str) -> str:
    """Give the address of a server's API, without the path of one of its calls."""
    trimmed = url.rstrip("/")
    return next((trimmed.removesuffix(call).rstrip("/") for call in CALLS if trimmed.endswith(call)), trimmed)


def require_model(server: str, url: str, model: str) -> str:
    """Return the model to ask a known server for: the given one, or the only one that it has.

    Raises:
        EquipoiseError: The server does not answer, or has other models.
    """
    models = _list(server, url)
    if model in models or (len(models) == 1 and not model):
        return model or models[0]
    shown = [*map(line, models)]
    told = f"it has no model {line(model)!r}: {nearest(model, shown)}" if model else "give --model: "
    has = few(shown, 20) if shown else "none: load one first"
    raise EquipoiseError(f"{line(url)}: {told}it has {has}")


def _list(server: str, url: str) -> list[str]:
    # A proxy does not reach the servers of this machine and its network.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/models", timeout=PATIENCE) as answer:
            listed = _List.model_validate_json(answer.read(LARGEST))
    except ValidationError as error:
        raise EquipoiseError(f"{line(url)}: it lists no models: give the address of {server}, with /v1") from error
    except urllib.error.HTTPError as error:
        with error:  # which holds the connection
            raise EquipoiseError(f"{line(url)}: {_refused(server, url, error)}") from error
    except (OSError, HTTPException, ValueError) as error:
        start = f"start it with `{SERVERS[server].start}`, or give its address as --url"
        raise EquipoiseError(f"{line(url)}: no {server} answers there ({one_line(error)}): {start}") from error
    return [model.id for model in listed.data]


def _refused(server: str, url: str, error: urllib.error.HTTPError) -> str:
    """Say what to do where a server answers, and does not list its models."""
    if error.code in NEEDS_KEY:
        return (
            f"it needs a key ({one_line(error)}): name the model too, with --server {line(url)} --model MODEL, and set "
            "key_env in the new file to the variable that has the key"
        )
    if error.code == HTTPStatus.NOT_FOUND:
        return f"it lists no models there ({one_line(error)}): give the address of {server}'s API, which ends with /v1"
    return f"{server} does not list its models ({one_line(error)}): mend the server, or give its address as --url"
