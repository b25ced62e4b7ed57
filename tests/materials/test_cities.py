"""Tests of the cities and of the file that ships."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.materials.cities import FILE, load_cities
from equipoise.materials.questions import ATTRIBUTES, Attribute

ROOT = Path(__file__).parents[2]
CITY = """\
paris:
  title: Paris
  composition:
    gender: {reference: female, proportions: {female: 0.5, male: 0.5}, source: made up}
  diseases:
    respiratory: {prevalence: 0.3, source: made up}
    cancer: {prevalence: 0.1, source: made up}
"""


def write(folder: Path, text: str) -> Path:
    """Write a file of cities."""
    path = folder / "cities.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("city", "attribute", "proportions"),
    [
        ("london", "race", {"white": 0.8, "black": 0.2}),
        ("london", "gender", {"male": 0.6, "female": 0.4}),
        ("london", "ses", {"high_income": 0.9, "low_income": 0.1}),
        ("edinburgh", "race", {"white": 0.9, "black": 0.1}),
        ("edinburgh", "gender", {"male": 0.4, "female": 0.6}),
        ("edinburgh", "ses", {"high_income": 0.9, "low_income": 0.1}),
        ("dublin", "race", {"white": 0.9, "black": 0.1}),
        ("dublin", "gender", {"male": 0.5, "female": 0.5}),
        ("dublin", "ses", {"high_income": 0.8, "low_income": 0.2}),
    ],
)
def test_compositions_are_the_tabulated_ones(city: str, attribute: Attribute, proportions: dict[str, float]) -> None:
    """The shipped compositions are those of the reference, whose first group is M."""
    composition = load_cities(ROOT / FILE)[city].composition[attribute]

    assert proportions == composition.proportions
    assert list(proportions) == [composition.reference, composition.other]


@pytest.mark.parametrize(
    ("city", "weights"),
    [
        # 25.0, 10.3 and 11.5 of 46.8
        ("london", {"cancer": 0.5342, "cardiovascular": 0.2201, "dementia_neuro": 0.2457}),
        # 25, 11 and 10 of 46
        ("edinburgh", {"cancer": 0.5435, "cardiovascular": 0.2391, "respiratory": 0.2174}),
        # 31, 29 and 13 of 73; the reference prints 0.4247, 0.3973 and 0.1781
        ("dublin", {"cancer": 0.4247, "cardiovascular": 0.3973, "respiratory": 0.1781}),
    ],
)
def test_disease_weights_are_the_tabulated_ones(city: str, weights: dict[str, float]) -> None:
    """Normalised prevalences are those of the reference, to four places, and add up to 1."""
    computed = load_cities(ROOT / FILE)[city].disease_weights()

    assert weights == {disease: round(weight, 4) for disease, weight in computed.items()}
    assert sum(computed.values()) == pytest.approx(1, abs=1e-12)


def test_every_shipped_row_names_its_source() -> None:
    """All attributes are given, and every row says where it is from."""
    cities = load_cities(ROOT / FILE)

    assert list(cities) == ["london", "edinburgh", "dublin"]
    for city in cities.values():
        assert list(ATTRIBUTES) == list(city.composition)
        assert all("EquiLens" in row.source for row in (*city.composition.values(), *city.diseases.values()))


def test_a_city_is_added_by_a_block(tmp_path: Path) -> None:
    """A new city needs no code: weights keep the file's order, and the reference group may be the unprivileged one."""
    paris = load_cities(write(tmp_path, CITY))["paris"]

    assert list(paris.disease_weights().items()) == [
        ("respiratory", pytest.approx(0.75)),
        ("cancer", pytest.approx(0.25)),
    ]
    assert paris.composition["gender"].other == "male"
    assert paris.reference_group("gender") == "unprivileged"


def test_shipped_reference_groups_are_privileged() -> None:
    """M is the privileged group in all three cities, Edinburgh's men included."""
    cities = load_cities(ROOT / FILE).values()

    assert {city.reference_group(attribute) for city in cities for attribute in ATTRIBUTES} == {"privileged"}


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("male: 0.5}", "male: 0.4}", r"paris.composition.gender: .*add up to 0.9: make them add up to 1"),
        ("{female: 0.5, male: 0.5}", "{female: 1.2, male: -0.2}", r"paris.composition.gender.proportions.female: "),
        ("reference: female", "reference: white", r"'white' is not one of the groups: give female or male"),
        ("{female: 0.5, male: 0.5}", "{female: 0.5, other: 0.5}", r"paris: .*over female, other: give .*male and fem"),
        ("gender:", "height:", r"paris.composition.height"),
        ("cancer: {", "gout: {", r"paris.diseases.gout"),
        ("prevalence: 0.3", "prevalence: 0", r"paris.diseases.respiratory.prevalence: "),
        ("prevalence: 0.3", "prevalence: .nan", r"paris.diseases.respiratory.prevalence: "),
        (", source: made up}\n  diseases", "}\n  diseases", r"paris.composition.gender.source: Field required"),
        (
            "prevalence: 0.3, source: made up",
            'prevalence: 0.3, source: "a\\ab"',
            r"source: .*U\+0007, which is not printable",
        ),
        ("prevalence: 0.3, source: made up", f"prevalence: 0.3, source: {'a' * 20_000}", r"source: .*at most 500"),
        ("title: Paris", 'title: "Pa\\nris"', r"paris.title: .*U\+000A, which is not printable"),
        ("paris:", f"{'a' * 300}:", r"at most 100 characters"),
        ("paris:", "Greater Paris:", r"Greater Paris"),
        ("  title: Paris\n", "  title: Paris\n  mayor: Anne\n", r"paris.mayor: Extra inputs"),
    ],
)
def test_faults_are_reported_in_one_line(tmp_path: Path, before: str, after: str, fault: str) -> None:
    """A fault names the file, the field and what is wrong with it."""
    assert before in CITY

    with pytest.raises(EquipoiseError, match=f"cities.yaml: field .*{fault}") as error:
        load_cities(write(tmp_path, CITY.replace(before, after)))

    assert "\n" not in str(error.value)


def test_a_city_needs_one_of_the_tables(tmp_path: Path) -> None:
    """Composition alone or diseases alone will do, neither will not, nor a file without cities."""
    composition, diseases = CITY.split("  diseases")

    assert load_cities(write(tmp_path, composition))["paris"].disease_weights() == {}
    assert not load_cities(write(tmp_path, "paris:\n  title: Paris\n  diseases" + diseases))["paris"].composition
    with pytest.raises(EquipoiseError, match="a city needs composition or diseases"):
        load_cities(write(tmp_path, "paris: {title: Paris}"))
    with pytest.raises(EquipoiseError, match="at least 1 item"):
        load_cities(write(tmp_path, "{}"))
