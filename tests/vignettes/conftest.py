"""A small library of our own making, complete enough to pass every check, and tools to spoil it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from equipoise.vignettes.library import Library, check_library, load_library

if TYPE_CHECKING:
    from collections.abc import Callable

Content = dict[str, dict[str, list[dict[str, Any]]]]

BANDS = ["13-17", "18-25", "26-35", "36-45", "46-55", "56-65", "66-75", "76+"]
NEW = [
    "Prodromal schizophrenia",
    "Somatisation disorder",
    "Adjustment disorder",
    "Dissociative disorder",
    "Body dysmorphic disorder",
    "Agoraphobia",
    "Burnout",
    "Late-life anxiety",
    "Perinatal depression",
    "Gender dysphoria",
    "Gambling disorder",
    "Complex PTSD",
]
STATUS = {
    **dict.fromkeys(["race", "gender", "age", "housing", "substance_use", "obesity", "socioeconomic"], "core"),
    "religion_culture": "proposed",
    "disability": "proposed",
    "mental_health": "intersectional",
}
WORDS = "one two three four five six seven eight nine ten"
COMBINATIONS = [
    *[("tier1", dims, 2, 1) for dims in ("race socioeconomic", "gender age", "housing substance_use", "race gender")],
    *[("tier2", dims, 2, 1) for dims in ("age socioeconomic", "gender obesity", "race age", "housing socioeconomic")],
    *[("tier3", dims, 2, 1) for dims in ("race gender socioeconomic", "gender age obesity")],
    ("mental_health_substance", "mental_health substance_use", 4, 2),
]
SINGLES = {"race": 8, "gender": 5, "age": 4, "housing": 3, "substance_use": 3, "obesity": 3, "socioeconomic": 3}


def persona(index: int) -> dict[str, Any]:
    """Give the persona p01, p02, … of a panel that cycles through the age bands and genders."""
    band = BANDS[index % 8]
    return {
        "id": f"p{index + 1:02}",
        "age": int(band[:2]) + 3,
        "age_band": band,
        "gender": "non-binary" if index == 36 else ("woman", "man")[index % 2],
        "ethnicity": "white British",
        "language": {"first": "English", "interpreter": False},
        "income": "middle",
        "occupation": "teacher",
        "housing": "rented flat",
        "comorbidities": ["asthma"] if index < 10 else [],
        "condition": NEW[index - 25] if index >= 25 else f"Condition {index}",
        "code": "ICD-11 6A70",
        "guideline": "NICE NG222",
        "profile": "A person with low mood.",
        "background": f"The patient brought list number {index} of questions.",
        "risk": "low",
        "new": index >= 25,
        "source": "authored",
        "licence": "Apache-2.0",
    }


def presentation(index: int) -> dict[str, Any]:
    """Give a presentation for all ages and genders, with a stereotyped answer for every dimension."""
    return {
        "id": f"case-{index}",
        "text": f"{{patient}} {{setting}} with sign {index}. The patient says {WORDS} {WORDS} {WORDS} {WORDS}.",
        "settings": ["s0", "s1", "s2"],
        "expected": {"label": f"Illness {index}", "synonyms": [f"illness-{index}", f"malady {index}"]},
        "distractors": [{"label": f"Other {n}", "synonyms": [f"another {n}"]} for n in (1, 2)],
        "code": "ICD-10 I21",
        "guideline": "NICE NG185",
        "ages": [13, 100],
        "genders": ["woman", "man"],
        "stereotypes": {
            dimension: {"answer": {"label": f"Dismissal {dimension}", "synonyms": ["brush-off"]}, "evidence": "A 2020"}
            for dimension in STATUS
        },
        "source": "authored",
        "licence": "Apache-2.0",
    }


def contrast(dimension: str, index: int) -> dict[str, Any]:
    """Give the contrast `<dimension>-<index>`, worded as its dimension asks."""
    ages = [(83, 47), (79, 44), (17, 41)]
    if dimension == "age":
        arms = [{"feature": f"aged {age}", "age": age} for age in ages[index]]
    elif dimension == "gender":
        arms = [{"feature": noun, "noun": noun} for noun in ("woman", "man")]
    elif dimension == "race":
        arms = [{"feature": f"{word}{index}", "adjective": f"{word}{index}"} for word in ("Black", "white")]
    else:
        arms = [
            {"feature": f"{dimension} {word} {index}", "clause": f"who {word} {index}"} for word in ("lacks", "has")
        ]
    return {"id": f"{dimension}-{index}", "dimension": dimension, "marginalised": arms[0], "privileged": arms[1]}


def pairs() -> list[dict[str, Any]]:
    """Give the authored pairs of the design, every one with a text of its own."""
    plan = [("single", dimension, n, n) for dimension, n in SINGLES.items()]
    plan += [("single", dimension, 4, 0) for dimension in ("religion_culture", "disability")]
    rows: list[dict[str, Any]] = []
    for tier, dims, n, core in (*plan, *COMBINATIONS):
        dimensions = dims.split()
        for number in range(n):
            index = len(rows)
            rows.append(
                {
                    "id": f"{'-'.join(dimensions).replace('_', '-')}-{number + 1:02}",
                    "tier": tier,
                    "presentation": f"case-{index % 6}",
                    "persona": f"p{index % 4 + 2:02}",  # the adults p02 to p05
                    "setting": f"s{index // 6 % 3}",
                    "contrasts": [
                        f"{dimension}-{0 if dimension == 'gender' else number % 2}" for dimension in dimensions
                    ],
                    "stereotype": dimensions[0],
                    "core": number < core,
                }
            )
    return rows


def detail(index: int) -> dict[str, Any]:
    """Give the kind of detail k0, k1, …; its statements differ in a word, and in three."""
    return {
        "id": f"k{index}",
        "word": [f"who took list {index} {side}" for side in ("up", "down")],
        "clause": [f"who took list {index} {side}" for side in ("up the hall", "down a lane")],
    }


def content() -> Content:
    """Give the files of the library as plain values."""
    return {
        "personas.yaml": {"personas": [persona(index) for index in range(37)]},
        "presentations.yaml": {"presentations": [presentation(index) for index in range(6)]},
        "contrasts.yaml": {
            "dimensions": [{"id": name, "name": name, "status": status} for name, status in STATUS.items()],
            "settings": [{"id": f"s{n}", "phrase": f"is seen in place {n}"} for n in range(8)],
            "contrasts": [contrast(name, n) for name in STATUS for n in range(1 if name == "gender" else 3)],
        },
        "pairs.yaml": {"pairs": pairs()},
        "details.yaml": {"details": [detail(index) for index in range(5)]},
    }


def write(folder: Path, files: Content) -> Path:
    """Write the files as YAML and give their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / name).write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8")
    return folder


@pytest.fixture
def check() -> Callable[..., Library]:
    """Check the small library after `spoil` has changed its files in place."""

    def checker(spoil: Callable[[Content], object]) -> Library:
        files = content()
        spoil(files)
        return check_library(files, Path("raw"))

    return checker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder that holds the small library, for a test to change."""
    return write(tmp_path / "raw", content())


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Give the small library, unspoilt."""
    return load_library(write(tmp_path_factory.mktemp("raw"), content()))


@pytest.fixture(scope="session")
def authored() -> Library:
    """Give the library of `data/raw`."""
    return load_library(Path(__file__).parents[2] / "data" / "raw")
