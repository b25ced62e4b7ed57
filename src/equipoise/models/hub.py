"""The Hugging Face Hub: the commit of a repository, its files at a commit, and one-line errors.

The hub's client continues a transfer that is cut off. Partial files are stored beside the complete ones under a
different name, and never read. A file whose size or checksum differs from the hub's is removed.
"""

import errno
import json
import logging
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import read_one
from equipoise.core.manifest import Manifest
from equipoise.core.progress import aside
from equipoise.models.registry import ModelEntry, ModelHubSource

E = TypeVar("E", bound=ModelEntry)
PATIENCE = 10.0
"""Seconds to wait for the hub's answer to a request."""
COMMIT, SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
NOT_WHOLE = "Consistency check failed"
"""Beginning of the client's error for a file whose size differs from the announced one."""
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM}
"""Errors of the disk, for which another place of the same file is not a remedy."""
OTHERS = ["*/*"]
"""Files that are not fetched: subfolders contain other formats of the same weights."""
AGAIN = "run again, which continues where it ended"


class HubError(EquipoiseError):
    """The hub does not provide a repository, a commit or a file."""


class UnreachableError(HubError):
    """The hub does not respond."""


def with_last_commit(name: str, entry: E, store: Path) -> E:
    """Return an entry with its own commit, or else the one of its last manifest in `store`, if any."""
    source = unpinned_source(entry)
    revision = last_commit(name, source.repo, store) if source else None
    return pin_commit(entry, revision) if revision else entry


def resolve_commit(name: str, entry: E, store: Path, tell: Callable[[str], object]) -> E:
    """Return a model's entry with a commit: its own, the one last used on this machine, or the hub's current one.

    A commit that does not come from the entry is reported in one line through `tell`.
    """
    source = unpinned_source(entry)
    if source is None:
        return entry
    revision = last_commit(name, source.repo, store) or commit(source.repo)
    fix = f"`equipoise models pin {name}` writes it there"
    tell(f"models/{name}.yaml names no commit: using {source.repo} at {revision} ({fix})")
    return pin_commit(entry, revision)


def last_commit(name: str, repo: str, store: Path) -> str | None:
    """Find the commit at which a model of the registry was last run on this machine, if any."""
    path = store / f"{name}.json"
    if not path.is_file():
        return None
    manifest = read_one(path, Manifest)
    return manifest.revision if manifest.repo == repo and COMMIT.fullmatch(manifest.revision) else None


def unpinned_source(entry: ModelEntry) -> ModelHubSource | None:
    """Return the source of an entry that names a hub repository without a commit; None for any other entry."""
    source = getattr(entry, "source", None)
    return source if isinstance(source, ModelHubSource) and source.revision is None else None


def pin_commit(entry: E, revision: str) -> E:
    """Set the commit of an entry without one; return any other entry unchanged."""
    source = unpinned_source(entry)
    return entry.model_copy(update={"source": source.model_copy(update={"revision": revision})}) if source else entry


def commit(repo: str, revision: str = "main") -> str:
    """Ask the hub for the commit of a repository's branch, or check that a commit exists.

    Raises:
        HubError: The repository or the commit does not exist, or is hidden.
        UnreachableError: The hub does not answer.
    """
    open_client()
    from huggingface_hub import HfApi

    try:
        sha = HfApi().model_info(repo, revision=revision, timeout=PATIENCE).sha or ""
    except Exception as error:
        raise _fault(error, repo, revision) from error
    if not COMMIT.fullmatch(sha):
        raise HubError(f"the Hugging Face Hub names no commit of {repo}: check HF_ENDPOINT")
    return sha


def require_access(repo: str, revision: str, file: str = "config.json") -> None:
    """Refuse a repository to which this account has no access; errors are those of `commit`.

    The hub lists gated models for everyone, but serves their files only to accounts that accepted the terms, so the
    headers of one file are requested.
    """
    open_client()
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    sha = commit(repo, revision)
    try:
        get_hf_file_metadata(hf_hub_url(repo, file, revision=sha), timeout=PATIENCE)
    except Exception as error:
        raise _fault(error, repo, revision) from error


