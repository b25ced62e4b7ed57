"""Counts and make-up that the authored files must have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.materials.stories.library import COMBINATIONS, CORE_SINGLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.materials.stories.library import Library

    Change = Callable[[Any], object]


def test_the_core_design_has_82_cases() -> None:
    """29 single pairs and 12 core intersectional pairs are 58 + 24 cases."""
    singles = sum(CORE_SINGLES.values())  # 8 + 5 + 4 + 3 + 3 + 3 + 3
    crossed = sum(core for _, _, core in COMBINATIONS.values())  # 4 + 4 + 2 + 2

    assert 2 * singles == 58
    assert 2 * crossed == 24


def test_the_full_design_has_8_8_4_and_4_pairs() -> None:
    """The three tiers and mental health with substance use have 8, 8, 4 and 4 pairs."""
    per_tier = dict.fromkeys([tier for tier, _, _ in COMBINATIONS.values()], 0)
    for tier, n, _ in COMBINATIONS.values():
        per_tier[tier] += n

    assert per_tier == {"tier1": 8, "tier2": 8, "tier3": 4, "mental_health_substance": 4}


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ({"race"}, "single"),
        ({"mental_health"}, "single"),
        ({"region"}, None),
        ({"race", "gender"}, "tier1"),
        ({"race", "obesity"}, None),
    ],
)
def test_tier_of(library: Library, group: set[str], expected: str | None) -> None:
    """A set of dimensions has the tier that the plan gives it, or none."""
    actual = library.tier_of(frozenset(group))

    assert expected == actual


def personas(files: Any) -> list[dict[str, Any]]:
    """Give the persona rows."""
    rows: list[dict[str, Any]] = files["personas.yaml"]["personas"]
    return rows


def old_only(files: Any) -> None:
    """Move the 18-25 band's personas to 26-35."""
    for row in personas(files):
        if row["age_band"] == "18-25":
            row.update(age=30, age_band="26-35")


PANEL: list[tuple[Change, str]] = [
    (lambda files: files["personas.yaml"].update(personas=personas(files)[3:]), r"34 personas; keep 35 to 40"),
    (old_only, "field age_band: no persona in 18-25; add one to each band"),
    # 10 of 37 is 27.0 %; 9 of 37 is 24.3 %, 12 of 37 is 32.4 %
    (
        lambda files: personas(files)[0].update(comorbidities=[]),
        r"9 of 37 personas \(24.3%\) have one; keep 25% to 30%",
    ),
    (
        lambda files: [row.update(comorbidities=["gout"]) for row in personas(files)[:12]],
        r"12 of 37 personas \(32.4%\)",
    ),
    (
        lambda files: personas(files)[0].update(social=personas(files)[1]["social"]),
        "p01: field social: another",
    ),
    (
        lambda files: [row.update(age=84) for row in personas(files) if row["age_band"] == "76+"],
        "field age: the oldest persona is 84; make one 85 or older",
    ),
    (
        lambda files: personas(files)[30].update(condition="Gout"),
        "new personas with agoraphobia: no one; have exactly one",
    ),
    (lambda files: personas(files)[30].update(condition="Burn-out"), "with agoraphobia: no one"),
    (lambda files: personas(files)[30].update(condition="Agoraphobia, burnout"), "with burnout syndrome: p31, p32"),
    (lambda files: personas(files)[30].update(new=False), "with agoraphobia: no one"),
    (lambda files: personas(files)[0].update(new=True), "field new: 13 personas are new; mark exactly the 12"),
]


@pytest.mark.parametrize(("change", "words"), PANEL)
def test_a_panel_out_of_plan_is_refused(check: Callable[..., Library], change: Change, words: str) -> None:
    """A panel of the wrong size, bands, comorbidity share, social histories or new conditions is refused."""
    with pytest.raises(EquipoiseError, match=words):
        check(change)


def dimensions(files: Any) -> list[dict[str, Any]]:
    """Give the dimension rows."""
    rows: list[dict[str, Any]] = files["contrasts.yaml"]["dimensions"]
    return rows


def test_a_wrong_status_is_refused(check: Callable[..., Library]) -> None:
    """The seven core dimensions are fixed."""
    with pytest.raises(EquipoiseError, match=r"dimensions \(race\): status is proposed, not core"):
        check(lambda files: dimensions(files)[0].update(status="proposed", pairs=4))
    with pytest.raises(EquipoiseError, match=r"dimensions \(race\): status is absent, not core"):
        check(lambda files: dimensions(files).pop(0))


def test_any_other_dimension_is_proposed(check: Callable[..., Library]) -> None:
    """A dimension outside the core says that it is proposed, and how many pairs it needs."""
    extra = {"id": "region", "name": "Region", "status": "core"}

    with pytest.raises(EquipoiseError, match=r"dimensions \(region\): status is core, not proposed"):
        check(lambda files: dimensions(files).append(extra))
    with pytest.raises(EquipoiseError, match="a proposed dimension needs pairs; add the fewest"):
        check(lambda files: dimensions(files).append(extra | {"status": "proposed"}))
    with pytest.raises(EquipoiseError, match="the pairs of a core dimension are fixed by the design"):
        check(lambda files: dimensions(files)[0].update(pairs=9))
    with pytest.raises(EquipoiseError, match="0 single pairs of region; write at least 2"):
        check(lambda files: dimensions(files).append(extra | {"status": "proposed", "pairs": 2}))


def plan(files: Any) -> list[dict[str, Any]]:
    """Give the pair rows: 29 core singles, 24 proposed singles, 8 reverse ones, then the combinations."""
    rows: list[dict[str, Any]] = files["pairs.yaml"]["pairs"]
    return rows


PLANS: list[tuple[Change, str]] = [
    (lambda files: plan(files).pop(0), "7 core single pairs of race; write exactly 8"),
    (lambda files: plan(files)[0].update(core=False), "7 core single pairs of race; write exactly 8"),
    (lambda files: plan(files)[29].update(core=True), "1 core single pairs of religion_culture; write exactly 0"),
    (lambda files: plan(files).pop(29), "3 single pairs of religion_culture; write at least 4"),
    (lambda files: plan(files).pop(53), "3 reverse pairs of gender; write at least 4"),
    (
        lambda files: plan(files)[53].update(core=True),
        r"\(gender-reverse-01\): field core: its contrast is of the reverse",
    ),
    (lambda files: plan(files).pop(61), r"1 pairs of race\+socioeconomic; write exactly 2"),
    (lambda files: plan(files)[62].update(core=True), r"2 core pairs of race\+socioeconomic; write exactly 1"),
    (lambda files: plan(files)[61].update(tier="tier2"), r"field tier: tier2 with race\+socioeconomic; write tier1"),
    (lambda files: plan(files)[61].update(contrasts=["race-0", "disability-0"]), "no such pair is planned"),
]


@pytest.mark.parametrize(("change", "words"), PLANS)
def test_a_plan_of_other_counts_is_refused(check: Callable[..., Library], change: Change, words: str) -> None:
    """Too few or too many pairs of a kind, or a pair outside the plan, is refused with the count wanted."""
    with pytest.raises(EquipoiseError, match=words):
        check(change)
