"""The files of the study that `equipoise check` reads: its sentences."""

from collections.abc import Iterator
from pathlib import Path

from equipoise.figures.study import Checked
from equipoise.studies.stigma.library import SENTENCES, load_library


def checks(root: Path) -> Iterator[Checked]:
    """Read the sentences; EquipoiseError if they are malformed."""
    yield Checked("conditions of the study of stigma", SENTENCES, len(load_library(root / SENTENCES).conditions))
