"""Rules that one authored row must keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.materials.stories.schema import Guideline, band_limits, shared_name
from equipoise.text.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.materials.stories.library import Library

FORTY = " ".join(["word"] * 40)
EVIDENCE = {"grade": "A", "group": "race-all", "error": "missed", "source": "Author 2020, Journal"}
EVIDENCE |= {"comparison": True, "error_named": True}
PARTS = {"history": f"Word {FORTY}.", "examination": "Word " * 19 + "word.", "test": "Word " * 9 + "word."}
KNOWN = {"value": 0.5, "low": 0, "high": 1, "note": "twice as common", "source": "Author 2020, Journal"}
GUIDELINE = {"id": "NICE NG219", "title": "Gout: diagnosis", "year": 2022}
ANSWER = {"label": "Gout", "synonyms": ["podagra"], "code": "ICD-11 FA25"}
ROW = {"dimension": "race", "answer": ANSWER, "evidence": EVIDENCE, "log_ratio": KNOWN}

PERSONA, PRESENTATION, CONTRAST = (
    ("personas", "personas", 4),
    ("presentations/made_up", "presentations", 1),
    ("contrasts", "contrasts", 0),
)

ONE_NAME = {"label": "Gout", "synonyms": ["Sickness", "podagra"], "code": "ICD-11 FA25"}


def without(field: str) -> dict[str, Any]:
    """Give a sound stereotype without one of its fields."""
    return {name: value for name, value in ROW.items() if name != field}


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
    (PERSONA, {"social": "She came."}, "social states a demographic ('She'); write {they} or {their}"),
    (PERSONA, {"social": "{They} came"}, "social may have no braces but {they}, {them}, {their}, {They}, {Their}, and"),
    (PERSONA, {"social": "word " * 45 + "word."}, "(p05): social has 46 words; write at most 45"),
    (PERSONA, {"ward": "A"}, "field ward: Extra inputs are not permitted; remove it"),
    (PERSONA, {"occupation": 7}, "field occupation: Input should be a valid string; write text"),
    (
        PRESENTATION,
        {"opening": "{patient} comes with a new trouble of a few days."},
        "must be one sentence with {patient}",
    ),
    (PRESENTATION, {"opening": "{patient} {setting} with {patient} of a few days and no more."}, "{setting} once each"),
    (PRESENTATION, {"opening": "{patient} {setting} with a trouble. It began a few days ago at home."}, "one sentence"),
    (PRESENTATION, {"opening": "{patient} {setting} in pain."}, "opening has 4 words; write 9 to 28"),
    (
        PRESENTATION,
        {"opening": "{patient} {setting} because of pain for 3 days and a temperature at night."},
        "(case-1): opening, the stub, has a finding ('3'); move it to the history",
    ),
    (
        PRESENTATION,
        {"opening": "{patient} {setting} because of a sickness that began some days ago.", "expected": ONE_NAME},
        "opening, the stub, names an answer ('Sickness'); say in lay words",
    ),
    (
        PRESENTATION,
        {"opening": "{patient} {setting} because of what may be a brush-off of race, some days ago."},
        "opening, the stub, names an answer ('brush-off of race')",
    ),
    (PRESENTATION, {"history": f"He says {FORTY}."}, "history states a demographic ('He')"),
    (PRESENTATION, {"history": "Too few words."}, "history has 3 words; write 30 to 60"),
    (PRESENTATION, {"history": f"Word\n{FORTY}."}, "history has a line break; write it as one paragraph"),
    (
        PRESENTATION,
        {"history": f"Word {FORTY}"},
        "history may have no braces but {they}, {them}, {their}, ",
    ),
    (PRESENTATION, {"history": f"{{patient}} {FORTY}."}, "history may have no braces but {they}"),
    # parts of the fewest words that are allowed after an opening of 14 and before a test of 6: 14 + 30 + 20 + 12 = 76
    (
        PRESENTATION,
        {
            "history": "Word " * 29 + "word.",
            "background": "Word " * 19 + "word.",
            "examination": "Word " * 11 + "word.",
        },
        "story has 76 words without the test and 82 with it; write at least 88 and at most 165",
    ),
    (PRESENTATION, {"layout": "opening"}, "field layout: Extra inputs are not permitted; remove it"),
    (
        PRESENTATION,
        {"guideline": GUIDELINE},
        "(case-1): guideline.title 'Gout: diagnosis' has no word of 'Illness 1' or its synonyms; cite a",
    ),
    (PRESENTATION, {"guideline": GUIDELINE | {"year": 20}}, "field guideline.year: Input should be greater than or"),
    (PRESENTATION, {"stereotypes": []}, "field stereotypes: Tuple should have at least 1 item"),
    (
        PRESENTATION,
        {"stereotypes": [without("evidence")]},
        "(case-1): field stereotypes.0.evidence: Field required; add it",
    ),
    (PRESENTATION, {"stereotypes": [without("log_ratio")]}, "field stereotypes.0.log_ratio: Field required; add it"),
    (
        PRESENTATION,
        {"stereotypes": [ROW | {"log_ratio": KNOWN | {"high": 0.25}}]},
        "field stereotypes.0.log_ratio: value 0.5 does not lie between low 0.0 and high 0.25, at most 12 nats apart",
    ),
    *[
        (
            PRESENTATION,
            {"stereotypes": [ROW | {"evidence": EVIDENCE | {flag: False}}]},
            "field stereotypes.0.evidence: grade A needs a comparison group and a paper that names the error; write B",
        )
        for flag in ("comparison", "error_named")
    ],
    (
        PRESENTATION,
        {"stereotypes": [ROW | {"evidence": "Author 2020"}]},
        "field stereotypes.0.evidence: Input should be",
    ),
    (
        PRESENTATION,
        {"stereotypes": [ROW | {"evidence": EVIDENCE | {"grade": "D"}}]},
        "field stereotypes.0.evidence.grade: Input should be 'A', 'B' or 'C'",
    ),
    (
        PRESENTATION,
        {"stereotypes": [ROW | {"evidence": EVIDENCE | {"source": " "}}]},
        "field stereotypes.0.evidence.source: String should have at least 1 character; write some text",
    ),
    (
        PRESENTATION,
        {"stereotypes": [ROW | {"mirror": PARTS | {"answer": "Pseudogout"}}]},
        "(case-1): field stereotypes.0: mirror.answer is 'Pseudogout', not the stereotyped answer 'Gout'; write",
    ),
    (
        PRESENTATION,
        {"stereotypes": [ROW | {"mirror": PARTS | {"answer": "Gout", "test": "Word."}}]},
        "(case-1): stereotypes (race): mirror.test has 1 words; write 6 to 26",
    ),
    (
        PRESENTATION,
        {"stereotypes": [ROW | {"mirror": PARTS | {"answer": "Gout", "test": "She " * 9 + "word."}}]},
        "mirror.test states a demographic ('She')",
    ),
    *[
        (
            PRESENTATION,
            {"stereotypes": [ROW | {"answer": ANSWER | {"code": code}}]},
            "(case-1): field stereotypes.0.answer.code: String should match pattern",
        )
        # of ICD-10, without its classification, without its letter, and with a chapter that there is not
        for code in ("ICD-10 I21", "FA25", "ICD-11 F025", "ICD-11 ZA25", "ICD-11 FA25.123")
    ],
    (
        PRESENTATION,
        {"stereotypes": [ROW | {"answer": {"label": "Gout", "synonyms": ["podagra"]}}]},
        "field stereotypes.0.answer.code: Field required; add it",
    ),
    (PRESENTATION, {"ages": [60, 20]}, "ages [60, 20] run backwards"),
    (
        PRESENTATION,
        {"settings": ["s0", "s1"]},
        "field settings: Tuple should have at least 3 items",
    ),
    (PRESENTATION, {"genders": []}, "field genders: Tuple should have at least 1 item"),
    (
        PRESENTATION,
        {"expected": ANSWER},
        "(case-1): expected has 1 synonym; list at least 2",
    ),
    (
        PRESENTATION,
        {"expected": {"label": "Illness"}},
        "field expected.synonyms: Field required; add it",
    ),
    (
        PRESENTATION,
        {"expected": ANSWER | {"synonyms": ["BRUSH-OFF of race", "podagra"]}},
        "(case-1): 'brush-off of race' names two answers, stereotypes (race); give",
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
    (CONTRAST, {"groups": []}, "(race-0): field groups: Tuple should have at least 1 item"),
    (
        ("contrasts", "contrasts", 7),
        {"marginalised": {"feature": "a", "clause": "who lacks what takes six words"}},
        "(housing-0): the arms have 6 and 3 words; keep within 2 of each other",
    ),
    (
        CONTRAST,
        {"marginalised": {"feature": "Black", "adjective": "Black", "cues": {"name": {"man": ["Jo Roe"]}}}},
        "(race-0): the arms have different numbers of names; give as many to both, by gender",
    ),
    (
        CONTRAST,
        {"marginalised": {"feature": "Black", "adjective": "Black", "cues": {"area": "who lives in Ware"}}},
        "(race-0): the arms have the same cue, or not the same kinds; give both their own of each kind",
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


def test_the_only_fault_of_a_row_is_the_only_one_named(check: Callable[..., Library]) -> None:
    """A list whose only item is at fault is not another fault: nothing is said of others."""

    def spoil(files: Any) -> None:
        rows = next(content["presentations"] for name, content in files.items() if name.startswith("presentations"))
        rows[0]["stereotypes"] = rows[0]["stereotypes"][:1]
        del rows[0]["stereotypes"][0]["evidence"]

    with pytest.raises(EquipoiseError, match=r"field stereotypes\.0\.evidence: Field required; add it$"):
        check(spoil)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, True),
        ({"title": "Crystal arthritis"}, True),  # a word of a synonym
        ({"title": "Podagras in adults"}, True),  # in another form
        ({"title": "Chronic disease: assessment"}, False),  # words of any diagnosis
        ({"title": "Joints in a toe"}, False),  # "toe" has three letters
    ],
)
def test_a_guideline_names_its_answer(fields: dict[str, Any], named: bool) -> None:  # noqa: FBT001  (a parameter)
    """Its title has a word of the answer, of four letters or more, that says which answer it is."""
    answer = Answer(label="Chronic gout disease", synonyms=("podagra", "crystal toe"))

    assert Guideline.model_validate(GUIDELINE | fields).names(answer) is named


def test_a_guideline_that_does_not_name_its_answer_says_why(check: Callable[..., Library]) -> None:
    """With a reason, a guideline of another title is accepted, and written with its title and year."""
    own = GUIDELINE | {"why": "there is none on malady"}
    library = check(lambda files: files["presentations/made_up.yaml"]["presentations"][1].update(guideline=own))

    assert str(library.presentations["case-1"].guideline) == "NICE NG219, Gout: diagnosis (2022)"


@pytest.mark.parametrize(("band", "expected"), [("13-17", (13, 17)), ("76+", (76, 120))])
def test_band_limits(band: str, expected: tuple[int, int]) -> None:
    """A band is read as its youngest and oldest age, the open one ending at 120."""
    actual = band_limits(band)

    assert expected == actual


def test_shared_name_ignores_case_and_spacing() -> None:
    """Two wordings that differ only in case and spacing are the same name."""
    first, second = (
        Answer(label="Panic attack", synonyms=("panic",)),
        Answer(label="Anxiety", synonyms=("PANIC  attack",)),
    )

    assert shared_name((first, second)) == "PANIC  attack"
    assert shared_name((first,)) is None
