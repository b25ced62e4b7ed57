"""The Hugging Face Hub: the commit of a repository, its files at a commit, and in one line why it does not give them.

The hub's client continues a file that was cut off where it ends, also in a later run: what it has of one is kept
beside the whole files under a name of its own, and never read. What arrives with another size or checksum than the hub
announced is removed.
"""

import errno
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from equipoise.core.errors import EquipoiseError, one_line
from equipoise.core.jsonl import read_one
from equipoise.core.manifest import Manifest
from equipoise.core.progress import aside
from equipoise.models.registry import ModelEntry, ModelHubSource

E = TypeVar("E", bound=ModelEntry)
PATIENCE = 10.0
"""Seconds to wait for the hub's answer to a question."""
COMMIT, SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
NOT_WHOLE = "Consistency check failed"
"""How the client's error begins where a file's size is not the one announced."""
AGAIN = "run again, which continues where it ended"


class HubError(EquipoiseError):
    """The hub does not give a repository, a commit or a file."""


class UnreachableError(HubError):
    """The hub does not answer at all."""


def named(name: str, entry: E, store: Path) -> E:
    """Give a model's entry with the commit that was used on this machine before, where it names none itself.

    `store` is the folder of exported models, in which the last manifest of each model is kept.
    """
    source = unpinned(entry)
    revision = used(name, source.repo, store) if source else None
    return at(entry, revision) if revision else entry


def resolved(name: str, entry: E, store: Path, tell: Callable[[str], object]) -> E:
    """Give a model's entry with a commit: its own, that used before on this machine, or else the hub's current one.

    A commit that the entry does not name itself is told in one line.
    """
    source = unpinned(entry)
    if source is None:
        return entry
    revision = used(name, source.repo, store) or commit(source.repo)
    fix = f"`equipoise models pin {name}` writes it there"
    tell(f"models/{name}.yaml names no commit: using {source.repo} at {revision} ({fix})")
    return at(entry, revision)


def used(name: str, repo: str, store: Path) -> str | None:
    """Find the commit of a repository that a model of the registry was last run at on this machine, if any."""
    path = store / f"{name}.json"
    if not path.is_file():
        return None
    manifest = read_one(path, Manifest)
    return manifest.revision if manifest.repo == repo and COMMIT.fullmatch(manifest.revision) else None


def unpinned(entry: ModelEntry) -> ModelHubSource | None:
    """Give the source of an entry that names a repository of the hub without a commit."""
    source = getattr(entry, "source", None)
    return source if isinstance(source, ModelHubSource) and source.revision is None else None


def at(entry: E, revision: str) -> E:
    """Give an entry without a commit one; any other stays as it is."""
    source = unpinned(entry)
    return entry.model_copy(update={"source": source.model_copy(update={"revision": revision})}) if source else entry


def commit(repo: str, revision: str = "main") -> str:
    """Ask the hub for the commit of a repository's branch, or whether it has a commit.

    Raises:
        HubError: the repository or the commit is not there, or hidden.
        UnreachableError: there is no answer.
    """
    from huggingface_hub import HfApi

    try:
        found = HfApi().model_info(repo, revision=revision, timeout=PATIENCE).sha or ""
    except Exception as error:
        raise _fault(error, repo, revision) from error
    if not COMMIT.fullmatch(found):
        raise HubError(f"the Hugging Face Hub names no commit of {repo}: check HF_ENDPOINT")
    return found


def require_access(repo: str, revision: str) -> None:
    """Refuse a repository that the hub would not give; errors are those of `commit`.

    The hub tells everyone of a gated model, but gives its files only to accounts that accepted the terms: the head of
    one is asked for.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    found = commit(repo, revision)
    try:
        get_hf_file_metadata(hf_hub_url(repo, "config.json", revision=found), timeout=PATIENCE)
    except Exception as error:
        raise _fault(error, repo, revision) from error


def fetch(repo: str, revision: str, patterns: list[str]) -> Path:
    """Fetch the files of a commit whose names match a pattern, unless they are here, and give their folder.

    Where the hub does not answer, or gives the repository no longer, what was fetched before is enough.

    Raises:
        HubError: a file is not given, or not whole.
        UnreachableError: there is no answer.
    """
    from huggingface_hub import constants, snapshot_download

    try:
        # Asked in time: the client itself waits for this answer for ever.
        commit(repo, revision)
    except HubError:
        if here := kept(repo, revision):
            return here
        raise
    try:
        # Subfolders hold other forms of the same weights.
        with aside():
            folder = snapshot_download(repo, revision=revision, allow_patterns=patterns, ignore_patterns=["*/*"])
    except Exception as error:
        if NOT_WHOLE in str(error):
            blobs = Path(constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}" / "blobs"
            for part in blobs.glob("*.incomplete"):
                part.unlink()
        raise _fault(error, repo, revision) from error
    return Path(folder)


def kept(repo: str, revision: str) -> Path | None:
    """Find the folder of the files of a commit that were fetched before, if any; the hub is not asked."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repo, revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None


def require_intact(folder: Path, files: Mapping[str, str]) -> None:
    """Compare files of a fetched folder, by name with their sha256, with the checksums under which the hub keeps them.

    The client stores a large file under the sha256 that the hub announced, and links to it. Another one is removed.

    Raises:
        HubError: a file differs.
    """
    for name, found in files.items():
        blob = (folder / name).resolve()
        if SHA256.fullmatch(blob.name) and blob.name != found:
            (folder / name).unlink()
            blob.unlink()
            message = f"checksum mismatch: the hub has {blob.name}, here was {found}, which was removed: run again"
            raise HubError(f"{folder / name}: {message}")


def _fault(error: Exception, repo: str, revision: str) -> HubError:
    """Say in one line, with the fix, what an error of the hub's client or of its transport means."""
    from huggingface_hub import constants, errors

    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        # The client looked for a copy here, and raises that it found none.
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
        case errors.FileMetadataError():
            return HubError(f"{constants.ENDPOINT} does not answer as the Hugging Face Hub does: check HF_ENDPOINT")
    # An error of requests where the client gave up trying again, else one of its own.
    refused = getattr(error, "response", None) is not None
    return _refused(error, at_commit) if refused else _broken(error, at_commit)


def _refused(error: Any, at_commit: str) -> HubError:  # noqa: ANN401  (the client has no types)
    """Say what the status of the hub's answer means."""
    match status := error.response.status_code:
        case HTTPStatus.UNAUTHORIZED:
            return HubError(f"the hub does not accept HF_TOKEN ({status}): set it to a valid token, or unset it")
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


def _broken(error: Exception, at_commit: str) -> HubError:
    """Say what went wrong between the hub's answer and the disk."""
    kind = type(error).__name__
    if NOT_WHOLE in str(error):
        return HubError(f"{at_commit}: a file is not of the size that the hub announced and was removed: run again")
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return HubError(f"{at_commit}: the disk is full: free more, or set HF_HOME to another place")
    if "Timeout" in kind or "timed out" in str(error):
        fix = f"{AGAIN}, or set HF_HUB_DOWNLOAD_TIMEOUT to more seconds"
        return UnreachableError(f"{at_commit}: the Hugging Face Hub is too slow ({kind}): {fix}")
    if "ChunkedEncoding" in kind or "RemoteProtocol" in kind:
        return UnreachableError(f"{at_commit}: the transfer was cut off ({kind}): {AGAIN}")
    return UnreachableError(f"the Hugging Face Hub cannot be reached ({kind}): check the network and HF_ENDPOINT")
