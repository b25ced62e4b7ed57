"""Tests of the rows of the track: the provenance gate."""

from __future__ import annotations

import pytest

from builders import openr1_item, openr1_message
from equipoise.core.errors import EquipoiseError
from equipoise.studies.openr1.rows import SOURCE, require_source


def test_rows_of_openr1_psy_pass() -> None:
    """Items and messages whose source is the data set's id go through; so does no row."""
    require_source([openr1_item(), openr1_item("b")], "items")
    require_source([openr1_message("privileged")], "messages")
    require_source([], "items")


@pytest.mark.parametrize("source", ["authored", "Compumacy/Psych_data", "gmlhuhe/openr1-psy", f"{SOURCE}-extra"])
def test_a_row_of_another_source_is_refused(source: str) -> None:
    """One row of another source refuses the file, in one line that names the row and the fix."""
    rows = [openr1_item(), openr1_item("b", source=source)]
    with pytest.raises(EquipoiseError) as caught:
        require_source(rows, "data/items/openr1.jsonl")

    assert str(caught.value) == (
        f"data/items/openr1.jsonl, row 'openr1-b': source {source!r} is not GMLHUHE/OpenR1-Psy: the track openr1 takes "
        "no other source; take the row out, or import the items with `equipoise import openr1-psy`"
    )
