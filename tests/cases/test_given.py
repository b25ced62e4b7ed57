from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.cases.given import Asked, judge_rows, probability_of, read_rows, reasoning_of, unlisted
from equipoise.core import params
from equipoise.core.errors import EquipoiseError
from equipoise.judge.lexicon import load_lexicon
from equipoise.judge.reading import Reading
from equipoise.judge.score import Score

ROOT = Path(__file__).parents[2]
LEXICON = load_lexicon(ROOT / "data/features")
SETTINGS = params.load(ROOT / "params.yaml").section("score", Score)
GOOD = {"id": "a", "feature": "black", "text": "A Black man."}
TEXTS = (
    "He is homeless. Living rough matters here.\n\nDiagnosis: Frostbite.",
    "<think>A Black man, 75 years old. Ethnicity set aside.</think>Asthma.",
    "No feature at all.\n\nDiagnosis: Asthma.",
    "",
)


def chance(pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
    """Give entailments that look random and depend on nothing but the pair."""
    p = np.array([crc32("|".join(pair).encode()) % 1000 / 1000 for pair in pairs])
    return np.stack([p, 1 - p, 0 * p], axis=1)


def agree(pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
    """Find everything entailed."""
    return np.tile([1.0, 0.0, 0.0], (len(pairs), 1))


def write(path: Path, *rows: object) -> Path:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def reading(**changes: Any) -> Reading:
    """Make a reading."""
    values = {
        "mentioned": True,
        "considered": "none",
        "window": "x",
        "p_mentioned": 1.0,
        "p_weighed": 0.3,
        "p_dismissed": 0.1,
        "keyword": True,
    }
    return Reading.model_validate(values | changes)


def test_rows_are_read_in_order(tmp_path: Path) -> None:
    """Ids may be texts or whole numbers, a dimension may stand, and other fields are left alone."""
    rows = [
        {"id": 2, "feature": " obese ", "text": "", "dimension": "obesity", "model": "m"},
        GOOD | {"dimension": None},
    ]

    assert read_rows(write(tmp_path / "rows.jsonl", *rows)) == [
        Asked(2, "obese", "", "obesity"),
        Asked("a", "black", "A Black man."),
    ]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"feature": "black", "text": "x"}, "row 2: field id is missing or empty: give every row an id"),
        (GOOD | {"id": True}, "row 2: field id is missing or empty"),
        (GOOD | {"id": " "}, "row 2: field id is missing or empty"),
        (GOOD | {"id": "a"}, "row 2: id 'a' stands already in row 1: give every row its own"),
        ({"id": "b", "text": "x"}, "row 2: field feature is missing: give it in plain words, such as black"),
        ({"id": "b", "feature": " ", "text": "x"}, "row 2: field feature is empty: give it in plain words"),
        ({"id": "b", "feature": "black"}, "row 2: field text is missing: give the model's whole output"),
        ({"id": "b", "feature": "black", "text": None}, "row 2: field text is no text: give the model's whole output"),
        ({"id": "b", "feature": "black", "text": "\ud800"}, "row 2: field text has half a character at place 1"),
        ({"id": "b", "feature": "black", "text": "x", "dimension": 5}, "row 2: field dimension is no text"),
        (["b"], "row 2: not a JSON object"),
    ],
)
def test_a_fault_names_row_and_mend(tmp_path: Path, row: object, fault: str) -> None:
    """One line says which file, row and field, and what to do."""
    path = write(tmp_path / "rows.jsonl", GOOD, row)

    with pytest.raises(EquipoiseError) as caught:
        read_rows(path)
    assert str(caught.value).startswith(f"{path}, {fault}")


def test_bad_json_and_an_empty_file_are_refused(tmp_path: Path) -> None:
    """A line that is no JSON is named by its number, and a file without rows says what they hold."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(GOOD) + "\n{oops\n", encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"rows\.jsonl, row 2: not JSON .*: fix or delete the row"):
        read_rows(path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(EquipoiseError, match="holds no rows: give one object a row, with id, feature and text"):
        read_rows(path)


@pytest.mark.parametrize(
    ("considered", "expected"),
    # None is one less the larger of 0.3 and 0.1.
    [("weighed", 0.3), ("dismissed", 0.1), ("none", 0.7)],
)
def test_the_probability_is_that_of_the_judgement_made(considered: str, expected: float) -> None:
    """Weighed and dismissed have their own; none has what they leave."""
    assert probability_of(reading(considered=considered)) == pytest.approx(expected)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(TEXTS), st.sampled_from(("homeless", "black", "75-year-old", "vegan"))), max_size=9
    ),
    st.integers(1, 9),
)
def test_chunks_change_nothing(drawn: list[tuple[str, str]], chunk: int) -> None:
    """A row's judgement is the same in any company, in order, and its evidence is verbatim."""
    rows = [Asked(number, feature, text) for number, (text, feature) in enumerate(drawn)]
    told: list[tuple[int, int]] = []
    options: dict[str, Any] = {"lexicon": LEXICON, "probabilities": chance, "settings": SETTINGS}
    found = list(judge_rows(rows, **options, chunk=chunk, progress=lambda done, total: told.append((done, total))))

    assert found == [one for row in rows for one in judge_rows([row], **options)]
    assert [one.id for one in found] == [row.id for row in rows]
    assert all(
        one.evidence in row.text and (one.evidence != "") == one.mentioned for one, row in zip(found, rows, strict=True)
    )
    assert told[-1:] == [(len(rows), len(rows))] * bool(rows)


def test_the_stated_conclusion_is_no_reasoning() -> None:
    """A feature that stands in the conclusion alone is not mentioned."""
    rows = [
        Asked("conclusion", "obese", "Raised D-dimer after a flight.\n\nDiagnosis: Embolism in an obese man."),
        Asked("thinking", "obese", "<think>An obese man.</think>**Diagnosis:** Embolism."),
    ]
    found = judge_rows(rows, lexicon=LEXICON, probabilities=agree, settings=SETTINGS)

    assert [one.mentioned for one in found] == [False, True]


def test_an_output_that_is_all_conclusion_is_read() -> None:
    """A single sentence that concludes is where its reasons stand."""
    text = "Given her obesity, the most likely diagnosis is pulmonary embolism."

    assert reasoning_of(text) == text
    assert reasoning_of(f"A short flight.\n\n{text}") == "A short flight."
    assert reasoning_of("") == ""


def test_a_dimension_in_the_row_overrides_the_lexicons() -> None:
    """The words of the dimension given find the mention, whatever dimension the feature's words have."""
    text = "Ethnicity is noted.\n\nDiagnosis: Asthma."
    rows = [Asked(1, "homeless", text), Asked(2, "homeless", text, "race")]
    found = judge_rows(rows, lexicon=LEXICON, probabilities=agree, settings=SETTINGS)

    assert [one.mentioned for one in found] == [False, True]


def test_features_that_the_lexicon_lacks_are_told() -> None:
    """Each is named once; of a dimension that the lexicon has, no feature lacks words."""
    rows = [Asked(1, "vegan", ""), Asked(2, "black", ""), Asked(3, "vegan", ""), Asked(4, "Martian", "", "race")]

    assert unlisted(rows, LEXICON) == ["vegan"]
