"""Published data fetched when asked for: from the commit that the catalogue names, checked by sha256."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import quote

from equipoise.core import cache
from equipoise.core.errors import EquipoiseError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from equipoise.published.anchors.catalogue import Catalogue, Fetched

RAW = "https://raw.githubusercontent.com"


def folder() -> Path:
    """Find the folder of fetched data."""
    return cache.folder() / "anchors"


def fetch(
    catalogue: Catalogue,
    progress: Callable[[int, int], object] = lambda done, total: None,  # noqa: ARG005  (names for the caller)
) -> Path:
    """Fetch every file that the catalogue knows a commit of; those with the right bytes are kept. Give the folder.

    `progress` is told how many of how many files are here.

    Raises:
        EquipoiseError: A file cannot be fetched, or has other bytes than the catalogue's; those before it are kept.
    """
    for number, one in enumerate(catalogue.fetch, start=1):
        _retrieve(one)
        progress(number, len(catalogue.fetch))
    return folder()


def unfetchable(catalogue: Catalogue) -> dict[str, str]:
    """Say of each source that cannot be fetched whole why not."""
    return {name: source.unfetchable for name, source in catalogue.sources.items() if source.unfetchable is not None}


def url(one: Fetched) -> str:
    """Give the address of a file at its commit."""
    return f"{RAW}/{one.repository}/{one.commit}/{quote(one.name)}"


def _retrieve(one: Fetched) -> None:
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    target, address = folder() / one.path, url(one)
    mend = "set EQUIPOISE_ANCHORS to a folder that has the data"
    try:
        pooch.retrieve(address, known_hash=f"sha256:{one.sha256}", fname=target.name, path=target.parent)
    except ValueError as error:
        message = f"{address}: what it gives has not the sha256 {one.sha256[:12]}… of the catalogue: {mend}"
        raise EquipoiseError(message) from error
    except OSError as error:  # of the disk and, in requests, of the net
        message = f"{address}: cannot be fetched ({type(error).__name__}): go online, or {mend}"
        raise EquipoiseError(message) from error
