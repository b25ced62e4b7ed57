"""What `equipoise check` reads of the study: its sentences."""

from collections.abc import Iterator
from pathlib import Path

from equipoise.pipeline.check import Checked
from equipoise.studies.stigma.library import SENTENCES, load_library


def checks(root: Path) -> Iterator[Checked]:
    """Read the sentences; what is malformed is an EquipoiseError."""
    yield Checked("conditions of the study of stigma", SENTENCES, len(load_library(root / SENTENCES).conditions))
