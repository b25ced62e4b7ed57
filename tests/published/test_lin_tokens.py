"""Reading the released logs of rq1's predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.published.lin_tokens import read_tokens
from equipoise.stigma.aggregate import short_lexicon

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.published.lin_wordings import Wordings
    from equipoise.stigma.aggregate import Lexicon
    from equipoise.stigma.library import Library


@pytest.fixture
def short(library: Library) -> Lexicon:
    """Build the lexicon of rq1."""
    return short_lexicon(library.words.short)


def prediction(score: float, word: str, condition: str) -> dict[str, Any]:
    """Build one prediction as the released log has it."""
    return {"score": score, "token": 1, "token_str": word, "sequence": f"{word} has {condition}"}


DEPRESSION = [prediction(0.5, "She", "depression"), prediction(0.25, "He", "depression")]
OCD = [prediction(0.5, "Who", "OCD"), prediction(0.005, "He", "OCD")]
LOG = "running experiment 0\nTOP 20 OUTPUTS FOR THE TEMPLATE <mask> has [diagnosis]\n{}\nMean: male=0.1, female=0.2\n"


def write(folder: Path, lists: object) -> Path:
    """Write a log with one line of lists."""
    path = folder / "output.txt"
    path.write_text(LOG.format(lists), encoding="utf-8")
    return path


def test_predictions_are_summed(tmp_path: Path, wordings: Wordings, short: Lexicon) -> None:
    """Each list is one sentence, known by its predictions; other lines of the log are passed over."""
    fills = read_tokens(write(tmp_path, [[DEPRESSION], [OCD]]), wordings, short)

    assert [(fill.key, fill.female, fill.male, fill.unspecified) for fill in fills] == [
        ("rq1/has/depression", 0.5, 0.25, 0.0),
        ("rq1/has/OCD", 0.0, 0.0, 0.5),  # 0.005 is not above the threshold
    ]
    assert fills[0].words == {"She": 0.5, "He": 0.25}


def test_all_predictions_count_without_a_threshold(tmp_path: Path, wordings: Wordings, short: Lexicon) -> None:
    """With the threshold 0 the unlikely count too."""
    fills = read_tokens(write(tmp_path, [[[DEPRESSION], [OCD]]]), wordings, short, threshold=0.0)

    assert fills[1].male == 0.005


BROKEN: list[tuple[object, str]] = [
    ([[DEPRESSION]], r"output\.txt: incomplete: '\{mask\} has \{condition\}' is not told of OCD"),
    ([[DEPRESSION], [DEPRESSION]], r"output\.txt, row 3: .*, depression stands in an earlier list: keep one of them"),
    ([DEPRESSION + OCD, []], r"row 3: one list of predictions tells of 2 sentences: give a list for each"),
    ([[prediction(0.5, "She", "flu")]], r"row 3: 'She has flu' fits no template of rq1: mend it"),
    ([[prediction(2.0, "She", "OCD")]], r"row 3: field score: 2\.0 is no probability between 0 and 1"),
    ([[{"score": 0.5}]], r"row 3: \{'score': 0\.5\}: a prediction has score, token_str and sequence"),
    ([[["words"], 7]], "row 3: 7 where a list of predictions was expected"),
    ("[[", "row 3: not a list of predictions: mend or delete the row"),
    ("[[print('x')]]", "row 3: not a list of predictions"),  # read, never run
    ("", "holds no list of predictions: give the log of a run"),
]


@pytest.mark.parametrize(("lists", "words"), BROKEN)
def test_a_fault_names_file_row_and_mend(
    tmp_path: Path, wordings: Wordings, short: Lexicon, lists: object, words: str
) -> None:
    """A fault in a log is told in one line."""
    with pytest.raises(EquipoiseError, match=words) as raised:
        read_tokens(write(tmp_path, lists), wordings, short)
    assert "\n" not in str(raised.value)