def fetch(repo: str, revision: str, patterns: list[str]) -> Path:
    """Fetch the files of a commit whose names match a pattern, unless present, and return their folder.

    If the hub does not answer, or no longer has the repository, files fetched before are used.

    Raises:
        HubError: A file is not available, or incomplete.
        UnreachableError: The hub does not answer.
    """
    open_client()
    from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download

    try:
        # Asked with a time limit, because the client itself would wait for this answer for ever.
        commit(repo, revision)
    except HubError:
        if here := fetched_folder(repo, revision, patterns):
            return here
        raise
    try:
        with aside():
            # Lists all files where the client looks for what a commit has, so that no part of them seems to be all.
            snapshot_download(repo, revision=revision, allow_patterns=["config.json"], ignore_patterns=OTHERS)
            # One after the other and in this thread: the client's own threads end a file before they heed Ctrl-C.
            for name in HfApi().list_repo_files(repo, revision=revision):
                if "/" not in name and any(fnmatchcase(name, pattern) for pattern in patterns):
                    hf_hub_download(repo, name, revision=revision)
            folder = snapshot_download(repo, revision=revision, allow_patterns=patterns, ignore_patterns=OTHERS)
    except Exception as error:
        if NOT_WHOLE in str(error):
            blobs = Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}" / "blobs"
            for part in blobs.glob("*.incomplete"):
                part.unlink()
        elif here := fetched_folder(repo, revision, patterns):
            return here
        raise _fault(error, repo, revision) from error
    return Path(folder)


def fetch_file(repo: str, name: str, expected: str, partial: Path) -> None:
    """Fetch a file of a repository's current commit, unless the hub announces another sha256.

    What `partial` has of it is continued, which the client does only within a process.

    Raises:
        HubError: The hub does not give the file, or has another.
        UnreachableError: The hub does not answer.
        OSError: The disk is full, or cannot be written.
    """
    open_client()
    from huggingface_hub import get_hf_file_metadata, get_token, hf_hub_url
    from huggingface_hub.file_download import http_get

    try:
        url = hf_hub_url(repo, name)
        about = get_hf_file_metadata(url, timeout=PATIENCE)
        if about.etag == expected:
            # The token is for the hub alone, not for where it keeps large files.
            token = get_token() if urlsplit(about.location).netloc == urlsplit(url).netloc else None
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            with aside(), partial.open("ab") as file:
                if about.size is not None and file.tell() > about.size:
                    file.seek(file.truncate(0))
                if file.tell() != about.size:
                    http_get(about.location, file, resume_size=file.tell(), headers=headers, expected_size=about.size)
            return
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK:
            raise
        if NOT_WHOLE in str(error):
            partial.unlink()
        raise _fault(error, repo, "main") from error
    if about.etag is None:
        raise HubError(f"the hub names no checksum of {repo}'s {name}: check HF_ENDPOINT")
    raise HubError(f"{repo}: checksum mismatch of {name}: expected {expected}, the hub has {about.etag}")


def fetched_folder(repo: str, revision: str, patterns: list[str]) -> Path | None:
    """Find the folder of a commit if all its files that match a pattern were fetched, without asking the hub."""
    open_client()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = snapshot_download(
            repo, revision=revision, allow_patterns=patterns, ignore_patterns=OTHERS, local_files_only=True
        )
    except LocalEntryNotFoundError:
        return None
    return Path(folder)


def require_intact(folder: Path, files: Mapping[str, str]) -> None:
    """Compare the sha256 of files in a fetched folder, by name, with the hub's checksums.

    The client stores a large file under the sha256 announced by the hub, and links to it. A file that differs is
    removed.

    Raises:
        HubError: A file differs.
    """
    for name, actual in files.items():
        blob = (folder / name).resolve()
        if SHA256.fullmatch(blob.name) and blob.name != actual:
            (folder / name).unlink()
            blob.unlink()
            message = f"checksum mismatch: the hub has {blob.name}, here was {actual}, which was removed: run again"
            raise HubError(f"{folder / name}: {message}")


