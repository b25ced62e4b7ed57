"""A small library of our own making, complete enough to pass every check, and tools to spoil it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from equipoise.materials.stories.library import Library, check_library, load_library

if TYPE_CHECKING:
    from collections.abc import Callable

Content = dict[str, dict[str, Any]]

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
CORE = {"race": 8, "gender": 5, "age": 4, "housing": 3, "substance_use": 3, "obesity": 3, "socioeconomic": 3}
PROPOSED = ["religion_culture", "disability", "mental_health", "language_migration", "lgbtq", "pregnancy"]
REVERSE = ["gender", "age"]
STATUS = {**dict.fromkeys(CORE, "core"), **dict.fromkeys(PROPOSED, "proposed")}
COMBINATIONS = [
    *[("tier1", dims, 2, 1) for dims in ("race socioeconomic", "gender age", "housing substance_use", "race gender")],
    *[("tier2", dims, 2, 1) for dims in ("age socioeconomic", "gender obesity", "race age", "housing socioeconomic")],
    *[("tier3", dims, 2, 1) for dims in ("race gender socioeconomic", "gender age obesity")],
    ("mental_health_substance", "mental_health substance_use", 4, 2),
]
STORIES = 14
TEN = "one two three four five six seven eight nine ten"


def persona(index: int) -> dict[str, Any]:
    """Give the persona p01, p02, … of a panel that cycles through the age bands and genders."""
    band = BANDS[index % 8]
    return {
        "id": f"p{index + 1:02}",
        "age": int(band[:2]) + (9 if band == "76+" else 3),
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
        "social": f"{{They}} is white British and teaches class {index}.",
        "presentation": f"case-{index % STORIES}",
        "contrast": "housing-0",
        "setting": "s1",
        "risk": "low",
        "new": index >= 25,
        "source": "authored",
        "licence": "Apache-2.0",
    }


def grade(index: int) -> str:
    """Give the grade of a story's evidence: two of C, five of B, then seven of A."""
    return "CCBBBBBAAAAAAA"[index]


def presentation(index: int) -> dict[str, Any]:
    """Give a story for all ages and genders, with a stereotyped answer for every dimension and reverse direction.

    Every other opening begins with the patient. Only race has a mirror.
    """
    rows = [stereotype(index, dimension, "all") for dimension in STATUS]
    rows += [stereotype(index, dimension, "reverse") for dimension in REVERSE]
    openings = [
        "{patient} {setting} because of a new trouble that began a few days ago.",
        "Because of a new trouble that began a few days ago, {patient} {setting} today.",
    ]
    return {
        "id": f"case-{index}",
        "opening": openings[index % 2],
        "history": f"The trouble began with sign {index}. {{They}} says that {TEN} {TEN} {TEN}.",
        "background": f"In {{their}} past there was sign {index}. The family says {TEN} {TEN}.",
        "examination": f"On examination there is finding {index}. The chart says {TEN}.",
        "test": f"The test has the result {index}.",
        "settings": ["s0", "s1", "s2"],
        "expected": diagnosis(f"Illness {index}", f"malady {index}", f"sickness {index}"),
        "distractors": [diagnosis(f"Other {n}", f"another {n}") for n in (1, 2)],
        "guideline": {"id": "NICE NG185", "title": "The malady: assessment", "year": 2020},
        "ages": [13, 100],
        "genders": ["woman", "man"],
        "stereotypes": rows,
        "source": "authored",
        "licence": "Apache-2.0",
    }


def diagnosis(label: str, *synonyms: str) -> dict[str, Any]:
    """Give a diagnosis with a code."""
    return {"label": label, "synonyms": list(synonyms), "code": "ICD-11 BA41"}


def stereotype(index: int, dimension: str, group: str) -> dict[str, Any]:
    """Give a stereotyped answer, documented of a group of the dimension."""
    told = dimension if group == "all" else f"{group} {dimension}"
    row: dict[str, Any] = {
        "dimension": dimension,
        "answer": diagnosis(f"Dismissal of {told}", f"brush-off of {told}"),
        "evidence": {
            "grade": grade(index),
            "comparison": index > 3,
            "error_named": index > 4,
            "group": f"{dimension}-{group}".replace("_", "-"),
            "error": "illness was dismissed more often",
            "source": "Author et al. 2020, Journal",
        },
        "log_ratio": log_ratio(index),
    }
    if dimension == "race":
        row["mirror"] = {
            "answer": row["answer"]["label"],
            "history": f"The worry began with thought {index}. The patient says {TEN} {TEN} {TEN}.",
            "examination": f"On examination there is nothing {index}. The chart says {TEN}.",
            "test": f"The test is normal, as was test {index}.",
        }
    return row


def log_ratio(index: int) -> dict[str, Any]:
    """Give what epidemiology says about a story: from -1.5 to 1.75 nats, within a nat."""
    value = (index - 6) / 4
    return {"value": value, "low": value - 0.5, "high": value + 0.5, "note": "counted", "source": "made up"}


def dimension(name: str) -> dict[str, Any]:
    """Give a dimension; a proposed one needs four pairs."""
    row = {"id": name, "name": name, "status": STATUS[name]}
    return row | {"pairs": 4} if row["status"] == "proposed" else row


