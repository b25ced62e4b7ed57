"""Downloads of published data: from the Hugging Face Hub at a pinned commit, or from a URL with a checksum.

The data are not part of the repository, and the default studies do not need them: `equipoise anchors --fetch` puts them
into `.cache/anchors`.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from equipoise.core import cache
from equipoise.core.errors import EquipoiseError
from equipoise.core.progress import aside
from equipoise.core.tables import JSON_LINES, READABLE
from equipoise.published.catalogue import Catalogue, Fetched

PINNED = re.compile(r"(?P<repo>[\w.\-]+/[\w.\-]+)@(?P<revision>[0-9a-f]{40})")
UNPINNED = re.compile(r"[\w\-]+/[\w.\-]+(?:@.*)?")
DATA = (".parquet", ".csv", *JSON_LINES)
"""Extensions of the data files of the hub; its texts are pages."""
RAW = "https://raw.githubusercontent.com"


def locate(source: str, pick: Callable[[Mapping[str, int]], Sequence[str]]) -> list[Path]:
    """Locate the data files of a source: a path, or a hub id with its commit, whose files are downloaded.

    `pick` chooses among the readable files of the data set, given as sizes in bytes by name.

    Raises:
        EquipoiseError: A hub id has no commit, or its files cannot be fetched.
    """
    path = Path(source)
    if not path.exists() and (match := PINNED.fullmatch(source)):
        return _download(match["repo"], match["revision"], pick)
    if not path.exists() and UNPINNED.fullmatch(source) and path.suffix.lower() not in READABLE:
        repo = source.split("@", maxsplit=1)[0]
        raise EquipoiseError(f"{source}: a dataset of the hub is named with its commit: {repo}@<40 hex digits>")
    return [path]


def _download(repo: str, revision: str, pick: Callable[[Mapping[str, int]], Sequence[str]]) -> list[Path]:
    try:
        # The client reads settings of the environment, which may be malformed, when it is imported.
        from huggingface_hub import HfApi, hf_hub_download

        entries = HfApi().list_repo_tree(repo, repo_type="dataset", revision=revision, recursive=True)
        sizes = {entry.path: getattr(entry, "size", 0) for entry in entries if entry.path.endswith(DATA)}
        names = pick(sizes)
        with aside():
            paths = [Path(hf_hub_download(repo, name, repo_type="dataset", revision=revision)) for name in names]
    except Exception as error:
        raise EquipoiseError(
            f"{repo} at {revision[:12]} could not be fetched from the Hugging Face Hub ({type(error).__name__}): "
            "check the name, the commit and the network, or give the items as a parquet, CSV or JSONL file"
        ) from error
    if not paths:
        names = ", ".join(sorted(sizes)) or "no readable file"
        raise EquipoiseError(
            f"{repo} at {revision[:12]} has none of the data files looked for, but {names}: give another commit"
        )
    return paths


def retrieve(address: str, digest: str, target: Path, otherwise: str) -> None:
    """Download a file unless `target` has it already; a failure is an EquipoiseError that advises `otherwise`."""
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    try:
        # A file with a wrong checksum is not kept.
        pooch.retrieve(address, known_hash=f"sha256:{digest}", fname=target.name, path=target.parent)
    except ValueError as error:
        raise EquipoiseError(f"{address}: checksum mismatch (expected {digest[:12]}…): {otherwise}") from error
    except OSError as error:  # from the disk or, in requests, the network
        raise EquipoiseError(
            f"{address}: cannot be fetched ({type(error).__name__}): go online, or {otherwise}"
        ) from error


def anchors_folder() -> Path:
    """Locate the folder of downloaded published data."""
    return cache.folder() / "anchors"


def fetch(
    catalogue: Catalogue,
    progress: Callable[[int, int], object] = lambda *_: None,
) -> Path:
    """Download the files of the catalogue, unless they are here with the right checksum; return their folder.

    `progress` receives the number of files done and their total.

    Raises:
        EquipoiseError: A file cannot be fetched, or its checksum differs; those before it are kept.
    """
    for number, file in enumerate(catalogue.fetch, start=1):
        target = anchors_folder() / file.path
        retrieve(url(file), file.sha256, target, "set EQUIPOISE_ANCHORS to a folder that has the data")
        progress(number, len(catalogue.fetch))
    return anchors_folder()


def unfetchable(catalogue: Catalogue) -> dict[str, str]:
    """List the sources that cannot be fetched whole, with the reasons."""
    return {name: source.unfetchable for name, source in catalogue.sources.items() if source.unfetchable is not None}


def url(file: Fetched) -> str:
    """Build the URL of a file at its commit."""
    return f"{RAW}/{file.repository}/{file.commit}/{quote(file.name)}"
