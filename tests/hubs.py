"""A server on the loopback interface that speaks the Hugging Face Hub's API, with faults on request."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from loopback import Loopback

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

COMMIT = "c0ffee" * 6 + "c0de"
Fault = Literal[
    "gated_401",
    "gated_403",
    "forbidden",
    "token",
    "private",
    "absent",
    "no_commit",
    "half",
    "longer",
    "shorter",
    "damaged",
    "silent",
    "stalls",
    "busy",
    "broken",
    "no_hub",
    "page",
]
LARGE = (".safetensors", ".bin", ".gguf")
"""Files that the hub keeps as large ones: under their sha256, at another address."""


@dataclass
class Repository:
    """A repository of the hub: its files, its newest commit and its faults, each met as often as it is listed.

    A fault that is listed once is met at every request until it is taken out, except those of a transfer (`half`,
    `longer`, `shorter`, `damaged`), which are met once each.
    """

    files: dict[str, bytes]
    commit: str = COMMIT
    faults: list[Fault] = field(default_factory=list)


class LoopbackHub(Loopback):
    """The hub. `asked` lists every request: its method, its path and its range, if any."""

    def __init__(self) -> None:
        """Begin without repositories."""
        self.repositories: dict[str, Repository] = {}
        super().__init__()
        self.asked: list[tuple[str, str, str | None]] = []

    def serve(self, repo: str, folder: Path, *faults: Fault, commit: str = COMMIT) -> Repository:
        """Serve the files of a folder as a repository."""
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
        self.repositories[repo] = Repository(files, commit, list(faults))
        return self.repositories[repo]

    @property
    def url(self) -> str:
        """The address, as HF_ENDPOINT has it."""
        return self.address

    def use(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        """Let the client of this process use this hub and an empty cache, and not rest between its attempts."""
        from types import SimpleNamespace

        from huggingface_hub import constants, file_download
        from huggingface_hub.utils import _http

        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HF_TOKEN"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("NO_PROXY", "*")
        monkeypatch.setattr(constants, "ENDPOINT", self.url)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
        template = "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", self.url + template)
        for module in (file_download, _http):
            monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda _: None, time=lambda: 0.0))
        _http.close_session()

    def paths(self, method: str = "GET") -> list[str]:
        """List the paths that were asked for."""
        return [path for how, path, _ in self.asked if how == method]

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        path = unquote(handler.path.partition("?")[0])
        self.asked.append((handler.command, path, handler.headers.get("Range")))
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"] and parts[4:5] == ["tree"]:
            self._list(handler, self.repositories["/".join(parts[2:4])])
        elif parts[:2] == ["api", "models"]:
            self._tell(handler, "/".join(parts[2:4]), parts[5] if parts[4:5] == ["revision"] else "main")
        elif parts[0] == "cdn":
            self._send_large(handler, self.repositories["/".join(parts[1:3])], parts[3])
        else:
            self._give(handler, "/".join(parts[:2]), parts[3], "/".join(parts[4:]))

    def _tell(self, handler: BaseHTTPRequestHandler, name: str, revision: str) -> None:
        """Tell of a repository and its files at a commit."""
        repository = self.repositories.get(name)
        faults = repository.faults if repository else ["absent"]
        if "silent" in faults:
            self.released.wait()
        elif "absent" in faults or repository is None:
            refuse(handler, 401, "RepoNotFound", "Repository not found")
        elif "no_commit" in faults or revision not in ("main", repository.commit):
            refuse(handler, 404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif {"token", "private"} & {*faults}:
            refuse(handler, 401, "", "Invalid credentials in Authorization header")
        elif "busy" in faults:
            refuse(handler, 429, "", "Too many requests")
        elif "broken" in faults:
            refuse(handler, 503, "", "Service unavailable")
        elif "no_hub" in faults:
            send(handler, b'{"id": "some/model", "siblings": []}')
        elif "page" in faults:
            send(
                handler,
                b"<!doctype html><title>Log in to the guest network</title>",
                headers={"Content-Type": "text/html"},
            )
        else:
            told: dict[str, Any] = {"_id": name, "id": name, "modelId": name, "sha": repository.commit}
            send(handler, json.dumps(told | {"private": False, "siblings": []}).encode())

    def _list(self, handler: BaseHTTPRequestHandler, repository: Repository) -> None:
        """List the files of a repository with sizes and checksums: for a large one, the sha256 of its content."""
        listed = []
        for name, content in [*repository.files.items(), ("README.md", b"")]:
            large = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
            about = {"type": "file", "path": name, "size": len(content), "oid": blob_id(content)}
            listed.append(about | ({"lfs": large} if name.endswith(LARGE) else {}))
        send(handler, json.dumps(listed).encode(), headers={"Content-Type": "application/json"})

    def _give(self, handler: BaseHTTPRequestHandler, name: str, commit: str, file: str) -> None:
        """Give a file at a commit: a small one as it is, for a large one its address and its checksum."""
        repository = self.repositories.get(name)
        if repository is None:
            refuse(handler, 401, "RepoNotFound", "Repository not found")
            return
        refused = {"gated_401": (401, "GatedRepo"), "gated_403": (403, "GatedRepo"), "forbidden": (403, "")}
        for fault, (status, code) in refused.items():
            if fault in repository.faults:
                refuse(handler, status, code, "Access is restricted")
                return
        content = repository.files.get(file)
        if commit not in ("main", repository.commit) or content is None:
            refuse(handler, 404, "EntryNotFound", "Entry not found")
        elif file.endswith(LARGE):
            digest = hashlib.sha256(content).hexdigest()
            # On another host, as the hub has it: the client follows redirects on the same host before it reads headers.
            elsewhere = self.url.replace("127.0.0.1", "localhost")
            place = {"Location": f"{elsewhere}/cdn/{name}/{file}", "X-Repo-Commit": repository.commit}
            send(handler, b"", 302, place | {"X-Linked-ETag": f'"{digest}"', "X-Linked-Size": str(len(content))})
        else:
            send(handler, content, 200, {"ETag": f'"{blob_id(content)}"', "X-Repo-Commit": commit})

    def _send_large(self, handler: BaseHTTPRequestHandler, repository: Repository, file: str) -> None:
        """Send a large file, or the rest of it that is asked for, with the repository's next fault."""
        content = repository.files[file]
        if "stalls" in repository.faults:
            self.released.wait()
            return
        fault = next((kind for kind in ("half", "longer", "shorter", "damaged") if kind in repository.faults), None)
        if fault:
            repository.faults.remove(fault)
        match fault:
            case "longer":
                content += b"more"
            case "shorter":
                content = content[:-4]
            case "damaged":
                content = content[:-1] + bytes([content[-1] ^ 1])
        start = int((handler.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if start >= len(content):
            refuse(handler, 416, "", "Range not satisfiable")
            return
        part = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        half = len(content) // 2 if fault == "half" else None
        send(handler, content[start:], 206 if start else 200, part, upto=half)


def blob_id(content: bytes) -> str:
    """Return the name that Git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def refuse(handler: BaseHTTPRequestHandler, status: int, code: str, message: str) -> None:
    """Send an error as the hub does: its code and message are headers."""
    body = json.dumps({"error": message}).encode()
    send(handler, body, status, {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {}))


def send(
    handler: BaseHTTPRequestHandler,
    body: bytes,
    status: int = 200,
    headers: dict[str, str] | None = None,
    *,
    upto: int | None = None,
) -> None:
    """Send a body, or its beginning and then nothing more."""
    handler.send_response(status)
    for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body[:upto])
    if upto is not None:
        handler.close_connection = True
