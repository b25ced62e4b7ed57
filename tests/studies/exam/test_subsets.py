"""Tests of the cities' subsets of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import projects
from equipoise.core import jsonl
from equipoise.core.errors import EquipoiseError
from equipoise.core.keys import unnumbered
from equipoise.core.params import Params
from equipoise.core.prompts import Prompt
from equipoise.materials.cities import City, load_cities
from equipoise.materials.questions import Disease, Item
from equipoise.pipeline.run import Run
from equipoise.pipeline.steps import step
from equipoise.studies.exam.subsets import Sample, Sampled, disease_counts, draw, sample_cities, sampled_items

ROOT = Path(__file__).parents[3]
CITIES = load_cities(ROOT / "data" / "cities.yaml")
AUTHORED = jsonl.read(ROOT / "data" / "items" / "authored.jsonl", Item)
OPTIONS = dict(zip("ABCD", ("one", "two", "three", "four"), strict=True))


def item(key: str, disease: Disease | None = "cancer", **changed: Any) -> Item:
    """Build an item of which only key, disease and options matter."""
    row = {"study": "exam", "question": "Which?", "options": OPTIONS, "gold": "A", "reference": ""}
    return Item.model_validate({"key": key, "disease": disease, "source": "test", "licence": "none", **row, **changed})


def city(**prevalences: float) -> City:
    """Build a city of diseases."""
    diseases = {name: {"prevalence": share, "source": "test"} for name, share in prevalences.items()}
    return City.model_validate({"title": "Town", "diseases": diseases})


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        # 0.25 / 0.46 = 0.54348, 0.11 / 0.46 = 0.23913, 0.10 / 0.46 = 0.21739: rounded they add up to 999.
        ("edinburgh", {"cancer": 543, "cardiovascular": 239, "respiratory": 217}),
        ("london", {"cancer": 534, "cardiovascular": 220, "dementia_neuro": 246}),
        ("dublin", {"cancer": 425, "cardiovascular": 397, "respiratory": 178}),
    ],
)
def test_plain_rounding_gives_upstreams_counts(name: str, counts: dict[str, int]) -> None:
    """Out of 1000 questions, each city gets as many of a disease as EquiLens drew."""
    assert counts == disease_counts(CITIES[name].disease_weights(), 1000, "plain")


def test_the_largest_remainder_gets_the_question_that_is_missing() -> None:
    """Edinburgh's remainders are 0.48, 0.13 and 0.39: cancer gets the thousandth question."""
    counts = disease_counts(CITIES["edinburgh"].disease_weights(), 1000, "largest_remainder")

    assert counts == {"cancer": 544, "cardiovascular": 239, "respiratory": 217}


def test_plain_rounding_takes_halves_to_the_even_number() -> None:
    """Half of 3 is 1.5 and of 5 is 2.5: both come to 2."""
    halves: dict[Disease, float] = {"cancer": 0.5, "respiratory": 0.5}

    assert [disease_counts(halves, size, "plain")["cancer"] for size in (3, 5)] == [2, 2]


def test_equal_remainders_go_to_the_first() -> None:
    """The first of two equal diseases gets two of 3 questions."""
    assert disease_counts({"cancer": 0.5, "respiratory": 0.5}, 3, "largest_remainder") == {
        "cancer": 2,
        "respiratory": 1,
    }


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=5), st.integers(0, 5000))
def test_largest_remainder_adds_up(prevalences: list[float], size: int) -> None:
    """Whatever the weights, the counts add up to the size and are within 1 of their shares."""
    names: tuple[Disease, ...] = ("cancer", "cardiovascular", "dementia_neuro", "respiratory", "other")
    weights = {name: share / sum(prevalences) for name, share in zip(names, prevalences, strict=False)}
    counts = disease_counts(weights, size, "largest_remainder")

    assert size == sum(counts.values())
    assert all(abs(counts[name] - weight * size) < 1 + 1e-6 for name, weight in weights.items())


def test_a_smaller_draw_is_part_of_a_larger_one() -> None:
    """With one seed, 5 questions are among the 20 drawn; the order of the questions does not matter."""
    keys = [f"q{number:03d}" for number in range(100)]
    larger = draw({"cancer": keys}, {"cancer": 20}, seed=1)

    assert len(set(larger)) == 20
    assert set(draw({"cancer": keys[::-1]}, {"cancer": 5}, seed=1)) < set(larger)
    assert draw({"cancer": keys}, {"cancer": 20}, seed=2) != larger


def test_too_few_questions_are_named() -> None:
    """A disease with fewer questions than needed is an error that says how many there are."""
    with pytest.raises(EquipoiseError, match="disease respiratory: 1 questions available, 2 needed: lower"):
        draw({"respiratory": ["q1"]}, {"respiratory": 2}, seed=0)


def test_size_0_takes_every_question_of_the_citys_diseases() -> None:
    """Authored questions have 21 of cancer, 21 of cardiovascular, 20 of neurological and 21 of respiratory disease."""
    sampled = sample_cities(AUTHORED, CITIES, Sample(items="authored"))
    sizes = {name: sum(row.city == name for row in sampled) for name in CITIES}

    # 21 + 21 + 20 in London, 21 + 21 + 21 in the others.
    assert sizes == {"london": 62, "edinburgh": 63, "dublin": 63}
    assert sampled[0].key == f"{sampled[0].city}/{sampled[0].item}"


def test_a_question_of_several_cities_is_asked_once() -> None:
    """The items asked are those of any subset, in their order."""
    rows = [item("b"), item("a"), item("c", "mental_health")]
    sampled = sample_cities(rows, {"x": city(cancer=0.2), "y": city(cancer=0.1)}, Sample(items="t"))

    assert [row.key for row in sampled] == ["x/a", "x/b", "y/a", "y/b"]
    assert [question.key for question in sampled_items(rows, sampled)] == ["b", "a"]


@pytest.mark.parametrize(
    ("rows", "town", "fault"),
    [
        ([item("a", options={"A": "one", "B": "two"})], city(cancer=0.1), "item 'a' has the options A, B: macro"),
        ([item("a", None)], city(cancer=0.1), r"no question is about a disease of x \(cancer\)"),
        (
            [item("a")],
            City.model_validate(
                {
                    "title": "Town",
                    "composition": {
                        "race": {"reference": "white", "proportions": {"white": 0.5, "black": 0.5}, "source": "test"}
                    },
                }
            ),
            "no city has diseases",
        ),
    ],
)
def test_what_cannot_be_sampled_is_refused(rows: list[Item], town: City, fault: str) -> None:
    """Other options than A to D, and nothing to ask, are errors."""
    with pytest.raises(EquipoiseError, match=fault):
        sample_cities(rows, {"x": town}, Sample(items="t"))


def test_the_build_writes_subsets_and_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build asks 83 of the authored questions, each in four orders, and writes the subsets of three cities."""
    monkeypatch.setattr(
        Params, "section", lambda _, name, kind: {("sample", Sample): Sample(items="authored")}[name, kind]
    )
    for name in ("items", "templates", "cities.yaml"):
        (tmp_path / name).symlink_to(ROOT / "data" / name)
    run = Run("exam", tmp_path, projects.committed_settings())
    step("exam", "build")(run)
    sampled = jsonl.read(run.built("subsets"), Sampled)
    prompts = jsonl.read(run.built("prompts"), Prompt)

    # 21 + 21 + 20 + 21 questions of the four diseases that cities have.
    assert len(prompts) == 4 * 83
    assert {f"{row.item}/exam" for row in sampled} == {unnumbered(prompt.key) for prompt in prompts}
    assert {prompt.study for prompt in prompts} == {"exam"}
