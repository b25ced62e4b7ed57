"""The published figures, recomputed: each as it is printed, as it is released, and ours.

    PYTHONPATH=src EQUIPOISE_ANCHORS=FOLDER python benchmarks/anchors.py

writes benchmarks/anchors.jsonl and docs/anchors.md, the page of `equipoise anchors --md`, from the published data in
FOLDER. A minute on one core.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.api.anchors import all_anchors
from equipoise.cli.anchors import FIGURES, TABLES, cells, markdown, sections
from equipoise.core import stage
from equipoise.core.jsonl import dumps, write_text
from equipoise.published.anchors import compare
from equipoise.published.catalogue import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equipoise.published.anchors import Compared
    from equipoise.published.catalogue import Catalogue

ROOT = Path(__file__).parents[1]
DATA, PAGE = ROOT / "benchmarks/anchors.jsonl", ROOT / "docs/anchors.md"


def main() -> None:
    """Compare the figures, and write data and page."""
    catalogue = load_catalogue(ROOT / "data")
    compared = compare(Path(os.environ["EQUIPOISE_ANCHORS"]), ROOT / "data", catalogue, all_anchors())
    write_text(DATA, "".join(f"{line}\n" for line in lines(compared, catalogue)))
    write_text(PAGE, markdown(compared, catalogue))


def lines(compared: Compared, catalogue: Catalogue) -> Iterator[str]:
    """Give, by source, a line for each printed figure, bound or departure, then one for each table of figures."""
    for section in sections(compared, catalogue):
        for names, rows in ((FIGURES, map(cells, section.rows)), (TABLES, section.tables)):
            yield from (dumps({"source": section.title, **dict(zip(names, row, strict=True))}) for row in rows)


if __name__ == "__main__":
    stage.run(main)
