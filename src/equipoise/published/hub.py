"""Data sets of the Hugging Face Hub at a pinned commit, or files that are at hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import aside
from equipoise.core.tables import READABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PINNED = re.compile(r"(?P<repo>[\w.\-]+/[\w.\-]+)@(?P<revision>[0-9a-f]{40})")
UNPINNED = re.compile(r"[\w\-]+/[\w.\-]+(?:@.*)?")


def locate(source: str, pick: Callable[[Mapping[str, int]], Sequence[str]]) -> list[Path]:
    """Give the data files of a source: a path as it stands, or those of a hub id with its commit, downloaded.

    `pick` chooses among the readable files of the data set, given as sizes in bytes by name.

    Raises:
        EquipoiseError: A hub id has no commit, or its files cannot be fetched.
    """
    path = Path(source)
    if not path.exists() and (match := PINNED.fullmatch(source)):
        return _download(match["repo"], match["revision"], pick)
    if not path.exists() and UNPINNED.fullmatch(source) and path.suffix not in READABLE:
        repo = source.split("@", maxsplit=1)[0]
        message = f"{source}: a dataset of the hub is named with its commit: {repo}@<40 hex digits>"
        raise EquipoiseError(message)
    return [path]


def _download(repo: str, revision: str, pick: Callable[[Mapping[str, int]], Sequence[str]]) -> list[Path]:
    from huggingface_hub import HfApi, hf_hub_download

    try:
        entries = HfApi().list_repo_tree(repo, repo_type="dataset", revision=revision, recursive=True)
        sizes = {entry.path: getattr(entry, "size", 0) for entry in entries if entry.path.endswith(READABLE)}
        names = pick(sizes)
        with aside():
            paths = [Path(hf_hub_download(repo, name, repo_type="dataset", revision=revision)) for name in names]
    except Exception as error:
        message = (
            f"{repo} at {revision[:12]} could not be fetched from the Hugging Face Hub ({type(error).__name__}): "
            "check the name, the commit and the network, or give the items as a parquet, CSV or JSONL file"
        )
        raise EquipoiseError(message) from error
    if not paths:
        found = ", ".join(sorted(sizes)) or "no readable file"
        message = f"{repo} at {revision[:12]} has none of the data files looked for, but {found}: give another commit"
        raise EquipoiseError(message)
    return paths
