"""Tests of the panel: its groups, the stories about them, and imported stories with a slot."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import projects
from equipoise.core.errors import EquipoiseError
from equipoise.studies.vignettes.panel import (
    CONTROL_GROUP,
    PanelGroup,
    Story,
    fill_slots,
    load_panel,
    panel_rows,
    story_versions,
)
from equipoise.studies.vignettes.profiles import Build, outside

if TYPE_CHECKING:
    from equipoise.materials.stories.library import Library

ROOT = Path(__file__).parents[3]
HOW = Build.model_validate(projects.committed_settings().build | {"design": "panel"})
BLACK: dict[str, Any] = {
    "id": "black",
    "features": {"race": "Black"},
    "adjective": "Black",
    "pronouns": ["they", "them", "their"],
}
WOMAN = PanelGroup(id="woman", features={"gender": "woman"}, noun="woman", pronouns=("she", "her", "her"))
ASIAN = PanelGroup(id="asian", features={"race": "Asian"}, adjective="Asian", pronouns=("they", "them", "their"))


def test_the_panel_has_a_control_and_31_groups() -> None:
    """As many as published; no feature of the control is stated."""
    control, *groups = load_panel(ROOT / "data/raw")

    assert control == CONTROL_GROUP
    assert len(groups) == 31


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{**BLACK, "pronouns": None}],
            r"groups\[0\] \(black\): field pronouns: .* three pronouns, such as \[she, her",
        ),
        ([{**BLACK, "pronouns": ["they"]}], r"groups\[0\] \(black\): field pronouns"),
        (
            [{name: BLACK[name] for name in BLACK if name != "pronouns"}],
            r"groups\[0\] \(black\): field pronouns: Field required",
        ),
        ([BLACK, BLACK], r"groups\[1\] \(black\): duplicate id 'black' \(first in groups\[0\] \(black\)\)"),
        (
            [BLACK, BLACK | {"id": "other"}],
            r"groups\[1\] \(other\): duplicate statement of the patient 'Black patient'",
        ),
        (
            [BLACK | {"adjective": None}],
            r"groups\[0\] \(black\): duplicate statement of the patient 'patient' .*control",
        ),
        ([BLACK | {"id": "control"}], r"groups\[0\] \(control\): duplicate id 'control' \(first in the control\)"),
        ([BLACK | {"features": {}}], r"groups\[0\] \(black\): field features is empty"),
        (["black"], r"groups\[0\]: field \(row\)"),
        ([], "no list of groups"),
    ],
)
def test_a_faulty_group_is_refused(tmp_path: Path, rows: list[Any], message: str) -> None:
    """One line names the file, the row and the fix."""
    (tmp_path / "panel.yaml").write_text(yaml.safe_dump({"groups": rows}), encoding="utf-8")
    with pytest.raises(EquipoiseError, match=rf"panel\.yaml(, |: ){message}") as caught:
        load_panel(tmp_path)

    assert "\n" not in str(caught.value)


def test_tellings_of_a_story_differ_in_the_patient_alone(authored: Library) -> None:
    """Every story has 32 tellings, each with words of its own, alike outside the span and in their answers."""
    panel = load_panel(ROOT / "data/raw")
    rows = panel_rows(authored, HOW, panel)
    stories = defaultdict(list)
    for row in rows:
        stories[row.pair].append(row)

    assert [row.key for row in rows] == sorted(row.key for row in rows)
    assert len({row.text for row in rows}) == len(rows) == 32 * len(stories)
    for story, members in stories.items():
        assert {row.key for row in members} == {f"{story}/{group.id}" for group in panel}
        assert len({(outside(row), row.expected.label, row.stereotyped.label, row.setting) for row in members}) == 1
        (control,) = [row for row in members if row.role == "privileged"]
        ((start, end),) = control.spans
        assert control.key == f"{story}/control"
        assert control.text[start:end].lower().endswith("-year-old patient")
        assert not control.features


def test_a_story_that_contradicts_a_group_is_told_of_none(authored: Library) -> None:
    """With words of the story in `conflicts` it is left out; with those of all stories nothing is left."""
    panel = [CONTROL_GROUP, WOMAN]
    keys = {row.pair for row in panel_rows(authored, HOW, panel)}
    story = authored.presentations[min(keys)]
    spoiled = WOMAN.model_copy(update={"conflicts": (story.history[:40],)})

    assert {row.pair for row in panel_rows(authored, HOW, [CONTROL_GROUP, spoiled])} == keys - {story.id}
    with pytest.raises(EquipoiseError, match=r"panel\.yaml: no story of the profile core is sound for every group"):
        panel_rows(authored, HOW, [CONTROL_GROUP, WOMAN.model_copy(update={"conflicts": ("the",)})])


def test_a_panel_has_no_names() -> None:
    """Groups are stated; names tell a race alone."""
    with pytest.raises(ValueError, match="groups of the panel have no cues: set cue to stated"):
        Build.model_validate(HOW.model_dump() | {"cue": "name"})


@pytest.mark.parametrize(
    ("story", "group", "text"),
    [
        ("{patient} came.", CONTROL_GROUP, "A patient came."),
        ("{patient} came.", ASIAN, "An Asian patient came."),
        ("Seen: {patient}, aged 50. {They} left.", WOMAN, "Seen: A woman, aged 50. She left."),
        (
            "At noon {patient} came; they saw {them} and {their} bag.",
            WOMAN,
            "At noon a woman came; they saw her and her bag.",
        ),
        ("A {patient} came.", ASIAN, "An Asian patient came."),
        ("In came an {patient}.", WOMAN, "In came a woman."),
        ("The {patient} came.", ASIAN, "The Asian patient came."),
        ("A 45-year-old {patient} came.", ASIAN, "A 45-year-old Asian patient came."),
    ],
)
def test_slots_are_filled_as_their_sentence_needs(story: str, group: PanelGroup, text: str) -> None:
    """Article, capital and pronouns fit; outside the spans the story is as it was."""
    filled, spans = fill_slots(story, group)
    edges = [0, *(edge for span in spans for edge in span), len(filled)]

    assert filled == text
    assert all(filled[start:end] in story for start, end in zip(edges[::2], edges[1::2], strict=True))


def test_imported_stories_are_told_of_every_group() -> None:
    """Keys are STORY/GROUP, and each telling says what it states of the patient."""
    story = Story(key="bench-1", text="{patient} has gout.", source="s", licence="l")
    control, woman = story_versions([story], [CONTROL_GROUP, WOMAN], "decisions")

    assert (control.key, control.features, control.text) == ("bench-1/control", {}, "A patient has gout.")
    assert (woman.key, woman.features, woman.story, woman.group) == (
        "bench-1/woman",
        {"gender": "woman"},
        "bench-1",
        "woman",
    )
