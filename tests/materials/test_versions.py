"""Tests of the keys of cases."""

from __future__ import annotations

import pytest

from equipoise.materials.versions import CaseKey


@pytest.mark.parametrize(
    ("text", "key", "case", "arm"),
    [
        ("race-01/privileged", CaseKey("race-01", "privileged"), "race-01/privileged", True),
        ("race-01/privileged#2", CaseKey("race-01", "privileged", number=2), "race-01/privileged", True),
        (
            "race-01/privileged/swapped#2",
            CaseKey("race-01", "privileged", rereading="swapped", number=2),
            "race-01/privileged",
            False,
        ),
        (
            "race-01/marginalised/blinded-swapped",
            CaseKey("race-01", "marginalised", rereading="blinded-swapped"),
            "race-01/marginalised",
            False,
        ),
        (
            "race-01/privileged/triage/swapped",
            CaseKey("race-01", "privileged", "triage", "swapped"),
            "race-01/privileged/triage",
            False,
        ),
        ("race-01/control-a#1", CaseKey("race-01", "control-a", number=1), "race-01/control-a", False),
        ("race-01/stub-marginalised", CaseKey("race-01", "stub-marginalised"), "race-01/stub-marginalised", False),
        # A pair, or a group of a panel, may be called as a reading is.
        ("swapped/privileged", CaseKey("swapped", "privileged"), "swapped/privileged", True),
        ("case-0/swapped", CaseKey("case-0", "swapped"), "case-0/swapped", True),
        ("race-01#1", CaseKey("race-01", number=1), "race-01", True),
    ],
)
def test_keys_tell_what_a_prompt_is_about(text: str, key: CaseKey, case: str, *, arm: bool) -> None:
    """A key is read and written back; a rereading is about the arm whose key precedes it, and is not an arm itself."""
    assert CaseKey.parse(text) == key
    assert (str(key), key.case, key.is_arm) == (text, case, arm)


def test_samples_of_a_pair_have_its_key_and_their_number() -> None:
    """The first sample has the key of the pair."""
    assert [CaseKey("race-01", "privileged", number=number).sample for number in (0, 3)] == ["race-01", "race-01#3"]
