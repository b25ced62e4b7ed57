"""Completions of `equipoise show`: the pairs of the last run, and what they vary."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from equipoise.core.completing import completer

VIGNETTES = Path("data/vignettes/built/vignettes.jsonl")


@completer
def pairs() -> Iterable[str]:
    """Name the pairs of vignettes of the last run."""
    return (row["pair"] for row in _vignettes())


@completer
def dimensions() -> Iterable[str]:
    """Name the dimensions, and the combinations of some, that vary in the last run."""
    varied = [row["dimensions"] for row in _vignettes()]
    return sorted({name for names in varied for name in (*names, "+".join(names))})


def _vignettes() -> Iterator[dict[str, Any]]:
    with VIGNETTES.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
