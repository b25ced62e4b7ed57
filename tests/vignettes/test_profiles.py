"""The three profiles, of the small library and of the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.core.records import digest
from equipoise.vignettes.library import Library
from equipoise.vignettes.profiles import Profile, build, counts, counts_table, validate

if TYPE_CHECKING:
    from equipoise.core.records import Vignette

ROOT = Path(__file__).parents[2]
SINGLES = {"race": 8, "gender": 5, "age": 4, "housing": 3, "substance_use": 3, "obesity": 3, "socioeconomic": 3}
DIMENSIONS = [*SINGLES, "religion_culture", "disability"]
TIERS = {
    "tier1": ["race+socioeconomic", "gender+age", "housing+substance_use", "race+gender"],
    "tier2": ["age+socioeconomic", "gender+obesity", "race+age", "housing+socioeconomic"],
    "tier3": ["race+gender+socioeconomic", "gender+age+obesity"],
    "mental_health_substance": ["substance_use+mental_health"],
}


@pytest.fixture(params=["library", "authored"])
def any_library(request: pytest.FixtureRequest) -> Library:
    """Give the small library, then the real one."""
    library: Library = request.getfixturevalue(request.param)
    return library


def n_pairs(rows: tuple[Vignette, ...], family: str) -> dict[str, int]:
    """Give the pairs per group of a family, each checked to have two cases a pair."""
    groups = counts(rows)[family]
    assert all(n["n_cases"] == 2 * n["n_pairs"] for n in groups.values())
    return {name: n["n_pairs"] for name, n in groups.items()}


def test_core_has_58_single_and_24_intersectional_cases(any_library: Library) -> None:
    """Profile core is 82 cases: 58 over the seven core dimensions, 24 over the eleven combinations."""
    rows = build(any_library, "core")

    assert len(rows) == 82
    assert n_pairs(rows, "dimension") == SINGLES
    assert n_pairs(rows, "tier") == {"single": 29, "tier1": 4, "tier2": 4, "tier3": 2, "mental_health_substance": 2}
    assert n_pairs(rows, "combination") == {
        **{name: 1 for tier in ("tier1", "tier2", "tier3") for name in TIERS[tier]},
        "substance_use+mental_health": 2,
    }


def test_full_has_every_authored_pair(any_library: Library) -> None:
    """Profile full is every pair of pairs.yaml: the proposed dimensions too, and 8, 8, 4 and 4 intersectional pairs."""
    rows = build(any_library, "full")

    assert len(rows) == 2 * len(any_library.pairs)
    assert {row.pair for row in rows} == set(any_library.pairs)
    tiers = n_pairs(rows, "tier")
    assert tiers["single"] >= 37  # 29 + 4 + 4
    assert tiers == {"single": tiers["single"], "tier1": 8, "tier2": 8, "tier3": 4, "mental_health_substance": 4}
    assert n_pairs(rows, "dimension").keys() == set(DIMENSIONS)


def test_the_real_full_profile(authored: Library) -> None:
    """Of the files in data/raw the profile full has exactly 63 pairs, 126 cases."""
    rows = build(authored, "full")

    # 29 core singles + 5 religion and culture + 5 disability + 24 intersectional
    assert counts(rows)["overall"] == {"all": {"n_pairs": 63, "n_cases": 126}}
    assert n_pairs(rows, "dimension") == {**SINGLES, "religion_culture": 5, "disability": 5}


def test_the_datasheet_states_the_real_counts(authored: Library) -> None:
    """The table of cases in the datasheet has the counts of the three profiles, group by group."""
    counted = [counts(build(authored, profile)) for profile in get_args(Profile)]
    text = (ROOT / "docs" / "datasheet-vignettes.md").read_text(encoding="utf-8")

    for family in ("dimension", "combination", "overall"):
        for group in counted[2][family]:
            cells = [str(each[family].get(group, {"n_cases": 0})["n_cases"]) for each in counted]
            assert f"| {group} | {' | '.join(cells)} |" in text
    for file, n in {
        "personas.yaml": len(authored.personas),
        "presentations.yaml": len(authored.presentations),
        "contrasts.yaml": len(authored.contrasts),
        "pairs.yaml": len(authored.pairs),
    }.items():
        assert f"| `{file}` | {n} " in text


def test_powered_has_30_cases_a_dimension_and_10_a_combination(any_library: Library) -> None:
    """Profile powered is 15 pairs in each of nine dimensions, 5 in each combination, every text different."""
    rows = build(any_library, "powered")

    assert n_pairs(rows, "dimension") == dict.fromkeys(DIMENSIONS, 15)
    assert n_pairs(rows, "combination") == {name: 5 for names in TIERS.values() for name in names}
    assert len({row.text for row in rows}) == len(rows) == 380  # 2 x (9 x 15 + 11 x 5)


def test_powered_is_spread(any_library: Library) -> None:
    """No persona is used twice in a dimension before the fitting ones are spent, and every persona is used."""
    rows = [row for row in build(any_library, "powered") if row.role == "privileged"]
    used = Counter(row.persona for row in rows)

    assert used.keys() == any_library.personas.keys()
    for dimension in DIMENSIONS:
        of_dimension = [row for row in rows if row.dimensions == (dimension,)]
        assert len({row.presentation for row in of_dimension}) >= 3
        assert max(Counter(row.persona for row in of_dimension).values()) <= 3


def test_powered_uses_presentations_evenly(library: Library) -> None:
    """Where every presentation fits, its uses in a dimension differ by one at most."""
    rows = [row for row in build(library, "powered") if row.role == "privileged"]

    for dimension in DIMENSIONS:
        used = Counter(row.presentation for row in rows if row.dimensions == (dimension,))
        assert set(used.values()) == {2, 3}  # 15 pairs over 6 presentations


@pytest.mark.parametrize("profile", ["core", "full", "powered"])
def test_a_profile_is_sorted_and_sound(any_library: Library, profile: Any) -> None:
    """Rows come sorted by key `<pair>/<role>` and pass every check."""
    rows = build(any_library, profile)

    validate(rows)
    assert [row.key for row in rows] == sorted(f"{row.pair}/{row.role}" for row in rows)
    assert {row.source for row in rows} == {"authored"}


PROGRAM = """
from pathlib import Path
from equipoise.core.records import digest
from equipoise.vignettes.library import load_library
from equipoise.vignettes.profiles import build
print(digest([row.model_dump(mode="json") for row in build(load_library(Path(r"FOLDER")), "powered")]))
"""


def test_powered_is_the_same_in_every_process(library: Library, folder: Path) -> None:
    """Two processes with different hash seeds give the same rows, byte for byte."""
    expected = digest([row.model_dump(mode="json") for row in build(library, "powered")])

    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        program = PROGRAM.replace("FOLDER", str(folder))
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert expected == run.stdout.strip()


def test_an_unknown_profile_is_refused(library: Library) -> None:
    """A profile that does not exist is refused with those that do."""
    profile: Any = "huge"

    with pytest.raises(EquipoiseError, match="unknown profile 'huge'; write one of core, full, powered"):
        build(library, profile)


def test_a_library_too_small_for_powered_is_refused(library: Library) -> None:
    """Where the library cannot supply enough different texts, the group and the shortfall are named."""
    contrasts = {
        name: row.model_copy(update={"ages": (90, 100)}) if row.dimension == "disability" else row
        for name, row in library.contrasts.items()
    }
    starved = Library(**{**vars(library), "contrasts": contrasts})

    with pytest.raises(EquipoiseError, match="the library supplies 0 pairs for disability, and powered needs 15; add"):
        build(starved, "powered")


def test_a_named_only_contrast_is_not_generated_unnamed(library: Library) -> None:
    """The generator passes over a named-only contrast where no stereotype lists it."""
    contrasts = {
        name: row.model_copy(update={"named_only": name == "race-0"}) for name, row in library.contrasts.items()
    }
    limited = Library(**{**vars(library), "contrasts": contrasts})

    rows = build(limited, "powered")

    assert not [row for row in rows if row.features.get("race") in {"Black0", "white0"}]


def test_counts_table_has_a_row_per_group(library: Library) -> None:
    """The printed table has one row for each group of each family."""
    counted = counts(build(library, "core"))

    table = counts_table(counted)

    assert table.row_count == 1 + 7 + 5 + 11  # overall, dimensions, tiers, combinations
