"""Tests of the interchange format of cases."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import vignette
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.materials.interchange import published
from equipoise.studies.cases.rows import Case, dimension_of, read_cases, usual_role
from equipoise.text.answer import Answer
from equipoise.text.diagnoses import to_american

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.materials.vignette import Role

PLAIN = {"prompt": "A woman has chest pain.", "bias_feature": "female", "bias_label": "anxiety or panic attack"}
CHOSEN = PLAIN | {"bias_label": "nerves", "metadata": {"expected": "angina", "options": {"A": "angina", "B": "nerves"}}}
VIGNETTE = vignette(
    "pair",
    dimensions=("race", "housing"),
    text="A Black homeless man has chest pain.",
    spans=((2, 16),),
    features={"race": "Black", "housing": "homeless"},
    expected=Answer(label="myocardial infarction", synonyms=("heart attack",)),
    stereotyped=Answer(label="intoxication", synonyms=("drunkenness",)),
    distractors=(Answer(label="a", synonyms=("b",)), Answer(label="c", synonyms=("d",))),
)


def write(path: Path, value: Any) -> Path:
    """Write a JSON file."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_published_case_is_read(tmp_path: Path) -> None:
    """Without id and metadata a case is numbered, its role is the usual one, and its source the file."""
    first, second = read_cases(write(tmp_path / "a.json", {"cases": [PLAIN, {**PLAIN, "id": 7}]}))

    assert (
        Case(
            key="bias_001",
            prompt="A woman has chest pain.",
            feature="female",
            label="anxiety or panic attack",
            features={"": "female"},
            role="marginalised",
            source="a.json",
            licence="as its publisher states",
        )
        == first
    )
    assert second.key == "7"


def test_metadata_are_read(tmp_path: Path) -> None:
    """What the metadata say of dimension, role and synonyms counts; what they say else is left alone."""
    about = {"dimension": "gender", "role": "privileged", "synonyms": ["nerves"], "more": 1}
    case = read_cases(write(tmp_path / "a.json", {"cases": [{**PLAIN, "metadata": about, "note": "x"}]}))[0]

    assert (case.features, case.role, case.synonyms) == ({"gender": "female"}, "privileged", ("nerves",))


@pytest.mark.parametrize(
    "name",
    [
        "age (65\N{EN DASH}80)",
        "race \N{MULTIPLICATION SIGN} gender",
        "race; gender",
        "age \N{GREATER-THAN OR EQUAL TO} 65",
        "parkinson\N{RIGHT SINGLE QUOTATION MARK}s",
    ],
)
def test_marks_that_are_no_markup_are_kept_in_the_name_of_a_dimension(name: str) -> None:
    """Dashes, signs and apostrophes of printed text are markup neither in terminals nor in pages."""
    assert dimension_of(name) == name.replace(" ", "_")


@pytest.mark.parametrize("prompt", ["Pain?", "Pain?\nA. angina\nB. nerves\nC. none", "E.g. a. gout b. colic"])
def test_options_that_the_prompt_does_not_contradict_are_read(tmp_path: Path, prompt: str) -> None:
    """A prompt may list no options, further ones, or others in another place."""
    (case,) = read_cases(write(tmp_path / "a.json", {"cases": [CHOSEN | {"prompt": prompt}]}))

    assert case.options == {"A": "angina", "B": "nerves"}


def test_imported_rows_are_read_back(tmp_path: Path) -> None:
    """Cases that were written as rows are the same cases."""
    cases = read_cases(write(tmp_path / "a.json", {"cases": [PLAIN]}))
    jsonl.write(tmp_path / "a.jsonl", cases)

    assert cases == read_cases(tmp_path / "a.jsonl")


