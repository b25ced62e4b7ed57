from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.published.anchors.catalogue import leaves, load_catalogue, source_of
from equipoise.published.anchors.figures import SOURCES
from published import CATALOGUE, write

DATA = Path(__file__).parents[3] / "data"


def test_the_catalogue_is_read() -> None:
    """Every source of the project's catalogue is one that is computed, and every figure is of a source."""
    catalogue = load_catalogue(DATA)

    assert catalogue.sources.keys() == SOURCES.keys()
    assert {source_of(one.figure) for one in catalogue.printed} <= SOURCES.keys()


def test_five_figures_of_amqa_are_expected_to_depart() -> None:
    """Those where the paper's text differs from its data by more than a tenth of a point, and one in rounding."""
    departing = [one.id for one in load_catalogue(DATA).printed if one.expect == "departs"]

    assert departing == [
        "amqa/gpt/accuracy/original",
        "amqa/gpt/alone/white",
        "amqa/gpt/alone/high_income",
        "amqa/gpt/alone/male",
        "amqa/qwen/gap/gender",
        "amqa/qwen/gap/ses",
        "lin/text/rq2/avoidance/female",
    ]


def test_the_narrowest_table_holds_a_figure(tmp_path: Path) -> None:
    """A figure belongs to the table with the longest id that it begins with, part for part."""
    catalogue = load_catalogue(write(tmp_path)[1])

    found = {name: catalogue.table_of(name) for name in ("amqa/run/accuracy/white", "amqa/runner/n", "amqaa/n")}

    assert [None if table is None else table.id for table in found.values()] == ["amqa/run/accuracy", "amqa", None]


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        (("printed", 0, "paper"), "some", "is no figure as printed"),
        (("printed", 0, "limit"), "> 1", "give paper or limit, and not both"),
        (("printed", 0, "figure"), "mmlu/n", "mmlu is none of the sources"),
        (("printed", 1, "id"), "amqa/gap", "id more than once: amqa/gap"),
        (("sources", "amqa", "unfetchable"), "it rains", "sources.amqa: unfetchable belongs to"),
        (("sources", "fsd", "unfetchable"), None, "sources.fsd: unfetchable belongs to"),
        (("fetch", 0, "commit"), "main", "fetch.0.commit"),
        (("tables", 0, "expect"), "fine", "tables.0.expect"),
    ],
)
def test_a_faulty_catalogue_is_refused(tmp_path: Path, place: tuple[Any, ...], value: object, fault: str) -> None:
    """The fault is told with the file and the field."""
    catalogue = copy.deepcopy(CATALOGUE)
    part = catalogue
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    data = write(tmp_path, catalogue)[1]

    with pytest.raises(EquipoiseError, match=rf"anchors\.yaml: .*{fault}"):
        load_catalogue(data)


def test_leaves_are_the_numbers() -> None:
    """Texts, truth values and nothing are no figures."""
    value = json.loads('{"a": {"b": 1, "c": true}, "d": null, "e": "x", "f": 0.5}')

    assert dict(leaves(value, "top")) == {"top/a/b": 1, "top/f": 0.5}
