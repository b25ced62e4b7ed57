"""Rules that one authored row must keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import Answer
from equipoise.vignettes.schema import band_limits, shared_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.vignettes.library import Library

LONG = " ".join(["word"] * 50)

PERSONA, PRESENTATION, CONTRAST = (
    ("personas", "personas", 4),
    ("presentations", "presentations", 1),
    ("contrasts", "contrasts", 0),
)

FAULTS: list[tuple[tuple[str, str, int], dict[str, Any], str]] = [
    # file, list and row; changed fields (None deletes), words of the message
    (PERSONA, {"age": 60}, "(p05): age 60 lies outside age_band 46-55; correct one of the two"),
    (PERSONA, {"risk": "high"}, "risk is high but safety is missing; add"),
    (PERSONA, {"source": None}, "(p05): field source: Field required; add it"),
    (
        PERSONA,
        {"licence": " "},
        "field licence: String should have at least 1 character; write some text",
    ),
    (PERSONA, {"income": "none"}, "field income: Input should be 'low', 'middle' or 'high'"),
    (PERSONA, {"background": "She came."}, "background states a demographic ('She')"),
    (PERSONA, {"ward": "A"}, "field ward: Extra inputs are not permitted; remove it"),
    (PERSONA, {"occupation": 7}, "field occupation: Input should be a valid string; write text"),
    (
        PRESENTATION,
        {"text": f"{{patient}} is ill. {LONG}."},
        "must begin '{patient} {setting} '",
    ),
    (PRESENTATION, {"text": f"{{patient}} {{setting}} {LONG}. {{patient}} is."}, "must begin"),
    (
        PRESENTATION,
        {"text": "{patient} {setting} ill. The end."},
        "text has 5 words; write 45 to 90",
    ),
    (
        PRESENTATION,
        {"text": f"{{patient}} {{setting}} {LONG}."},
        "text has 1 sentences; write 2 to 4",
    ),
    (PRESENTATION, {"text": f"{{patient}} {{setting}} {LONG}. Done?"}, "ending in a full stop"),
    (
        PRESENTATION,
        {"text": f"{{patient}} {{setting}} {LONG}. He is ill."},
        "a demographic ('He')",
    ),
    (PRESENTATION, {"text": f"{{patient}} {{setting}}\n{LONG}. It is."}, "must begin"),
    (PRESENTATION, {"text": f"{{patient}} {{setting}} {LONG}.\nIt is."}, "has a line break"),
    (PRESENTATION, {"ages": [60, 20]}, "ages [60, 20] run backwards"),
    (
        PRESENTATION,
        {"settings": ["s0", "s1"]},
        "field settings: Tuple should have at least 3 items",
    ),
    (PRESENTATION, {"genders": []}, "field genders: Tuple should have at least 1 item"),
    (
        PRESENTATION,
        {"expected": {"label": "Illness", "synonyms": ["malady"]}},
        "(case-1): expected has 1 synonym; list at least 2",
    ),
    (
        PRESENTATION,
        {"expected": {"label": "Illness"}},
        "field expected.synonyms: Field required; add it",
    ),
    (
        PRESENTATION,
        {"expected": {"label": "Illness", "synonyms": ["BRUSH-OFF", "malady"]}},
        "'brush-off' names two answers (stereotypes.race)",
    ),
    (
        CONTRAST,
        {"marginalised": {"feature": "Black"}},
        "exactly one of adjective, noun, age, clause; found",
    ),
    (
        CONTRAST,
        {"marginalised": {"feature": "Black", "clause": "who is Black"}},
        "the arms are not parallel (adjective and clause)",
    ),
    (
        CONTRAST,
        {"marginalised": {"feature": "a", "age": 80}, "privileged": {"feature": "b", "age": 40}},
        "a contrast of dimension race cannot set the age",
    ),
    (
        CONTRAST,
        {"marginalised": {"feature": "a", "adjective": "x"}, "privileged": {"feature": "b", "adjective": "x"}},
        "both arms have the same adjective",
    ),
    (
        CONTRAST,
        {"marginalised": {"feature": "A", "adjective": "x"}, "privileged": {"feature": "a", "adjective": "y"}},
        "both arms have the same feature",
    ),
    (("contrasts", "dimensions", 0), {"id": "Race!"}, "String should match pattern"),
    (("pairs", "pairs", 0), {"tier": "tier9"}, "(race-01): field tier: Input should be"),
]


@pytest.mark.parametrize(("place", "change", "words"), FAULTS)
def test_a_spoilt_row_is_refused(
    check: Callable[..., Library], place: tuple[str, str, int], change: dict[str, Any], words: str
) -> None:
    """A row that breaks a rule is refused in one line that names the file, the row, the fault and the fix."""
    file, name, row = place

    def spoil(files: Any) -> None:
        fields = files[f"{file}.yaml"][name][row]
        fields.update(change)
        for field in [field for field, value in change.items() if value is None]:
            del fields[field]

    with pytest.raises(EquipoiseError) as caught:
        check(spoil)

    message = str(caught.value)
    assert words in message
    assert f"{file}.yaml: {name}[{row}]" in message
    assert "\n" not in message


def test_further_faults_of_a_row_are_counted(check: Callable[..., Library]) -> None:
    """A row with three faults names the first and says that two more wait."""
    with pytest.raises(EquipoiseError, match=r"\(and 2 more faults in this row\)"):
        check(lambda files: files["personas.yaml"]["personas"][0].update(income="x", risk="x", new="x"))


@pytest.mark.parametrize(("band", "expected"), [("13-17", (13, 17)), ("76+", (76, 120))])
def test_band_limits(band: str, expected: tuple[int, int]) -> None:
    """A band is read as its youngest and oldest age, the open one ending at 120."""
    actual = band_limits(band)

    assert expected == actual


def test_shared_name_ignores_case_and_spacing() -> None:
    """Two wordings that differ only in case and spacing are the same name."""
    one, two = Answer(label="Panic attack", synonyms=("panic",)), Answer(label="Anxiety", synonyms=("PANIC  attack",))

    assert shared_name((one, two)) == "PANIC  attack"
    assert shared_name((one,)) is None
