"""Tests of the units of a study: which rows are left where not all were asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.core import jsonl
from equipoise.core.prompts import Response
from equipoise.core.units import FILE, Unit, of_asked, read_units
from equipoise.materials.judgement import Judgement
from equipoise.studies.vignettes.shown import read_pairs
from runs import housing_study, write_housing_study

if TYPE_CHECKING:
    from pathlib import Path

UNITS = [Unit(key=f"housing-0{n}", study="vignettes", cluster="frostbite", asked=n < 3) for n in (1, 2, 3)]


def test_rows_of_units_that_were_not_asked_are_left_out() -> None:
    """A row belongs to the unit that its key begins with; without units all rows stay."""
    vignettes, responses, _ = housing_study()

    assert [row.key for row in of_asked(vignettes, UNITS)] == [row.key for row in vignettes[:4]]
    assert [row.key for row in of_asked(responses, UNITS)] == [row.key for row in responses[:4]]
    assert list(of_asked(vignettes, [])) == vignettes


def test_the_report_shows_the_pairs_that_were_asked(tmp_path: Path) -> None:
    """The third pair has neither responses nor judgements, and is not missed; without the file all are read."""
    write_housing_study(tmp_path)
    whole = [pair.key for pair in read_pairs(tmp_path)]
    for name, kind in (("responses", Response), ("judgements", Judgement)):
        path = tmp_path / f"{name}.jsonl"
        jsonl.write(path, list(of_asked(jsonl.each(path, kind), UNITS)))
    jsonl.write(tmp_path / FILE, UNITS)

    assert read_units(tmp_path) == UNITS
    assert [pair.key for pair in read_pairs(tmp_path)] == whole[:2]