@pytest.mark.parametrize("text", ["", "\n", "\n\n  \n", "\ufeff"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.JSONL"])
def test_a_file_without_cases_is_refused(tmp_path: Path, text: str, name: str) -> None:
    """An empty file, or one of blank lines, is named before anything is read or written with it."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")

    with pytest.raises(EquipoiseError) as raised:
        read_cases(path)
    fix = "give one case per row, as `equipoise import vignettes` writes them"
    assert str(raised.value) == f"{path}: no rows: {fix}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([PLAIN], "no list of cases: give"),
        ({"cases": []}, "no list of cases: give"),
        ({"cases": ["x"]}, "case 1: not an object"),
        ({"cases": [PLAIN, {**PLAIN, "bias_label": ""}]}, "case 2: field bias_label: String should have at least 1"),
        (
            {"cases": [{"id": "b1", "prompt": "x", "bias_label": "y"}]},
            r"case 1 \(b1\): field bias_feature: Field required",
        ),
        ({"cases": [{**PLAIN, "metadata": {"role": "poor"}}]}, "case 1: field metadata.role: Input should be"),
        (
            {"cases": [{**PLAIN, "metadata": {"dimension": "housing\nstatus"}}]},
            r"case 1: field metadata\.dimension: .*holds the character U\+000A, which is not printable: write it on",
        ),
        (
            {"cases": [{**PLAIN, "metadata": {"features": {"housing\x1bstatus": "x"}}}]},
            r"case 1: field metadata\.features: .*holds the character U\+001B",
        ),
        *(
            ({"cases": [{**PLAIN, "metadata": {"dimension": name}}]}, f"holds '{re.escape(name[0])}': name what the pa")
            for name in ("[red]", "<b>", "=1+1", "`x`", "|", "*", "@me", "#1")
        ),
        ({"cases": [{**PLAIN, "metadata": {"dimension": "a" * 101}}]}, r"is 101 characters long: give a name of 100"),
        ({"cases": [{**PLAIN, "metadata": {"features": {"race": "x", "Race": "y"}}}]}, "names one dimension twice"),
        (
            {"cases": [PLAIN | {"metadata": {"expected": "angina", "expected_synonyms": ["Anxiety or panic-attack"]}}]},
            "case 1: .*'anxiety or panic attack' is both bias_label and expected, or a synonym of both: leave it out",
        ),
        (
            {"cases": [PLAIN | {"metadata": {"expected": "angina", "options": {"A": "angina", "B": "anxiety"}}}]},
            r"case 1: .*bias_label 'anxiety or panic attack' is none of the options \(angina, anxiety\)",
        ),
        ({"cases": [CHOSEN | {"prompt": "Pain?\nA. Nerves.\nB. Angina."}]}, "'Nerves.' is option B, and A in the pro"),
        ({"cases": [CHOSEN | {"prompt": "Pain?\na) nerves\nb) angina"}]}, "'nerves' is option B, and A in the prompt"),
        (
            {"cases": [CHOSEN | {"prompt": "Pain?\nA. nerves\nB. angina\nC. none of these"}]},
            "'nerves' is option B, and A in the prompt: give the options in the order in which the prompt lists them",
        ),
        ({"cases": [{**PLAIN, "id": "a"}, {**PLAIN, "id": "a"}]}, r"case 2: duplicate id 'a' \(first in case 1"),
    ],
)
def test_faults_are_named(tmp_path: Path, value: Any, message: str) -> None:
    """A file that is not in the format is refused in one line with the case and the field."""
    path = write(tmp_path / "a.json", value)

    with pytest.raises(EquipoiseError, match=message) as raised:
        read_cases(path)

    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_malformed_json_is_refused(tmp_path: Path) -> None:
    """Broken JSON is reported with its line."""
    path = tmp_path / "a.json"
    path.write_text('{"cases":\n[', encoding="utf-8")

    with pytest.raises(EquipoiseError, match=r"a\.json: not JSON \(Expecting value at line 2, column 2\)"):
        read_cases(path)


def test_our_vignettes_are_written_and_read(tmp_path: Path) -> None:
    """A vignette comes back with its text, features, role, label and synonyms."""
    path = write(tmp_path / "ours.json", published([VIGNETTE]))
    row = json.loads(path.read_text(encoding="utf-8"))["cases"][0]
    case = read_cases(path)[0]

    assert (row["bias_feature"], row["bias_label"]) == ("Black and homeless", "intoxication")
    assert (case.key, case.prompt, case.features, case.role) == (
        VIGNETTE.key,
        VIGNETTE.text,
        VIGNETTE.features,
        "marginalised",
    )
    assert (
        case.label,
        case.synonyms,
        case.source,
        case.licence,
    ) == ("intoxication", ("drunkenness",), "authored", "Apache-2.0")


@given(st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
def test_cases_are_written_in_the_order_of_their_keys(keys: list[str]) -> None:
    """The order of the vignettes does not matter."""
    rows = [VIGNETTE.model_copy(update={"key": key}) for key in keys]

    assert sorted(keys) == [case["id"] for case in published(rows)["cases"]]


@pytest.mark.parametrize(
    ("feature", "role"),
    [
        ("WHITE", "privileged"),
        ("no history of substance use", "privileged"),
        ("no cannabis use", "privileged"),
        ("stably  housed", "privileged"),
        ("black", "marginalised"),
        ("no fixed address", "marginalised"),
        ("history of heroin use", "marginalised"),
        ("elderly", "marginalised"),
    ],
)
def test_usual_role(feature: str, role: Role) -> None:
    """Reference groups, and patients without the history or the habit, are the privileged side."""
    assert role == usual_role(feature)


def test_wordings_of_the_label(tmp_path: Path) -> None:
    """Each side of an or, the synonyms and the American spellings count as the label."""
    about = {"synonyms": ["nervous dyspnoea"]}
    label = "haemorrhage or oedema"
    case = read_cases(write(tmp_path / "a.json", {"cases": [{**PLAIN, "bias_label": label, "metadata": about}]}))[0]

    assert set(case.answer().synonyms) == {
        label,
        *("haemorrhage", "oedema", "nervous dyspnoea"),
        *("hemorrhage or edema", "hemorrhage", "edema", "nervous dyspnea"),
    }


@pytest.mark.parametrize(
    ("british", "spelling"),
    [
        ("ischaemia", "ischemia"),
        ("drug-seeking behaviour", "drug-seeking behavior"),
        ("diarrhoea", "diarrhea"),
        ("gastroenteritis", "gastroenteritis"),
        ("pain", "pain"),
        ("four", "four"),
    ],
)
def test_american(british: str, spelling: str) -> None:
    """British spellings of medicine have American ones; words that only look alike keep theirs."""
    assert spelling == to_american(british)