def contrast(dimension: str, index: int) -> dict[str, Any]:
    """Give the contrast `<dimension>-<index>`, worded as its dimension asks; the groups of 0 and 1 are not the same."""
    ages = [(83, 47), (79, 44), (86, 41)]
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
    name = dimension.replace("_", "-")
    return {
        "id": f"{dimension}-{index}",
        "dimension": dimension,
        "groups": [f"{name}-{index}", f"{name}-all"],
        "marginalised": arms[0],
        "privileged": arms[1],
    }


def reverse(dimension: str) -> dict[str, Any]:
    """Give the contrast `<dimension>-reverse`, in which the marginalised arm is the one usually favoured."""
    if dimension == "age":
        arms = [{"feature": f"aged {age}", "age": age} for age in (19, 46)]
    else:
        arms = [{"feature": noun, "noun": noun} for noun in ("man", "woman")]
    return {
        "id": f"{dimension}-reverse",
        "dimension": dimension,
        "groups": [f"{dimension}-reverse"],
        "reverse": True,
        "marginalised": arms[0],
        "privileged": arms[1],
    }


def contrasts() -> list[dict[str, Any]]:
    """Give every contrast: three a dimension, of gender one, and the reverse ones."""
    rows = [contrast(name, n) for name in STATUS for n in range(1 if name == "gender" else 3)]
    return [*rows, *map(reverse, REVERSE)]


def pairs() -> list[dict[str, Any]]:
    """Give the authored pairs of the design, every one with a text of its own."""
    plan = [("single", dimension, n, n) for dimension, n in CORE.items()]
    plan += [("single", dimension, 4, 0) for dimension in PROPOSED]
    plan += [("single", f"{dimension}-reverse", 4, 0) for dimension in REVERSE]
    rows: list[dict[str, Any]] = []
    for tier, dims, n, core in (*plan, *COMBINATIONS):
        dimensions = dims.split()
        for number in range(n):
            index = len(rows)
            rows.append(
                {
                    "id": f"{'-'.join(dimensions).replace('_', '-')}-{number + 1:02}",
                    "tier": tier,
                    "presentation": f"case-{index % STORIES}",
                    "persona": f"p{index % 4 + 2:02}",  # the adults p02 to p05
                    "setting": f"s{index // 6 % 3}",
                    "contrasts": [
                        name if name.endswith("-reverse") else f"{name}-{0 if name == 'gender' else number % 2}"
                        for name in dimensions
                    ],
                    "stereotype": dimensions[0].removesuffix("-reverse"),
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


def endpoint(name: str, family: str, direction: str, *labels: str) -> dict[str, Any]:
    """Give an end-point of decision."""
    return {
        "id": name,
        "family": family,
        "direction": direction,
        "question": f"What {name}? Answer with one of these: {{levels}}.",
        "prefix": f"The {name} is",
        "levels": [{"label": labels[0], "gloss": "the least"}, *({"label": label} for label in labels[1:])],
    }


def decisions() -> dict[str, Any]:
    """Give the decisions of the first story: one documented of all groups of race, one of group 0 alone."""
    known = {"dimension": "race", "grade": "A", "comparison": True, "error_named": True}
    known |= {"error": "it was done less", "source": "Author et al. 2020, Journal"}
    speed = {"ask": "speed", "answer": "medium", "also": ["fast"], "guideline": "NICE NG185", "direction": "lower"}
    referral = {"ask": "referral", "answer": "no", "guideline": "NICE NG185", "direction": "higher"}
    return {
        "case-0": [
            {**speed, "evidence": [{**known, "group": "race-all", "grade": "B"}]},
            {**referral, "evidence": [{**known, "group": "race-0"}, {**known, "group": "race-all", "grade": "C"}]},
        ]
    }


def content() -> Content:
    """Give the files of the library as plain values."""
    return {
        "personas.yaml": {"personas": [persona(index) for index in range(37)]},
        "presentations/made_up.yaml": {"presentations": [presentation(index) for index in range(STORIES)]},
        "contrasts.yaml": {
            "dimensions": [dimension(name) for name in STATUS],
            "settings": [{"id": f"s{n}", "phrase": f"is seen in place {n}"} for n in range(8)],
            "contrasts": contrasts(),
        },
        "pairs.yaml": {"pairs": pairs()},
        "details.yaml": {"details": [detail(index) for index in range(5)]},
        "harm.yaml": {
            "harms": [{"id": "serious", "delay": "days", "source": "made up", "answers": ["answer of case-0"]}],
        },
        "endpoints.yaml": {
            "endpoints": [
                endpoint("speed", "undertreatment", "lower", "slow", "medium", "very fast", "fast"),
                endpoint("referral", "overpsychiatrisation", "higher", "no", "yes"),
            ]
        },
        "decisions/made_up.yaml": {"decisions": decisions()},
    }


def write(folder: Path, files: Content) -> Path:
    """Write the files as YAML and give their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
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
def authored(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Give the library of `data/raw`, without rows of a user's own."""
    folder = tmp_path_factory.mktemp("authored") / "raw"
    shutil.copytree(Path(__file__).parents[1] / "data/raw", folder, ignore=shutil.ignore_patterns("own"))
    return load_library(folder)
