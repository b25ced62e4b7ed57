"""A user's own rows: a file of `own/` may have any list, plan a dimension or a combination, and never the core."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from equipoise.core.errors import EquipoiseError
from equipoise.studies.vignettes.coverage import by_group
from equipoise.studies.vignettes.profiles import plan, profile_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from equipoise.materials.stories.library import Library

    Check = Callable[..., Library]

ALONE, BOTH = "region", "race-region"


def own(files: Any) -> dict[str, Any]:
    """Add a file with a dimension, its combination with race, two contrasts and three pairs; give its content."""
    stories = deepcopy(files["presentations/made_up.yaml"]["presentations"])
    for story in stories:
        (row,) = (stereotype for stereotype in story["stereotypes"] if stereotype["dimension"] == "housing")
        told = {"label": "Dismissal of region", "synonyms": ["brush-off of region"]}
        row |= {"dimension": ALONE, "answer": row["answer"] | told}
        row["evidence"]["group"] = "far-away"
        story["stereotypes"] = [
            stereotype for stereotype in story["stereotypes"] if stereotype["dimension"] in (ALONE, "race")
        ]
        story["id"] = story["id"].replace("case", "own")
        for part in ("history", "background", "examination", "test"):
            story[part] = story[part].replace("sign", "token").replace("finding", "mark").replace("result", "outcome")
    contrasts = [
        {
            "id": f"region-{n}",
            "dimension": ALONE,
            "groups": [f"far-away-{n}", "far-away"],
            "marginalised": {"feature": f"far {n}", "clause": f"who is from far {n}"},
            "privileged": {"feature": f"near {n}", "clause": f"who is from near {n}"},
        }
        for n in range(3)
    ]
    pair = {"tier": "single", "setting": "s0", "stereotype": ALONE, "core": False}
    pairs = [
        pair | {"id": f"region-{n}", "presentation": f"own-{n}", "persona": "p03", "contrasts": ["region-0"]}
        for n in range(2)
    ]
    crossed = {"id": BOTH, "tier": "tier1", "presentation": "own-2", "persona": "p04"}
    pairs.append(pair | crossed | {"contrasts": ["race-0", "region-1"]})
    files["own/mine.yaml"] = {
        "dimensions": [{"id": ALONE, "name": "Region", "status": "proposed", "pairs": 2}],
        "combinations": [{"id": BOTH, "dimensions": ["race", ALONE], "tier": "tier1", "pairs": 1}],
        "presentations": stories,
        "contrasts": contrasts,
        "pairs": pairs,
    }
    content: dict[str, Any] = files["own/mine.yaml"]
    return content


def test_a_dimension_and_a_combination_are_planned_by_data_alone(check: Check) -> None:
    """They are the last of their kind, are counted, and are in the profiles full and powered but not in the core."""
    library = check(own)
    full = profile_pairs(library, "full")

    assert [*library.dimensions][-1] == ALONE
    assert library.tier_of(frozenset({"race", ALONE})) == "tier1"
    assert library.tier_of(frozenset({"age", ALONE})) is None
    assert {pair: tier for pair, tier, _ in full if ALONE in pair} == {
        "region-0": "single",
        "region-1": "single",
        BOTH: "tier1",
    }
    assert not any(ALONE in pair for pair, _, _ in profile_pairs(library, "core"))
    assert by_group(library, full)[-1][:2] == (ALONE, "far-away-0")
    # 15 pairs of a dimension and five of a combination are generated, whatever is authored.
    generated = [pair for pair, _, _ in plan(library)]
    assert sum(pair.startswith("region-p") for pair in generated) == 15
    assert sum(pair.startswith("race-region-p") for pair in generated) == 5


def test_own_rows_leave_the_design_as_it_is(check: Check) -> None:
    """A pair of a combination of the design is not a pair of the design: its numbers still hold."""

    def crossed(files: Any) -> None:
        own(files)["pairs"].append(
            files["pairs.yaml"]["pairs"][61] | {"id": "mine-01", "presentation": "case-9", "core": False}
        )

    assert "mine-01" in check(crossed).pairs


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda file: file["pairs"].pop(0), r"own/mine.yaml: 1 single pairs of region; write at least 2"),
        (lambda file: file["pairs"].pop(), r"0 pairs of race-region; write at least 1"),
        (
            lambda file: file["pairs"][0].update(core=True),
            r"own/mine.yaml: pairs \(region-0\): field core: the core is the study's design; write false",
        ),
        (
            lambda file: file.pop("combinations"),
            r"pairs \(race-region\): field tier: tier1 with race\+region; no such pair is planned",
        ),
        (
            lambda file: file["combinations"][0].update(dimensions=["race", "gender"]),
            r"combinations \(race-region\): field dimensions: race\+gender is planned already; remove the row",
        ),
        (
            lambda file: file["combinations"][0].update(dimensions=["race", "regoin"]),
            r"unknown id 'regoin'; did you mean 'region'\?",
        ),
        (lambda file: file["dimensions"][0].update(status="core", pairs=0), r"region\): status is core, not proposed"),
        (lambda file: file["pairs"][0].update(persona="p99"), r"own/mine.yaml: pairs \(region-0\): field persona"),
        (lambda file: file.update(stories=[]), r"must hold only the keys personas, presentations, .*, not .*stories"),
        (lambda file: file.update(details=[]), r"own/mine.yaml: details must be a list with at least one row"),
        (lambda file: file.clear(), r"must hold only the keys .*, not nothing; correct the keys"),
        (lambda file: file["contrasts"][0].update(id="race-0"), r"the id 'race-0' is used twice"),
    ],
)
def test_a_fault_names_the_file_of_the_row(check: Check, spoil: Callable[[Any], object], fault: str) -> None:
    """What the plan, the references or the shape refuse is one line with file, row and fix."""
    with pytest.raises(EquipoiseError, match=fault):
        check(lambda files: spoil(own(files)))
