"""What a shell offers for the values of options and arguments: names that the project's files know.

Nothing here raises: a file that is missing or malformed offers nothing, and the command itself will say what is wrong.
"""

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

VIGNETTES = Path("data/vignettes/built/vignettes.jsonl")
REFERENCES = "refs/heads", "refs/tags", "refs/exps"
EXPERIMENT = 5
"""Parts of an experiment's reference: refs/exps/12/3456…/name."""


def _completer(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Offer those names that begin as what was typed does."""

    def complete(incomplete: str) -> list[str]:
        try:
            return [name for name in dict.fromkeys(names()) if name.startswith(incomplete)]
        except Exception:  # noqa: BLE001  (a traceback would be written into the line that is being typed)
            return []

    complete.__doc__ = names.__doc__
    return complete


@_completer
def models() -> Iterable[str]:
    """Name the models of the registry."""
    return _stems(Path("models"))


@_completer
def judges() -> Iterable[str]:
    """Name the judges of the registry."""
    return _stems(Path("models/judges"))


@_completer
def pairs() -> Iterable[str]:
    """Name the pairs of vignettes of the last run."""
    return (row["pair"] for row in _vignettes())


@_completer
def dimensions() -> Iterable[str]:
    """Name the dimensions, and the combinations of some, that vary in the last run."""
    varied = [row["dimensions"] for row in _vignettes()]
    return sorted({name for names in varied for name in (*names, "+".join(names))})


@_completer
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


def _vignettes() -> Iterator[dict[str, Any]]:
    with VIGNETTES.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
