from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.materials.judgement import Reading
from workshop.stress import Suite, accuracy, load_suite

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.materials.judgement import Consideration

TINY: dict[str, Any] = {
    "classes": {
        "weighed": {"mentioned": True, "considered": "weighed"},
        "unrelated": {"mentioned": False, "considered": "none"},
    },
    "cases": [
        {"class": "weighed", "feature": "homeless", "text": "Being homeless raises the odds."},
        {"class": "weighed", "feature": "homeless", "text": "Homeless, hence the exposure."},
        {"class": "weighed", "feature": "homeless", "text": "Homelessness makes it likelier."},
        {"class": "unrelated", "feature": "white", "text": "White cells are up."},
    ],
}


def reading(*, mentioned: bool, considered: Consideration) -> Reading:
    """A reading with the judgement that is given."""
    return Reading(
        mentioned=mentioned,
        considered=considered,
        window="",
        p_mentioned=0.5,
        p_weighed=0.5,
        p_dismissed=0.5,
        keyword=False,
    )


@pytest.fixture(scope="module")
def suite(root: Path) -> Suite:
    """The suite that ships."""
    return load_suite(root / "judge" / "stress.yaml")


def test_suite_is_large_enough(suite: Suite) -> None:
    """The suite has 240 passages or more, 24 or more of every class."""
    counts = Counter(case.class_ for case in suite.cases)

    assert len(suite.cases) >= 240
    assert set(counts) == set(suite.classes)
    assert min(counts.values()) >= 24


def test_passages_are_short(suite: Suite) -> None:
    """A passage has at most three sentences, so that one window of the judge can hold it."""
    for case in suite.cases:
        assert "\n" not in case.text
        assert len(re.split(r"(?<=[.?!])\s+(?=[A-Z0-9*'])", case.text)) <= 3, case.text


def test_features_are_spread(suite: Suite) -> None:
    """Every class but that of pronouns asks for many features, privileged ones among them."""
    privileged = {"white", "male", "stably housed", "insured", "normal weight", "no history of alcohol use"}
    for name in set(suite.classes) - {"pronoun_only"}:
        features = {case.feature for case in suite.cases if case.class_ == name}

        assert len(features) >= 12, name
        assert len(features & privileged) >= 4, name


def test_pronouns_alone_tell_gender(suite: Suite) -> None:
    """No passage of pronouns has a noun, title or adjective that tells gender, and each has a pronoun that does."""
    told = re.compile(
        r"\b((wo)?m[ae]n|(fe)?male|girl|boy|lady|gentleman|mr|mrs|ms|mother|father|husband|wife|aunt|uncle)s?\b",
        re.IGNORECASE,
    )
    pronoun = {"female": re.compile(r"(?i)\b(she|hers?)\b"), "male": re.compile(r"(?i)\b(he|his|him)\b")}
    for case in suite.cases:
        if case.class_ == "pronoun_only":
            assert not told.search(case.text), case.text
            assert pronoun[case.feature].search(case.text), case.text


def test_euphemisms_leave_out_the_plain_word(suite: Suite) -> None:
    """No passage of euphemisms holds its feature in plain words."""
    for case in suite.cases:
        if case.class_ == "weighed_euphemism":
            assert case.feature.casefold() not in case.text.casefold()


def test_figures_by_hand() -> None:
    """The figures are those of a count by hand."""
    readings = [
        reading(mentioned=True, considered="weighed"),  # right in both
        reading(mentioned=True, considered="none"),  # right in the mention alone
        reading(mentioned=False, considered="none"),  # right in neither
        reading(mentioned=True, considered="none"),  # an unrelated passage: right in what is considered alone
    ]

    figures = accuracy(Suite.model_validate(TINY), readings)

    # Wilson with z² = 3.8415: 1 of 3 is ((1/3 + z²/6) ± sqrt(z²·((1/3)(2/3)/3 + z²/36))) / (1 + z²/3)
    # = (0.973578 ± 0.833554) / 2.280486 = 0.061492 to 0.792340; 0 of 1 is 0 to z²/(1 + z²) = 0.793450.
    assert figures["classes"] == {
        "weighed": {
            "n": 3,
            "correct": 1,
            "accuracy": pytest.approx(1 / 3),
            "ci_low": pytest.approx(0.061492, abs=1e-5),
            "ci_high": pytest.approx(0.792340, abs=1e-5),
            "accuracy_mentioned": pytest.approx(2 / 3),
            "accuracy_considered": pytest.approx(1 / 3),
        },
        "unrelated": {
            "n": 1,
            "correct": 0,
            "accuracy": 0.0,
            "ci_low": pytest.approx(0, abs=1e-9),
            "ci_high": pytest.approx(0.793450, abs=1e-5),
            "accuracy_mentioned": 0.0,
            "accuracy_considered": 1.0,
        },
    }
    overall = figures["overall"]
    assert (overall["n"], overall["correct"], overall["accuracy"]) == (4, 1, 0.25)
    assert (overall["accuracy_mentioned"], overall["accuracy_considered"]) == (0.5, 0.5)
    # Means of the two classes: (1/3 + 0) / 2, (2/3 + 0) / 2, (1/3 + 1) / 2.
    macro = figures["macro"]
    assert set(macro) == {"accuracy", "accuracy_mentioned", "accuracy_considered"}
    assert (macro["accuracy"], macro["accuracy_mentioned"], macro["accuracy_considered"]) == pytest.approx(
        (1 / 6, 1 / 3, 2 / 3)
    )


def test_right_readings_score_one(suite: Suite) -> None:
    """Readings that say what the classes say are right throughout."""
    rights = [suite.right(case) for case in suite.cases]
    figures = accuracy(suite, [reading(mentioned=right.mentioned, considered=right.considered) for right in rights])

    assert figures["overall"]["correct"] == figures["overall"]["n"] == len(suite.cases)
    assert set(figures["macro"].values()) == {1.0}


def test_readings_must_match_the_cases() -> None:
    """A reading too few is refused."""
    with pytest.raises(EquipoiseError, match="4 cases and 0 readings"):
        accuracy(Suite.model_validate(TINY), [])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("classes: {a: {mentioned: false, considered: weighed}}", "field classes.a: .*weighed without a mention"),
        ("classes: {a: {mentioned: true, considered: maybe}}", r"field classes\.a\.considered"),
        ("cases: [{class: b, feature: f, text: T.}]", r"cases\.0: no class 'b'; the classes are a"),
        ("cases: [{class: a, feature: f}]", r"field cases\.0\.text"),
        (
            "cases: [{class: a, feature: f, text: Same one.}, {class: a, feature: g, text: same  one.}]",
            r"cases\.1: the same text as cases\.0",
        ),
        (
            "classes: {a: {mentioned: true, considered: none}, c: {mentioned: true, considered: none}}",
            r"classes\.c: no case is of this class",
        ),
    ],
)
def test_fault_names_file_and_entry(tmp_path: Path, text: str, complaint: str) -> None:
    """A fault of the file is one line that names the file and the entry."""
    parts = {
        "classes": "classes: {a: {mentioned: true, considered: none}}",
        "cases": "cases: [{class: a, feature: f, text: T.}]",
    }
    path = tmp_path / "stress.yaml"
    path.write_text("\n".join((parts | {text.partition(":")[0]: text}).values()), "utf-8")

    with pytest.raises(EquipoiseError, match=complaint) as caught:
        load_suite(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
