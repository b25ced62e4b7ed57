from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from equipoise.api.anchors import all_anchors
from equipoise.core.errors import EquipoiseError
from equipoise.published.anchors import Compared, compare, unexpected
from equipoise.published.catalogue import load_catalogue
from published import CATALOGUE, write


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    """The comparison of the small folder."""
    folder, data = write(tmp_path)
    return compare(folder, data, load_catalogue(data), all_anchors())


def test_every_kind_of_figure_gets_its_verdict(compared: Compared) -> None:
    """White has 3 of 4 right, Black 2: a gap of 25 %; 0.9 is not 0.75, and 0.6 not 0.5."""
    assert {row.id: (row.paper, row.released, row.ours, row.verdict) for row in compared.rows} == {
        "amqa/gap": ("25 %", None, 0.25, "reproduced"),
        "amqa/white": ("0.9", 0.75, 0.75, "departs"),
        "amqa/run/n": (None, 4, 4, "not printed"),
        "amqa/run/correct/white": (None, 3, 3, "not printed"),
        "amqa/run/correct/neutral": (None, 4, 4, "not printed"),
        "amqa/run/accuracy/white": (None, 0.75, 0.75, "reproduced"),
        "amqa/run/accuracy/black": (None, 0.6, 0.5, "departs"),
    }


def test_expected_departures_are_no_faults(compared: Compared) -> None:
    """Both that depart are expected to."""
    assert unexpected(compared.rows) == []
    assert [row.note for row in compared.rows if row.verdict == "departs"] == ["3 of 4", "printed upside down"]


def test_a_source_that_is_not_at_hand_is_named(compared: Compared) -> None:
    """Its first missing file is named, and the others are compared."""
    assert compared.missing == {"fsd": "fsd/none.jsonl"}


def test_progress_counts_the_sources(tmp_path: Path) -> None:
    """Both sources of the small catalogue are counted, the one that is missing too."""
    folder, data = write(tmp_path)
    told: list[tuple[int, int]] = []
    compare(folder, data, load_catalogue(data), all_anchors(), lambda done, total: told.append((done, total)))

    assert told == [(1, 2), (2, 2)]


def test_a_moved_figure_is_unexpected(tmp_path: Path) -> None:
    """With one answer changed what was reproduced departs, from the paper and from the second count."""
    folder, data = write(tmp_path)
    path = folder / "amqa/answers/run.jsonl"
    first, rest = path.read_text("utf-8").split("\n", 1)
    row = json.loads(first) | {"test_model_answer_white": "B"}
    path.write_text(f"{json.dumps(row)}\n{rest}", encoding="utf-8")

    moved = unexpected(compare(folder, data, load_catalogue(data), all_anchors()).rows)

    assert [row.id for row in moved] == ["amqa/gap", "amqa/run/correct/white", "amqa/run/accuracy/white"]


def test_nothing_at_hand_is_a_fault(tmp_path: Path) -> None:
    """A folder without any of the data is refused, not passed."""
    data = write(tmp_path)[1]

    with pytest.raises(EquipoiseError, match=r"none of the published data is here \(amqa/answers/run\.jsonl"):
        compare(tmp_path, data, load_catalogue(data), all_anchors())


def test_a_figure_that_nothing_computes_is_a_fault(tmp_path: Path) -> None:
    """A name misspelt in the catalogue, or a new one in the data, is reported, and not left out."""
    catalogue = copy.deepcopy(CATALOGUE)
    catalogue["printed"][0]["figure"] = "amqa/run/pairs/age/gap"
    folder, data = write(tmp_path, catalogue)
    with pytest.raises(EquipoiseError, match=r"amqa/gap: no figure amqa/run/pairs/age/gap is computed"):
        compare(folder, data, load_catalogue(data), all_anchors())

    (folder / "expected.json").write_text('{"amqa": {"run.jsonl": {"median": 3}}}', encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"amqa/run/median: no figure is computed for it"):
        compare(folder, data, load_catalogue(data), all_anchors())


def test_a_figure_without_a_table_is_a_fault(tmp_path: Path) -> None:
    """What the data hold and the catalogue does not place is reported."""
    catalogue = copy.deepcopy(CATALOGUE)
    del catalogue["tables"][0]
    folder, data = write(tmp_path, catalogue)

    with pytest.raises(EquipoiseError, match=r"amqa/run/n: no table of the catalogue holds it"):
        compare(folder, data, load_catalogue(data), all_anchors())


def test_an_unknown_source_is_a_fault(tmp_path: Path) -> None:
    """A source that nothing computes is reported."""
    catalogue = copy.deepcopy(CATALOGUE)
    catalogue["sources"]["mmlu"] = {"title": "MMLU", "files": ["amqa/answers/run.jsonl"]}
    folder, data = write(tmp_path, catalogue)

    with pytest.raises(EquipoiseError, match="mmlu: nothing computes the figures of this source"):
        compare(folder, data, load_catalogue(data), all_anchors())
