"""Pairs told by name: what the two arms say, what they share, and which pairs are left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from builders import ROLES, control_rows, mirror_rows, pair_rows, stub_rows
from equipoise.materials.stories.compose import can_be_cued, genders
from equipoise.materials.stories.schema import Cues
from equipoise.studies.vignettes.profiles import build_pairs, outside, profile_pairs

if TYPE_CHECKING:
    from equipoise.materials.stories.library import Library
    from equipoise.materials.vignette import Vignette
    from equipoise.studies.vignettes.profiles import PlannedPair, Profile

PROFILES: tuple[Profile, ...] = ("core", "full", "powered", "ladder", "verdict")


def spanned(row: Vignette) -> str:
    """The words of a row's one span."""
    (span,) = row.spans
    return row.text[slice(*span)]


def stated(pair: PlannedPair) -> PlannedPair:
    """The pair with its features stated."""
    name, tier, parts = pair
    return name, tier, replace(parts, cue="stated")


@pytest.fixture(scope="module")
def named(authored: Library) -> list[PlannedPair]:
    """Every pair of the set `powered` and of the ladder that names can tell."""
    return [*profile_pairs(authored, "powered", cue="name"), *profile_pairs(authored, "ladder", cue="name")]


def test_both_arms_state_a_name_in_place_of_the_adjective(named: list[PlannedPair]) -> None:
    """One says "Lakisha Washington, a 27-year-old woman" for "A 27-year-old Black woman"; the span holds all of it."""
    assert len(named) > 20
    for pair in named:
        (race,) = (contrast for contrast in pair[2].contrasts if contrast.dimension == "race")
        for row, before in zip(pair_rows(*pair), pair_rows(*stated(pair)), strict=True):
            arm = race.arm(row.role)
            told = spanned(row)
            name, noun = told.split(", ", 1)
            assert name in chain.from_iterable((arm.cues.name or {}).values())
            assert f" {arm.adjective} " in spanned(before)
            assert noun.removesuffix(",") == spanned(before).replace(f" {arm.adjective} ", " ").replace("A", "a", 1)
            assert name not in " ".join(outside(row))


def test_nothing_but_the_span_differs_from_the_stated_pair(named: list[PlannedPair]) -> None:
    """Outside the spans the arms are alike, and as in the stated pair; answers, features and grade are the same."""
    for pair in named:
        for row, before in zip(pair_rows(*pair), pair_rows(*stated(pair)), strict=True):
            own = {"text": before.text, "spans": before.spans}
            assert outside(row) == outside(before)
            assert row.model_copy(update=own) == before
        marginalised, privileged = pair_rows(*pair)
        assert outside(marginalised) == outside(privileged)


def test_the_names_of_a_pair_have_the_same_place_in_both_lists(named: list[PlannedPair]) -> None:
    """So that a pair is always of the same two names, of one gender."""
    for pair in named:
        (race,) = (contrast for contrast in pair[2].contrasts if contrast.dimension == "race")
        names = [spanned(row).split(",")[0] for row in pair_rows(*pair)]
        (gender,) = genders(pair[2].persona, pair[2].contrasts)
        lists = [(arm.cues.name or {})[gender] for arm in race.arms]
        assert lists[0].index(names[0]) == lists[1].index(names[1])


def test_every_telling_of_an_arm_has_its_name(authored: Library, named: list[PlannedPair]) -> None:
    """Stubs and mirrors have the arm's name, and controls, with details added, the privileged one's."""
    details = list(authored.details.values())
    for pair in named:
        names = {row.role: spanned(row).split(",")[0] for row in pair_rows(*pair)}
        for row in (*stub_rows(*pair), *mirror_rows(*pair)):
            assert spanned(row).startswith(f"{names[row.role]}, a")
        for row in control_rows(*pair, details):
            assert spanned(row).startswith(f"{names['privileged']}, a")


def test_a_storys_levels_of_evidence_are_of_one_name(authored: Library) -> None:
    """On the ladder nothing but the evidence differs between levels."""
    names: dict[str, set[str]] = {}
    for pair in profile_pairs(authored, "ladder", cue="name"):
        for row in pair_rows(*pair):
            names.setdefault(f"{row.presentation}/{row.role}", set()).add(spanned(row))

    assert names
    assert {len(spans) for spans in names.values()} == {1}


@pytest.mark.parametrize("profile", PROFILES)
def test_pairs_that_names_cannot_tell_are_left_out(authored: Library, profile: Profile) -> None:
    """A pair stays if a contrast has names and both arms are of the same gender, a woman or a man."""
    pairs = profile_pairs(authored, profile)
    kept = {name for name, _, _ in profile_pairs(authored, profile, cue="name")}
    expected = {
        name
        for name, _, parts in pairs
        if any(contrast.id in {"race-black", "race-south-asian"} for contrast in parts.contrasts)
        and all(contrast.dimension != "gender" for contrast in parts.contrasts)
        and parts.persona.gender != "non-binary"
    }

    assert kept == expected
    assert {row.pair for row in build_pairs(authored, profile, cue="name")} == expected


def test_a_gender_without_names_is_left_out(authored: Library) -> None:
    """Where a contrast names women alone, the pair of a man is left out."""
    (_, _, parts) = next(
        pair for pair in profile_pairs(authored, "core", cue="name") if pair[2].persona.gender == "man"
    )
    (race,) = parts.contrasts
    names = {role: race.arm(role).cues.name or {} for role in ROLES}
    women = {
        role: race.arm(role).model_copy(update={"cues": Cues(name={"woman": listed["woman"]})})
        for role, listed in names.items()
    }

    assert can_be_cued(parts, "name")
    assert not can_be_cued(replace(parts, contrasts=(race.model_copy(update=women),)), "name")
