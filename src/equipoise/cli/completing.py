"""Completions that several commands share: models, judges and revisions."""

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from equipoise.core.completing import completer

REFERENCES = "refs/heads", "refs/tags", "refs/exps"
EXPERIMENT = 5
"""Parts of an experiment's reference: refs/exps/12/3456…/name."""


@completer
def models() -> Iterable[str]:
    """Name the models of the registry."""
    return _stems(Path("models"))


@completer
def judges() -> Iterable[str]:
    """Name the judges of the registry."""
    return _stems(Path("models/judges"))


@completer
def revisions() -> Iterator[str]:
    """Name the workspace, branches, tags and DVC's experiments."""
    yield "workspace"
    listing = ["git", "for-each-ref", "--format=%(refname)", *REFERENCES]
    listed = subprocess.run(listing, capture_output=True, text=True, timeout=2, check=True)  # noqa: S603  (of constants)
    for reference in listed.stdout.split():
        parts = reference.split("/")
        if parts[1] != "exps":
            yield "/".join(parts[2:])
        elif len(parts) == EXPERIMENT:
            yield parts[-1]


def _stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.yaml"))