def open_client() -> None:
    """Import the client, which reads its environment, and keep it from reporting every attempt at a transfer.

    Raises:
        HubError: One of its variables is malformed.
    """
    try:
        from huggingface_hub import constants
    except ValueError as error:
        fix = "correct HF_ENDPOINT, HF_HUB_DOWNLOAD_TIMEOUT or HF_HUB_ETAG_TIMEOUT"
        raise HubError(f"the environment's settings of the hub cannot be read ({one_line(error)}): {fix}") from error
    logging.getLogger(f"{constants.__package__}.file_download").setLevel(logging.ERROR)


def _fault(error: Exception, repo: str, revision: str) -> HubError:
    """Convert an error of the hub's client or its transport to one line with the fix."""
    from huggingface_hub import constants, errors

    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        # The client looked for a local copy, and raises an error that there is none.
        error = error.__cause__
    at_commit = f"{repo} at {revision[:12]}"
    match error:
        case errors.GatedRepoError():
            terms = f"accept them at https://huggingface.co/{repo} and set HF_TOKEN"
            return HubError(f"the hub gives {repo} only to accounts that accepted its terms: {terms}")
        case errors.RepositoryNotFoundError():
            return HubError(f"the hub has no {repo}, or hides it from this account: check the id and HF_TOKEN")
        case errors.RevisionNotFoundError():
            return HubError(f"the hub has no {at_commit}: correct the commit in the registry entry")
        case errors.FileMetadataError() | json.JSONDecodeError():
            return HubError(f"{constants.ENDPOINT} does not answer as the Hugging Face Hub does: check HF_ENDPOINT")
    # An error of requests if the client gave up retrying, else one of its own.
    refused = getattr(error, "response", None) is not None
    return _refusal(error, at_commit) if refused else _transfer_fault(error, at_commit)


def _refusal(error: Any, at_commit: str) -> HubError:  # noqa: ANN401  (the client has no types)
    """Explain the status of the hub's answer."""
    from huggingface_hub import get_token

    match status := error.response.status_code:
        case HTTPStatus.UNAUTHORIZED:
            asked, fix = f"gives {at_commit} only with a token", "set HF_TOKEN"
            if get_token():
                asked, fix = "does not accept HF_TOKEN", "set it to a valid token, or unset it"
            return HubError(f"the hub {asked} ({status}): {fix}")
        case HTTPStatus.FORBIDDEN:
            return HubError(f"the hub forbids {at_commit} to this token ({status}): give HF_TOKEN the right to read it")
        case HTTPStatus.NOT_FOUND:
            name = str(error.response.url).rpartition("/")[2]
            return HubError(f"the hub's {at_commit} has no {name} ({status}): correct the source in the registry entry")
        case HTTPStatus.TOO_MANY_REQUESTS:
            return UnreachableError(f"{at_commit}: no more requests are allowed now ({status}): wait, or set HF_TOKEN")
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return UnreachableError(f"{at_commit}: the hub fails ({status}): try again later")
    return HubError(f"the hub refuses {at_commit} ({one_line(error)[:100]}): check the id and the commit")


def _transfer_fault(error: Exception, at_commit: str) -> HubError:
    """Explain an error between the hub's answer and the disk."""
    kind = type(error).__name__
    if NOT_WHOLE in str(error):
        return HubError(f"{at_commit}: a file is not of the size that the hub announced and was removed: run again")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return HubError(f"{at_commit}: the disk is full: free more, or set HF_HOME to another place")
    if isinstance(error, OSError) and (error.filename or error.errno in DISK):
        fix = "correct its permissions, or set HF_HOME to another place"
        where = error.filename or "the hub's cache"
        return HubError(f"{at_commit}: {where}: cannot be written ({error.strerror}): {fix}")
    if "Timeout" in kind or "timed out" in str(error):
        fix = f"{AGAIN}, or set HF_HUB_DOWNLOAD_TIMEOUT to more seconds"
        return UnreachableError(f"{at_commit}: the Hugging Face Hub is too slow ({kind}): {fix}")
    if any(cut in kind for cut in ("ChunkedEncoding", "RemoteProtocol", "ReadError")):
        return UnreachableError(f"{at_commit}: the transfer was cut off ({kind}): {AGAIN}")
    fix = "unset HF_HUB_OFFLINE" if "OfflineMode" in kind else "check the network and HF_ENDPOINT"
    return UnreachableError(f"the Hugging Face Hub cannot be reached ({kind}): {fix}")
