"""The page of published figures, as the command gives it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from equipoise.api.anchors import all_anchors
from equipoise.cli.anchors import markdown
from equipoise.published.anchors import compare, unexpected
from equipoise.published.catalogue import leaves, load_catalogue

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import anchors as script  # noqa: E402  (a script)


def test_the_page_is_up_to_date(anchors: Path) -> None:
    """Page and data are what the comparison gives, every verdict as expected and every figure compared.

    If they are not, run benchmarks/anchors.py.
    """
    catalogue = load_catalogue(ROOT / "data")
    compared = compare(anchors, ROOT / "data", catalogue, all_anchors())
    second = json.loads((anchors / "expected.json").read_text("utf-8"))
    # The slopes are the authors' own, not a second count.
    slopes = second["walk_the_talk"].pop("faithfulness_slope")
    kinds = Counter(row.verdict for row in compared.rows)

    assert unexpected(compared.rows) == []
    assert compared.missing == {}
    # Five figures of AMQA and one in rounding, one of Lin et al., one weight of EquiLens.
    assert kinds["departs"] == 8
    assert sum(row.table == "walk_the_talk/faithfulness_slope" for row in compared.rows) == len([*leaves(slopes, "s")])
    # Each number of expected.json is compared.
    recounted = {table.id for table in catalogue.tables if table.against == "recount"}
    assert sum(row.table in recounted for row in compared.rows) == len(list(leaves(_without_lists(second), "expected")))
    page = script.PAGE.read_text("utf-8")
    assert page == markdown(compared, catalogue)
    assert script.DATA.read_text("utf-8").splitlines() == list(script.lines(compared, catalogue))
    assert all(f" | {row.what} | {row.place} | " in page for row in compared.rows if row.verdict == "departs")


def _without_lists(value: object) -> object:
    """Name the two ends of every interval; longer lists are of ids."""
    if isinstance(value, list) and len(value) == 2:
        return dict(zip(("low", "high"), value, strict=True))
    if isinstance(value, dict):
        return {name: _without_lists(item) for name, item in value.items()}
    return value
